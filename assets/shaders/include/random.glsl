// Counter-based randomness: Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"). Functions only,
// no bindings. Needs math.glsl's requirements. munet/engine/philox.py is the same in NumPy: bits, uniforms and therefore masks
// (uniform < p) are equal bit for bit, normals within 1e-6.
#ifndef MU_RANDOM_GLSL
#define MU_RANDOM_GLSL

#include "math.glsl"

// Four independent 32-bit words for each counter and key.
uvec4 mu_philox(uvec4 counter, uvec2 key) {
    for (int i = 0; i < 10; i++) {
        uint hi0, lo0, hi1, lo1;
        umulExtended(0xd2511f53u, counter.x, hi0, lo0);
        umulExtended(0xcd9e8d57u, counter.z, hi1, lo1);
        counter = uvec4(hi1 ^ counter.y ^ key.x, lo1, hi0 ^ counter.w ^ key.y, lo0);
        key += uvec2(0x9e3779b9u, 0xbb67ae85u);
    }
    return counter;
}

// The words of one element at one step of the stream `key` (philox.stream_key).
uvec4 mu_random_words(uvec2 key, uint step, uint element) { return mu_philox(uvec4(element, 0u, step, 0u), key); }

// Multiples of 2^-24 in [0, 1), exact.
float mu_uniform(uint bits) { return float(bits >> 8) * 5.9604645e-8; }

// Standard normal from two words (Box and Muller, the cosine branch): at most 5.77 in magnitude, error below 1e-6.
float mu_normal(uvec2 bits) {
    float radius = mu_sqrt(-2.0 * mu_log(float((bits.x >> 8) + 1u) * 5.9604645e-8));
    int turn = int(bits.y >> 8);                      // 2^24 is a full turn
    int quarter = (turn + 0x200000) >> 22;            // nearest quarter turn
    float r = float(turn - (quarter << 22)) * 3.7450704e-7;  // 2 pi / 2^24
    float magnitude = (quarter & 1) == 0 ? mu_cos_near(r) : mu_sin_near(r);
    return radius * (((quarter + 1) & 2) == 0 ? magnitude : -magnitude);
}

// What kernel expressions call: one number of one element.
uint mu_random_bits(uint key0, uint key1, uint step, uint element) { return mu_random_words(uvec2(key0, key1), step, element).x; }
float mu_random_uniform(uint key0, uint key1, uint step, uint element) { return mu_uniform(mu_random_bits(key0, key1, step, element)); }
float mu_random_normal(uint key0, uint key1, uint step, uint element) {
    return mu_normal(mu_random_words(uvec2(key0, key1), step, element).xy);
}

#endif
