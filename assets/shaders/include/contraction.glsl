// What a contraction asset computes: c[batch, m, n] = sum over k of a[batch, m, k] * b[batch, k, n].
//
// This file is the plain meaning, a row-major matrix product with its sizes in the push constants; a variant that includes it is
// complete and can be compiled, run and verified as it is. For a contraction of a program the compiler puts a text of its own in
// its place, with the same names: the sizes are constants there, `load_a` and `load_b` hold everything that was fused in front
// (views, gathers, decoding, zeros round the border), `store` everything behind (bias, activation, several results).
// Calls must be in range; each (batch, m, n) is stored once, and by then nothing else of the same element may still be loaded.
#ifndef MU_CONTRACTION_GLSL
#define MU_CONTRACTION_GLSL

layout(push_constant, std430) uniform Shape { uint BATCH; uint M; uint N; uint K; };
const bool A_ALONG_K = true;   // where neighbours in memory lie: along k, or else along m
const bool B_ALONG_K = false;  // likewise: along k, or else along n

const bool COSTLY_STORE = false;  // `store` calls functions that are long, such as an error function

layout(set = 0, binding = 0, std430) readonly buffer A { float a[]; };   // [batch, m, k]
layout(set = 0, binding = 1, std430) readonly buffer B { float b[]; };   // [batch, k, n]
layout(set = 0, binding = 2, std430) writeonly buffer C { float c[]; };  // [batch, m, n]

float load_a(uint batch, uint m, uint k) { return a[(batch * M + m) * K + k]; }
float load_b(uint batch, uint k, uint n) { return b[(batch * K + k) * N + n]; }
void store(uint batch, uint m, uint n, float sum) { c[(batch * M + m) * N + n] = sum; }

#endif
