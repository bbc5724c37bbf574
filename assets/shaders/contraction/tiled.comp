#version 450
/*--- munet-shader
summary  = "Tiles in shared memory, a block of results in each invocation's registers; the next slice is fetched meanwhile."
rank     = 10
requires = { workgroup_invocations = "WORKGROUP_SIZE", shared_bytes = "4 * STAGES * TILE_K * (TILE_M + TILE_N + 8)" }
when     = "M >= 16 and N >= 16 and K >= 16 and M * N >= 4096 and BATCH * M * N >= 16384 and BATCH * M * N * K >= 8000000"
grid     = ["ceil_div(N, TILE_N)", "ceil_div(M, TILE_M)", "BATCH"]
work     = "TILE_M * TILE_N * (K + 16)"
# Speeds were measured on a large GPU whose cores were all busy.
[[configurations]]
speed = 1.0
constants = { WORKGROUP_SIZE = 128, TILE_M = 64, TILE_N = 128, TILE_K = 16, BLOCK_M = 8, BLOCK_N = 8, STAGES = 2 }
[[configurations]]
speed = 0.98
constants = { WORKGROUP_SIZE = 128, TILE_M = 128, TILE_N = 64, TILE_K = 16, BLOCK_M = 8, BLOCK_N = 8, STAGES = 2 }
[[configurations]]
speed = 0.9
constants = { WORKGROUP_SIZE = 64, TILE_M = 64, TILE_N = 64, TILE_K = 16, BLOCK_M = 8, BLOCK_N = 8, STAGES = 2 }
[[configurations]]
speed = 0.8
constants = { WORKGROUP_SIZE = 64, TILE_M = 32, TILE_N = 64, TILE_K = 16, BLOCK_M = 4, BLOCK_N = 8, STAGES = 2 }
[[configurations]]
speed = 0.69
constants = { WORKGROUP_SIZE = 128, TILE_M = 32, TILE_N = 64, TILE_K = 32, BLOCK_M = 4, BLOCK_N = 4, STAGES = 1 }
[[configurations]]
speed = 0.55
constants = { WORKGROUP_SIZE = 64, TILE_M = 32, TILE_N = 32, TILE_K = 32, BLOCK_M = 4, BLOCK_N = 4, STAGES = 2 }
[[configurations]]
speed = 0.45
constants = { WORKGROUP_SIZE = 128, TILE_M = 16, TILE_N = 256, TILE_K = 16, BLOCK_M = 4, BLOCK_N = 8, STAGES = 1 }
[[configurations]]
speed = 0.4
constants = { WORKGROUP_SIZE = 128, TILE_M = 128, TILE_N = 16, TILE_K = 16, BLOCK_M = 4, BLOCK_N = 4, STAGES = 2 }
---*/
#extension GL_EXT_control_flow_attributes : enable
#include "contraction.glsl"
layout(constant_id = 0) const uint WORKGROUP_SIZE = 64;  // (TILE_M / BLOCK_M) * (TILE_N / BLOCK_N)
layout(constant_id = 1) const uint TILE_M = 32;          // results of a workgroup
layout(constant_id = 2) const uint TILE_N = 32;
layout(constant_id = 3) const uint TILE_K = 16;          // terms of the sum that are staged at a time
layout(constant_id = 4) const uint BLOCK_M = 4;          // results of an invocation; multiples of 4
layout(constant_id = 5) const uint BLOCK_N = 4;
layout(constant_id = 6) const uint STAGES = 2;           // 2: one slice is summed while the next is written
layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;

const uint ROWS = TILE_M / BLOCK_M, COLUMNS = TILE_N / BLOCK_N;  // of invocations in the tile
const uint PITCH_A = TILE_M / 4 + 1, PITCH_B = TILE_N / 4 + 1;   // padded, so that a column does not lie in one bank
const uint ROOM = STAGES * TILE_K / ROWS;  // rows of a block's results that fit into tile_b
const uint PART_M = ROOM >= BLOCK_M ? BLOCK_M : ROOM >= 4 ? 4 : ROOM >= 2 ? 2 : 1;  // ROWS <= STAGES * TILE_K
const uint COUNT_A = TILE_M * TILE_K / 4, COUNT_B = TILE_N * TILE_K / 4;  // elements of a slice, by four
const uint FETCHES_A = (COUNT_A + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint FETCHES_B = (COUNT_B + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;

shared vec4 tile_a[STAGES * TILE_K * PITCH_A];  // [stage, k, m]
shared vec4 tile_b[STAGES * TILE_K * PITCH_B];  // [stage, k, n]
vec4 next_a[FETCHES_A];
vec4 next_b[FETCHES_B];

// Place (x, k) of the first of the i-th four elements of a slice: they and neighbouring invocations follow neighbours in memory.
uvec2 spot(uint i, uint tile, bool along_k) {
    return along_k ? uvec2(i / (TILE_K / 4), i % (TILE_K / 4) * 4) : uvec2(i % (tile / 4) * 4, i / (tile / 4));
}

bool in_slice(uint i, uint count) { return count % WORKGROUP_SIZE == 0 || i < count; }
bool in_a(uvec2 at) { return (M % TILE_M == 0 || at.x < M) && (K % TILE_K == 0 || at.y < K); }
bool in_b(uvec2 at) { return (N % TILE_N == 0 || at.x < N) && (K % TILE_K == 0 || at.y < K); }
uvec2 beside(uvec2 at, uint i, bool along_k) { return along_k ? uvec2(at.x, at.y + i) : uvec2(at.x + i, at.y); }

void fetch(uint batch, uint m0, uint n0, uint k0) {
    [[unroll]] for (uint f = 0; f < FETCHES_A; ++f) {
        uint i = f * WORKGROUP_SIZE + gl_LocalInvocationID.x;
        uvec2 at = spot(i, TILE_M, A_ALONG_K) + uvec2(m0, k0);
        next_a[f] = vec4(0.0);
        if (!in_slice(i, COUNT_A)) continue;
        if (A_BY_4) {
            if (in_a(at)) next_a[f] = load_a4(batch, at.x, at.y);
        } else {
            [[unroll]] for (uint j = 0; j < 4; ++j) {
                uvec2 one = beside(at, j, A_ALONG_K);
                if (in_a(one)) next_a[f][j] = load_a(batch, one.x, one.y);
            }
        }
    }
    [[unroll]] for (uint f = 0; f < FETCHES_B; ++f) {
        uint i = f * WORKGROUP_SIZE + gl_LocalInvocationID.x;
        uvec2 at = spot(i, TILE_N, B_ALONG_K) + uvec2(n0, k0);
        next_b[f] = vec4(0.0);
        if (!in_slice(i, COUNT_B)) continue;
        if (B_BY_4) {
            if (in_b(at)) next_b[f] = load_b4(batch, at.y, at.x);
        } else {
            [[unroll]] for (uint j = 0; j < 4; ++j) {
                uvec2 one = beside(at, j, B_ALONG_K);
                if (in_b(one)) next_b[f][j] = load_b(batch, one.y, one.x);
            }
        }
    }
}

void stage_slice(uint stage) {
    uint first = stage * TILE_K;
    [[unroll]] for (uint f = 0; f < FETCHES_A; ++f) {
        uint i = f * WORKGROUP_SIZE + gl_LocalInvocationID.x;
        uvec2 at = spot(i, TILE_M, A_ALONG_K);
        if (!in_slice(i, COUNT_A)) continue;
        if (A_ALONG_K) {
            [[unroll]] for (uint k = 0; k < 4; ++k) tile_a[(first + at.y + k) * PITCH_A + at.x / 4][at.x % 4] = next_a[f][k];
        } else {
            tile_a[(first + at.y) * PITCH_A + at.x / 4] = next_a[f];
        }
    }
    [[unroll]] for (uint f = 0; f < FETCHES_B; ++f) {
        uint i = f * WORKGROUP_SIZE + gl_LocalInvocationID.x;
        uvec2 at = spot(i, TILE_N, B_ALONG_K);
        if (!in_slice(i, COUNT_B)) continue;
        if (B_ALONG_K) {
            [[unroll]] for (uint k = 0; k < 4; ++k) tile_b[(first + at.y + k) * PITCH_B + at.x / 4][at.x % 4] = next_b[f][k];
        } else {
            tile_b[(first + at.y) * PITCH_B + at.x / 4] = next_b[f];
        }
    }
}

// Four results from (m, n) on.
void put(uint batch, uint m, uint n, vec4 sum) {
    if (M % TILE_M != 0 && m >= M) return;
    if (STORE_BY_4) {
        if (N % TILE_N == 0 || n < N) store4(batch, m, n, sum);
        return;
    }
    [[unroll]] for (uint i = 0; i < 4; ++i) {
        if (N % TILE_N == 0 || n + i < N) store(batch, m, n + i, sum[i]);
    }
}

void main() {
    uint batch = gl_WorkGroupID.z, m0 = gl_WorkGroupID.y * TILE_M, n0 = gl_WorkGroupID.x * TILE_N;
    uint row = gl_LocalInvocationID.x / COLUMNS, column = gl_LocalInvocationID.x % COLUMNS;
    vec4 sum[BLOCK_M][BLOCK_N / 4];
    [[unroll]] for (uint i = 0; i < BLOCK_M; ++i) {
        [[unroll]] for (uint j = 0; j < BLOCK_N / 4; ++j) sum[i][j] = vec4(0.0);
    }
    fetch(batch, m0, n0, 0);
    stage_slice(0);
    barrier();
    uint stage = 0;
    for (uint k0 = 0; k0 < K; k0 += TILE_K) {
        bool more = k0 + TILE_K < K;
        if (more) fetch(batch, m0, n0, k0 + TILE_K);
        [[unroll]] for (uint k = 0; k < TILE_K; ++k) {
            vec4 a[BLOCK_M / 4], b[BLOCK_N / 4];
            [[unroll]] for (uint i = 0; i < BLOCK_M / 4; ++i) a[i] = tile_a[(stage * TILE_K + k) * PITCH_A + i * ROWS + row];
            [[unroll]] for (uint j = 0; j < BLOCK_N / 4; ++j) b[j] = tile_b[(stage * TILE_K + k) * PITCH_B + j * COLUMNS + column];
            [[unroll]] for (uint i = 0; i < BLOCK_M; ++i) {
                [[unroll]] for (uint j = 0; j < BLOCK_N / 4; ++j) sum[i][j] = fma(vec4(a[i / 4][i % 4]), b[j], sum[i][j]);
            }
        }
        if (more) {
            if (STAGES == 1) barrier();  // the slice is still being read
            stage = (stage + 1) % STAGES;
            stage_slice(stage);
            barrier();
        }
    }
    if (!COSTLY_STORE) {
        [[unroll]] for (uint i = 0; i < BLOCK_M; ++i) {
            uint m = m0 + (i / 4 * ROWS + row) * 4 + i % 4;
            [[unroll]] for (uint j = 0; j < BLOCK_N / 4; ++j) put(batch, m, n0 + (j * COLUMNS + column) * 4, sum[i][j]);
        }
        return;
    }
    // By way of shared memory, in a loop: `store` for each result of a block would be more code than the device holds at once.
    [[unroll]] for (uint part = 0; part < BLOCK_M; part += PART_M) {
        barrier();
        [[unroll]] for (uint i = 0; i < PART_M; ++i) {
            [[unroll]] for (uint j = 0; j < BLOCK_N / 4; ++j) {
                tile_b[(i * ROWS + row) * (TILE_N / 4) + j * COLUMNS + column] = sum[part + i][j];
            }
        }
        barrier();
        for (uint f = 0; f < PART_M * BLOCK_N / 4; ++f) {
            uint at = f * WORKGROUP_SIZE + gl_LocalInvocationID.x, kept = at / (TILE_N / 4);
            uint i = part + kept / ROWS;
            put(batch, m0 + (i / 4 * ROWS + kept % ROWS) * 4 + i % 4, n0 + at % (TILE_N / 4) * 4, tile_b[at]);
        }
    }
}
