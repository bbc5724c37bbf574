#version 450
/*--- munet-shader
summary = "One invocation a result: runs anywhere, and says what the others must do."
rank    = 0
grid    = ["min(ceil_div(BATCH * M * N, 128), 65535)", "ceil_div(ceil_div(BATCH * M * N, 128), 65535)", "1"]
---*/
#include "contraction.glsl"
layout(local_size_x = 128, local_size_y = 1, local_size_z = 1) in;

void main() {
    uint i = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i >= BATCH * M * N) return;
    uint n = i % N, m = i / N % M, batch = i / (N * M);
    float sum = 0.0;
    for (uint k = 0; k < K; ++k) sum = fma(load_a(batch, m, k), load_b(batch, k, n), sum);
    store(batch, m, n, sum);
}
