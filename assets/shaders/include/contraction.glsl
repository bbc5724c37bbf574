// What a contraction asset computes: c[batch, m, n] = sum over k of a[batch, m, k] * b[batch, k, n].
//
// This file is the plain meaning, a row-major matrix product with its sizes in the push constants; a variant that includes it is
// complete and can be compiled, run and verified as it is. For a contraction of a program the compiler puts a text of its own in
// its place, with the same names: the sizes are constants there, `load_a` and `load_b` hold everything that was fused in front
// (views, gathers, decoding, zeros round the border), `store` everything behind (bias, activation, several results).
// `load_a4`, `load_b4`, `store4` take four neighbours: along k, or else m (n), as A_ALONG_K (B_ALONG_K) says; results along n. It
// is one access where A_BY_4, B_BY_4, STORE_BY_4 say so; then they must be called from multiples of four on.
// Calls must be in range; each (batch, m, n) is stored once, and by then nothing else of the same element may still be loaded.
#ifndef MU_CONTRACTION_GLSL
#define MU_CONTRACTION_GLSL

layout(push_constant, std430) uniform Shape { uint BATCH; uint M; uint N; uint K; };
const bool A_ALONG_K = true;   // where neighbours in memory lie: along k, or else along m
const bool B_ALONG_K = false;  // likewise: along k, or else along n

#define A_BY_4 (K % 4 == 0)
#define B_BY_4 (N % 4 == 0)
#define STORE_BY_4 (N % 4 == 0)

const bool COSTLY_STORE = false;  // `store` calls functions that are long, such as an error function

layout(set = 0, binding = 0, std430) readonly buffer A { float a[]; };    // [batch, m, k]
layout(set = 0, binding = 0, std430) readonly buffer A4 { vec4 a4[]; };   // the same
layout(set = 0, binding = 1, std430) readonly buffer B { float b[]; };    // [batch, k, n]
layout(set = 0, binding = 1, std430) readonly buffer B4 { vec4 b4[]; };
layout(set = 0, binding = 2, std430) writeonly buffer C { float c[]; };   // [batch, m, n]
layout(set = 0, binding = 2, std430) writeonly buffer C4 { vec4 c4[]; };

float load_a(uint batch, uint m, uint k) { return a[(batch * M + m) * K + k]; }
float load_b(uint batch, uint k, uint n) { return b[(batch * K + k) * N + n]; }
void store(uint batch, uint m, uint n, float sum) { c[(batch * M + m) * N + n] = sum; }
vec4 load_a4(uint batch, uint m, uint k) { return a4[((batch * M + m) * K + k) / 4]; }
vec4 load_b4(uint batch, uint k, uint n) { return b4[((batch * K + k) * N + n) / 4]; }
void store4(uint batch, uint m, uint n, vec4 sum) { c4[((batch * M + m) * N + n) / 4] = sum; }

#endif
