// Elementary functions for kernels: functions and macros only, no bindings. Needs #version 450; define MU_FAST_MATH before
// including to take the driver's exp, log, sin, tanh ... on a device where they were verified.
//
// GLSL's own functions differ between drivers in accuracy and drop NaN in max, min, clamp and sign. Here NaN in gives NaN out
// (except pow(NaN, 0) = pow(1, NaN) = 1, as in C), and domains, infinities and overflow are C's.
// Tests for NaN look at bits: drivers may assume x == x. `precise` marks sums whose order or whose rounding errors matter
// (drivers do reorder); polynomials stand in functions of their own, because `precise` would deny them fused multiply-adds.
//
// Bounds are in units in the last place (ulp) of the exact result, over all float32 arguments, where + - * / round correctly and
// subnormals are kept. Vulkan allows a division 2.5 ulp: that adds up to 3 ulp to the functions marked (/). Where the device
// flushes subnormals, arguments and results below 1.2e-38 may count as 0. MU_FAST_MATH replaces the bound of what it names.
// Polynomials: minimax over the stated range, fitted with the coefficients rounded to float32 one after the other.
#ifndef MU_MATH_GLSL
#define MU_MATH_GLSL

#define MU_INF uintBitsToFloat(0x7f800000u)
#define MU_NAN uintBitsToFloat(0x7fc00000u)
#define MU_SIGN 0x80000000u
#define MU_LN2 0.69314718
#define MU_LN2_HI 0.693359375     // 9 bits: its product with an exponent is exact
#define MU_LN2_LO -2.1219444e-4
#define MU_LOG2E 1.442695
#define MU_LOG2E_HI 1.4423828125  // 12 bits
#define MU_LOG2E_LO 3.122284e-4
#define MU_PI_HI 3.1415927
#define MU_PI_LO -8.742278e-8
#define MU_HALF_PI_HI 1.5707964
#define MU_HALF_PI_LO -4.371139e-8
#define MU_SQRT_HALF 0x3f3504f3u  // bits of the float above sqrt(1/2)

// ---- bits ------------------------------------------------------------------------------------------------------------------

bool mu_isnan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
bool mu_isinf(float x) { return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u; }
bool mu_isfinite(float x) { return (floatBitsToUint(x) & 0x7fffffffu) < 0x7f800000u; }

// y, or x where x is NaN.
float mu_keep_nan(float x, float y) { return mu_isnan(x) ? x : y; }

// y >= 0 or NaN with the sign of x.
float mu_with_sign(float y, float x) { return uintBitsToFloat(floatBitsToUint(y) | (floatBitsToUint(x) & MU_SIGN)); }

// 2^n for n in [-126, 127].
float mu_power_of_two(int n) { return uintBitsToFloat(uint(n + 127) << 23); }

// x * 2^n for n in [-252, 254], rounded once; overflow gives inf.
float mu_ldexp(float x, int n) {
    int half_n = n >> 1;
    precise float y = x * mu_power_of_two(half_n);
    y = y * mu_power_of_two(n - half_n);
    return y;
}

// The leading 12 significant bits of x; x minus them is exact and has at most 12.
float mu_leading_bits(float x) { return uintBitsToFloat(floatBitsToUint(x) & 0xfffff000u); }

// a * b as product + error, exactly, unless something underflows. fma() may be a multiply and an add, so it is no help here.
void mu_exact_product(float a, float b, out float product, out float error) {
    float a_hi = mu_leading_bits(a), b_hi = mu_leading_bits(b);
    precise float a_lo = a - a_hi;
    precise float b_lo = b - b_hi;
    precise float p = a * b;
    precise float e = ((a_hi * b_hi - p) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo;
    product = p;
    error = e;
}

// n / d rounded correctly but for one in a million, for |n| >= |d| or n = 0. A driver's own division may be 2.5 ulp off, and 0
// for divisors above 2^126.
float mu_divide(float n, float d) {
    int k = 126 - max(int(floatBitsToUint(d) >> 23 & 255u), 1);  // takes d to [1/2, 1)
    float m = mu_ldexp(n, k), e = mu_ldexp(d, k), quotient = m / e, product, rest;
    mu_exact_product(quotient, e, product, rest);
    precise float residual = (m - product) - rest;
    precise float y = quotient + residual / e;
    return mu_isfinite(y) ? y : quotient;
}

// ---- rounding, sign, order: exact -------------------------------------------------------------------------------------------

float mu_abs(float x) { return abs(x); }
int mu_abs(int x) { return abs(x); }
uint mu_abs(uint x) { return x; }

// -1, 0 or 1.
float mu_sign(float x) { return mu_keep_nan(x, sign(x)); }
int mu_sign(int x) { return sign(x); }
uint mu_sign(uint x) { return min(x, 1u); }

float mu_floor(float x) { return mu_keep_nan(x, floor(x)); }
float mu_ceil(float x) { return mu_keep_nan(x, ceil(x)); }
float mu_trunc(float x) { return mu_keep_nan(x, trunc(x)); }
float mu_round(float x) { return mu_keep_nan(x, roundEven(x)); }  // halves to even
int mu_floor(int x) { return x; }
int mu_ceil(int x) { return x; }
int mu_trunc(int x) { return x; }
int mu_round(int x) { return x; }
uint mu_floor(uint x) { return x; }
uint mu_ceil(uint x) { return x; }
uint mu_trunc(uint x) { return x; }
uint mu_round(uint x) { return x; }

// The NaN if there is one.
float mu_max(float a, float b) { return mu_isnan(a) ? a : mu_isnan(b) ? b : max(a, b); }
float mu_min(float a, float b) { return mu_isnan(a) ? a : mu_isnan(b) ? b : min(a, b); }
int mu_max(int a, int b) { return max(a, b); }
int mu_min(int a, int b) { return min(a, b); }
uint mu_max(uint a, uint b) { return max(a, b); }
uint mu_min(uint a, uint b) { return min(a, b); }

// min(max(x, low), high): a NaN bound gives NaN, low > high gives high.
float mu_clamp(float x, float low, float high) { return mu_min(mu_max(x, low), high); }
int mu_clamp(int x, int low, int high) { return min(max(x, low), high); }
uint mu_clamp(uint x, uint low, uint high) { return min(max(x, low), high); }

// ---- square roots -----------------------------------------------------------------------------------------------------------

// 1 ulp: the driver's root with one Newton step on the exact residual.
float mu_sqrt(float x) {
    bool small = x < 1e-18;  // scaled up, so that the residual does not underflow
    float v = small ? x * 18446744073709551616.0 : x;
#ifdef MU_FAST_MATH
    float s = sqrt(v);
#else
    float root = sqrt(v), square, error;
    mu_exact_product(root, root, square, error);
    precise float residual = (v - square) - error;
    precise float s = root + 0.5 * residual / root;
#endif
    s = small ? s * 2.3283064365386963e-10 : s;
    bool edge = x == 0.0 || x == MU_INF;
    return mu_isnan(x) || edge ? x : x < 0.0 ? MU_NAN : s;
}

// 2 ulp.
float mu_rsqrt(float x) {
    bool small = x < 1.1754944e-38;
    float y = inversesqrt(small ? x * 16777216.0 : x);
    y = small ? y * 4096.0 : y;
    y = x == 0.0 ? mu_with_sign(MU_INF, x) : x == MU_INF ? 0.0 : y;
    return mu_isnan(x) ? x : x < 0.0 ? MU_NAN : y;
}

// ---- exponentials -----------------------------------------------------------------------------------------------------------

// e^r - 1 - r for |r| <= 0.3466.
float mu_exp_tail(float r) {
    return r * r * (0.5 + r * (0.16666666 + r * (4.1666463e-2 + r * (8.33357e-3 + r * (1.3935079e-3 + r * 1.9740245e-4)))));
}

// e^(hi - lo) - 1 for |hi - lo| <= 0.3466 and small lo.
float mu_expm1_near(float hi, float lo) {
    precise float y = hi + (mu_exp_tail(hi - lo) - lo);
    return y;
}

// e^(hi + lo) * 2^k for |hi| <= 120, |lo| << 1 and |k| <= 1.
float mu_exp_sum(float hi, float lo, int k) {
    float n = roundEven(hi * MU_LOG2E);
    precise float r = hi - n * MU_LN2_HI;
    precise float y = 1.0 + mu_expm1_near(r, n * MU_LN2_LO - lo);
    return mu_ldexp(y, int(n) + k);
}

// 2^(f + e) * 2^n for |f| <= 1/2, |e| << 1.
float mu_exp2_sum(float f, float e, int n) {
    float leading = mu_leading_bits(f);
    precise float r = leading * MU_LN2_HI;
    precise float rest = (leading - f) * MU_LN2_HI - (f * MU_LN2_LO + e * MU_LN2);
    precise float y = 1.0 + mu_expm1_near(r, rest);
    return mu_ldexp(y, n);
}

// 1 ulp.
float mu_exp(float x) {
#ifdef MU_FAST_MATH
    return mu_keep_nan(x, exp(x));
#else
    return mu_keep_nan(x, mu_exp_sum(clamp(x, -104.0, 89.0), 0.0, 0));
#endif
}

// 1 ulp.
float mu_exp2(float x) {
#ifdef MU_FAST_MATH
    return mu_keep_nan(x, exp2(x));
#else
    float v = clamp(x, -151.0, 129.0), n = roundEven(v);
    return mu_keep_nan(x, mu_exp2_sum(v - n, 0.0, int(n)));
#endif
}

// 2 ulp.
float mu_expm1(float x) {
    float v = clamp(x, -18.0, 89.0), n = roundEven(v * MU_LOG2E);
    precise float r = v - n * MU_LN2_HI;
    float q = mu_expm1_near(r, n * MU_LN2_LO), s = mu_power_of_two(int(n) - 1);  // half of 2^n: 2^128 is out of range
    precise float y = 2.0 * (s * q + (s - 0.5));
    return mu_isnan(x) || abs(x) < 1e-8 ? x : n == 0.0 ? q : y;
}

// ---- logarithms -------------------------------------------------------------------------------------------------------------

// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for finite x > 0.
void mu_log_split(float x, out float k, out float f) {
    uint bits = floatBitsToUint(x);
    bool subnormal = bits < 0x00800000u;
    bits = (subnormal ? floatBitsToUint(float(bits)) : bits) - MU_SQRT_HALF;
    k = float((int(bits) >> 23) + (subnormal ? -149 : 0));
    f = uintBitsToFloat((bits & 0x007fffffu) + MU_SQRT_HALF) - 1.0;
}

// log(1 + f) - f + f^2 / 2, for the f above.
float mu_log_near(float f) {
    float p = -1.240624e-1 + f * (0.11883538 + f * (-0.11670025 + f * 6.74919e-2));
    p = 0.33333313 + f * (-0.2500001 + f * (0.20002072 + f * (-0.16667989 + f * (0.1422036 + f * p))));
    return f * f * f * p;
}

// y, with the logarithm's values at the ends of its domain.
float mu_log_ends(float x, float y) {
    uint bits = floatBitsToUint(x);
    y = bits >= 0x7f800000u ? x : y;                             // inf and NaN
    y = bits > MU_SIGN && !mu_isnan(x) ? MU_NAN : y;
    return (bits & ~MU_SIGN) == 0u ? -MU_INF : y;
}

// 1 ulp.
float mu_log(float x) {
#ifdef MU_FAST_MATH
    return mu_log_ends(x, log(x));
#else
    float k, f;
    mu_log_split(x, k, f);
    precise float y = k * MU_LN2_HI + (f - (0.5 * f * f - (mu_log_near(f) + k * MU_LN2_LO)));
    return mu_log_ends(x, y);
#endif
}

// 1 ulp.
float mu_log2(float x) {
#ifdef MU_FAST_MATH
    return mu_log_ends(x, log2(x));
#else
    float k, f;
    mu_log_split(x, k, f);
    precise float square = 0.5 * f * f;
    float hi = mu_leading_bits(f - square);
    precise float lo = ((f - hi) - square) + mu_log_near(f);
    precise float y = k + (hi * MU_LOG2E_HI + (hi * MU_LOG2E_LO + lo * MU_LOG2E));
    return mu_log_ends(x, y);
#endif
}

// 1 ulp.
float mu_log1p(float x) {
    precise float u = 1.0 + x;
    precise float whole = u - 1.0;
    precise float lost = (1.0 - (u - whole)) + (x - whole);  // 1 + x = u + lost
    float k, f;
    mu_log_split(u, k, f);
    bool near = k == 0.0;
    f = near ? x : f;
    lost = near || k > 60.0 ? 0.0 : lost * mu_power_of_two(-int(k)) * (1.0 - f + f * f);
    precise float y = k * MU_LN2_HI + (f - (0.5 * f * f - (mu_log_near(f) + (k * MU_LN2_LO + lost))));
    return mu_isnan(x) || abs(x) < 1e-8 ? x : mu_log_ends(u, y);
}

// ---- circular functions -----------------------------------------------------------------------------------------------------

// The first 224 bits of 2 / pi behind 32 zeros.
const uint MU_TWO_OVER_PI[8] =
    uint[8](0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu);

// a = n pi / 2 + r with |r| <= pi / 4 for finite a >= 4096; gives n modulo 4. Payne and Hanek: of 2 / pi only the 96 bits matter
// whose product with a is neither a multiple of 4 nor too small.
int mu_quarter_turns_large(float a, out float r) {
    uint bits = floatBitsToUint(a), mantissa = (bits & 0x007fffffu) | 0x00800000u;
    uint position = (bits >> 23) - 120u;  // bit of the table that mantissa * 2^-23 turns into weight 2
    uint word = position >> 5, shift = position & 31u;
    uint w0 = MU_TWO_OVER_PI[word], w1 = MU_TWO_OVER_PI[word + 1u];
    uint w2 = MU_TWO_OVER_PI[word + 2u], w3 = MU_TWO_OVER_PI[word + 3u];
    if (shift != 0u) {
        w0 = w0 << shift | w1 >> (32u - shift);
        w1 = w1 << shift | w2 >> (32u - shift);
        w2 = w2 << shift | w3 >> (32u - shift);
    }
    uint hi1, lo1, hi2, lo2, carry;
    umulExtended(mantissa, w1, hi1, lo1);
    umulExtended(mantissa, w2, hi2, lo2);
    uint middle = uaddCarry(lo1, hi2, carry);
    uint top = mantissa * w0 + hi1 + carry;
    uint fraction_hi = top << 2 | middle >> 30, fraction_lo = middle << 2 | lo2 >> 30;
    // Split so that the first float is exact: 24 and 32 bits.
    float low = float(fraction_hi << 24 | fraction_lo >> 8) * 5.9604645e-8;
    r = (float(int(fraction_hi & 0xffffff00u)) + low) * 3.657295e-10;  // pi / 2^33
    return int((top >> 30) + (fraction_hi >> 31)) & 3;
}

// a = n pi / 2 + r with |r| <= pi / 4 for finite a >= 0; gives n modulo 4. |error of r| <= 2^-36 + 1 ulp.
int mu_quarter_turns(float a, out float r) {
    if (a >= 4096.0)
        return mu_quarter_turns_large(a, r);
    float n = roundEven(a * 0.63661977);
    precise float rest = ((a - n * 1.5703125) - n * 4.837513e-4) - n * 7.54979e-8;  // pi / 2 in 12 + 12 + 24 bits
    r = rest;
    return int(n) & 3;
}

float mu_sin_near(float r) {
    float z = r * r;
    return r + r * z * (-0.16666667 + z * (8.333379e-3 + z * (-1.9853066e-4 + z * 2.832548e-6)));
}

float mu_cos_near(float r) {
    float z = r * r;
    return 1.0 - (0.5 * z - z * z * (4.1666646e-2 + z * (-1.388731e-3 + z * 2.4432327e-5)));
}

// 2 ulp + 2^-36 below 4096, 3.5 ulp from there on.
float mu_sin(float x) {
#ifdef MU_FAST_MATH
    float y = sin(x);
#else
    float r;
    int n = mu_quarter_turns(abs(x), r);
    float y = (n & 1) == 0 ? mu_sin_near(r) : mu_cos_near(r);
    y = uintBitsToFloat(floatBitsToUint(y) ^ (uint(n & 2) << 30) ^ (floatBitsToUint(x) & MU_SIGN));
#endif
    return mu_isfinite(x) ? y : MU_NAN;
}

// As mu_sin: 2 ulp + 2^-36 below 4096, 3.5 ulp from there on.
float mu_cos(float x) {
#ifdef MU_FAST_MATH
    float y = cos(x);
#else
    float r;
    int n = mu_quarter_turns(abs(x), r);
    float y = (n & 1) == 0 ? mu_cos_near(r) : mu_sin_near(r);
    y = uintBitsToFloat(floatBitsToUint(y) ^ (uint((n + 1) & 2) << 30));
#endif
    return mu_isfinite(x) ? y : MU_NAN;
}

// 5 ulp (/); below 4096 also 2^-36 in the distance to the nearest pole or zero.
float mu_tan(float x) {
#ifdef MU_FAST_MATH
    float y = tan(x);
#else
    float r;
    int n = mu_quarter_turns(abs(x), r);
    float z = r * r;
    float p = 2.1286167e-2 + z * (1.0827606e-2 + z * (9.797265e-5 + z * 4.3728636e-3));
    float t = r + r * z * (0.3333335 + z * (0.13332675 + z * (5.4058917e-2 + z * p)));
    float y = (n & 1) == 0 ? t : -1.0 / t;
    y = uintBitsToFloat(floatBitsToUint(y) ^ (floatBitsToUint(x) & MU_SIGN));
#endif
    return mu_isfinite(x) ? y : MU_NAN;
}

// asin(s) - s for z = s^2 <= 1 / 4.
float mu_asin_near(float s, float z) {
    float p = 3.1839084e-2 + z * (1.4314964e-2 + z * 3.7696455e-2);
    return s * z * (0.1666666 + z * (7.500522e-2 + z * (4.4513375e-2 + z * p)));
}

// 1.5 ulp.
float mu_asin(float x) {
    float a = abs(x);
    bool outer = a > 0.5;
    float z = outer ? 0.5 - 0.5 * a : a * a, s = outer ? mu_sqrt(z) : a;
    float tail = mu_asin_near(s, z);
    precise float rest = 2.0 * tail - MU_HALF_PI_LO;
    precise float twice = 2.0 * s + rest;
    precise float turned = (MU_HALF_PI_HI - twice) - (rest - (twice - 2.0 * s));
    float y = outer ? turned : s + tail;
    return mu_isnan(x) ? x : a > 1.0 ? MU_NAN : mu_with_sign(y, x);
}

// 1.5 ulp.
float mu_acos(float x) {
    float a = abs(x);
    bool outer = a > 0.5;
    float z = outer ? 0.5 - 0.5 * a : a * a, s = outer ? mu_sqrt(z) : x;
    float tail = mu_asin_near(s, z);
    precise float twice = 2.0 * (s + tail);
    precise float turned = MU_PI_HI - (twice - MU_PI_LO);
    precise float inner = MU_HALF_PI_HI - (s + (tail - MU_HALF_PI_LO));
    return mu_isnan(x) ? x : a > 1.0 ? MU_NAN : !outer ? inner : x < 0.0 ? turned : twice;
}

// atan(t) for t in [0, 1].
float mu_atan_near(float t) {
    float z = t * t;
    float p = -8.399209e-2 + z * (5.7878915e-2 + z * (-3.1093631e-2 + z * (1.0866363e-2 + z * -1.782176e-3)));
    return t + t * z * (-0.333333 + z * (0.1999853 + z * (-0.14264014 + z * (0.10950861 + z * p))));
}

// 2 ulp (/).
float mu_atan(float x) {
    float a = abs(x);
    bool steep = a > 1.0;
    float y = mu_atan_near(steep ? 1.0 / a : a);
    precise float turned = MU_HALF_PI_HI - (y - MU_HALF_PI_LO);
    y = steep ? turned : y;
    return mu_keep_nan(x, mu_with_sign(y, x));
}

// 2 ulp (/): the angle of the point (x, y), with C's special cases.
float mu_atan2(float y, float x) {
    float ay = abs(y), ax = abs(x), large = max(ax, ay), small = min(ax, ay);
    float scale = large > 1.8446744e19 ? 5.421011e-20 : large < 5.421011e-20 ? 1.8446744e19 : 1.0;
    float t = large == 0.0 ? 0.0 : small == MU_INF ? 1.0 : (small * scale) / (large * scale);
    bool steep = ay > ax, left = (floatBitsToUint(x) & MU_SIGN) != 0u;
    float angle = mu_atan_near(t);
    float base_hi = steep ? MU_HALF_PI_HI : left ? MU_PI_HI : 0.0, base_lo = steep ? MU_HALF_PI_LO : left ? MU_PI_LO : 0.0;
    precise float turned = base_hi + ((steep != left ? -angle : angle) + base_lo);
    return mu_isnan(x) ? x : mu_isnan(y) ? y : mu_with_sign(steep || left ? turned : angle, y);
}

// ---- hyperbolic functions ---------------------------------------------------------------------------------------------------

// 2 ulp (/).
float mu_sinh(float x) {
    float a = abs(x), z = a * a;
    float near = a + a * z * (0.16666667 + z * (8.3333105e-3 + z * (1.9842896e-4 + z * 2.7822132e-6)));
    float half_exp = mu_exp_sum(min(a, 90.0), 0.0, -1);
    return mu_keep_nan(x, mu_with_sign(a < 1.0 ? near : half_exp - 0.25 / half_exp, x));
}

// 1.5 ulp (/).
float mu_cosh(float x) {
    float half_exp = mu_exp_sum(min(abs(x), 90.0), 0.0, -1);
    return mu_keep_nan(x, half_exp + 0.25 / half_exp);
}

// 1.5 ulp (/).
float mu_tanh(float x) {
    float a = min(abs(x), 10.0);
#ifdef MU_FAST_MATH
    float y = tanh(a);
#else
    float z = a * a;
    float p = -5.394818e-2 + z * (2.1706894e-2 + z * (-8.1900135e-3 + z * 2.152684e-3));
    float near = a + a * z * (-0.3333333 + z * (0.13333221 + z * p));
    float y = a < 0.625 ? near : 1.0 - 2.0 / (1.0 + mu_exp_sum(2.0 * a, 0.0, 0));
#endif
    return mu_keep_nan(x, mu_with_sign(y, x));
}

// 2 ulp (/).
float mu_asinh(float x) {
    float a = abs(x), z = a * a;
    bool large = a > 268435456.0;
    float y = mu_log1p(large ? a : a + z / (1.0 + mu_sqrt(1.0 + z)));
    return mu_keep_nan(x, mu_with_sign(large ? y + MU_LN2 : y, x));
}

// 3 ulp.
float mu_acosh(float x) {
    float t = x - 1.0;
    bool large = x > 268435456.0;
    float y = mu_log1p(large ? x : t + mu_sqrt(t * (t + 2.0)));
    return mu_isnan(x) ? x : x < 1.0 ? MU_NAN : large ? y + MU_LN2 : y;
}

// 2 ulp (/).
float mu_atanh(float x) {
    float a = abs(x), twice = 2.0 * a;
    float y = 0.5 * mu_log1p(twice + twice * a / (1.0 - a));
    y = a == 1.0 ? MU_INF : y;
    return mu_isnan(x) ? x : a > 1.0 ? MU_NAN : mu_with_sign(y, x);
}

// ---- error function, sigmoid, softplus --------------------------------------------------------------------------------------

// erf(x) for |x| <= 0.9.
float mu_erf_near(float x) {
    float z = x * x;
    float p = -2.6854144e-2 + z * (5.183568e-3 + z * (-7.836425e-4 + z * (5.660105e-5 + z * 9.52641e-6)));
    return x + x * (0.12837917 + z * (-0.3761263 + z * (0.11283617 + z * p)));
}

// 1.5 ulp.
float mu_erf(float x) {
    float a = min(abs(x), 4.0);
    // log(erfc(a)) for a in [0.9, 4]
    float q = 2.5080187e-2 + a * (-4.15603e-3 + a * (4.3133274e-4 + a * -2.0822028e-5));
    q = 1.6920347e-4 + a * (-1.1294883 + a * (-0.6334011 + a * (-0.10821994 + a * q)));
    return mu_keep_nan(x, mu_with_sign(a < 0.9 ? mu_erf_near(a) : 1.0 - mu_exp_sum(q, 0.0, 0), x));
}

// 5 ulp (/).
float mu_erfc(float x) {
    float a = clamp(abs(x), 0.6, 10.2);
    float t = (a - 3.0) / (a + 3.0);
    float p = -2.4398446e-2 + t * (4.25193e-3 + t * (7.355219e-4 + t * -5.443199e-4));
    p = 0.17900115 + t * (-0.32623357 + t * (0.24560367 + t * (-0.1501155 + t * (7.166834e-2 + t * p))));  // e^(a^2) erfc(a)
    float a_hi = mu_leading_bits(a);
    precise float rest = (a_hi - a) * (a_hi + a);
    float y = mu_exp_sum(-a_hi * a_hi, rest, 0) * p;
    y = x < 0.0 ? 2.0 - y : y;
    return mu_keep_nan(x, abs(x) < 0.65 ? 1.0 - mu_erf_near(x) : y);
}

// 2.5 ulp (/): 1 / (1 + e^-x) without overflow in either tail.
float mu_sigmoid(float x) {
    float e = mu_exp(-abs(x));
    return mu_keep_nan(x, (x < 0.0 ? e : 1.0) / (1.0 + e));
}

// 2 ulp: log(1 + e^x) without overflow.
float mu_softplus(float x) { return mu_keep_nan(x, max(x, 0.0) + mu_log1p(mu_exp(-abs(x)))); }

// ---- powers -----------------------------------------------------------------------------------------------------------------

// log2(x) as hi + lo for finite x > 0, good to about 2^-36 of its value: 2 / ln 2 (s + s^3 / 3 + ...), s = f / (2 + f).
void mu_log2_pair(float x, out float hi, out float lo) {
    const float C_HI = 2.88539, C_LO = 3.851926e-8, THIRD_HI = 0.33333334, THIRD_LO = -9.934108e-9;
    float k, f, p, e, z, z_lo, u, u_lo, v, v_lo, w, w_lo;
    mu_log_split(x, k, f);
    precise float d = 2.0 + f;
    precise float d_lo = f - (d - 2.0);
    precise float s = f / d;
    mu_exact_product(s, d, p, e);
    precise float s_lo = (((f - p) - e) - s * d_lo) / d;
    mu_exact_product(s, s, z, z_lo);
    z_lo += 2.0 * s * s_lo;
    mu_exact_product(z, THIRD_HI, u, u_lo);
    u_lo += z * THIRD_LO + z_lo * THIRD_HI + z * z * (0.19999999 + z * (0.14285986 + z * (0.11089864 + z * 9.778211e-2)));
    mu_exact_product(s, u, v, v_lo);
    v_lo += s * u_lo + s_lo * (1.0 + u);
    precise float sum = s + v;
    precise float sum_lo = (v - (sum - s)) + v_lo;
    mu_exact_product(sum, C_HI, w, w_lo);
    w_lo += sum * C_LO + sum_lo * C_HI;
    precise float total = k + w;
    precise float total_lo = (w - (total - k)) + w_lo;
    hi = total;
    lo = k == 0.0 ? w_lo : total_lo;
}

// |x|^y for x != 0, both finite.
float mu_pow_magnitude(float a, float y) {
#ifdef MU_FAST_MATH
    return exp2(y * log2(a));
#else
    float hi, lo, p, e;
    mu_log2_pair(a, hi, lo);
    mu_exact_product(y, hi, p, e);
    float v = clamp(p, -160.0, 130.0), n = roundEven(v);
    e = v == p ? e + y * lo : 0.0;
    return mu_exp2_sum(v - n, e, int(n));
#endif
}

// 1.5 ulp: x^y with C's special cases.
float mu_pow(float x, float y) {
    float ax = abs(x), ay = abs(y);
    bool whole = ay >= 16777216.0 || trunc(ay) == ay, odd = ay < 16777216.0 && whole && (int(ay) & 1) == 1;
    bool negative = (floatBitsToUint(x) & MU_SIGN) != 0u, edge = ax == 0.0 || ax == MU_INF;
    float m = mu_pow_magnitude(edge ? 1.0 : ax, clamp(y, -4294967296.0, 4294967296.0));
    m = edge ? ((ax == 0.0) == (y < 0.0) ? MU_INF : 0.0) : m;
    m = negative && odd ? -m : m;
    m = negative && !whole && !edge ? MU_NAN : m;
    m = mu_isnan(x) ? x : mu_isnan(y) ? y : m;
    return y == 0.0 || x == 1.0 ? 1.0 : m;
}

uint mu_pow(uint x, uint y) {
    uint result = 1u;
    for (; y != 0u; y >>= 1) {
        result *= (y & 1u) == 1u ? x : 1u;
        x *= x;
    }
    return result;
}

// Wraps on overflow; a negative exponent gives the truncated reciprocal: 1 or -1 for |x| = 1, else 0.
int mu_pow(int x, int y) {
    if (y < 0)
        return x == 1 ? 1 : x == -1 ? 1 - 2 * (y & 1) : 0;
    return int(mu_pow(uint(x), uint(y)));
}

// ---- remainders: exact ------------------------------------------------------------------------------------------------------

// C's remainder, with the sign of a; NaN for b = 0 or infinite a. Long division of the mantissas, 8 bits a turn.
float mu_fmod(float a, float b) {
    uint ua = floatBitsToUint(a) & 0x7fffffffu, ub = floatBitsToUint(b) & 0x7fffffffu;
    if (ua > 0x7f800000u || ub > 0x7f800000u)
        return mu_keep_nan(a, b);
    if (ua == 0x7f800000u || ub == 0u)
        return MU_NAN;
    if (ua < ub)
        return a;
    int ea = max(int(ua >> 23), 1), eb = max(int(ub >> 23), 1);
    uint ma = (ua & 0x007fffffu) | (ua >= 0x00800000u ? 0x00800000u : 0u);
    uint mb = (ub & 0x007fffffu) | (ub >= 0x00800000u ? 0x00800000u : 0u);
    if (ub == 0x7f800000u)
        return a;
    ma %= mb;
    for (int d = ea - eb; d > 0 && ma != 0u; d -= 8)
        ma = (ma << min(d, 8)) % mb;
    return mu_with_sign(mu_ldexp(float(ma), eb - 150), a);
}

// Python's and NumPy's %: the result has the sign of b.
float mu_mod(float a, float b) {
    float r = mu_fmod(a, b);
    bool opposed = ((floatBitsToUint(r) ^ floatBitsToUint(b)) & MU_SIGN) != 0u;
    float y = r == 0.0 ? mu_with_sign(0.0, b) : opposed ? r + b : r;
    return mu_keep_nan(r, y);
}

// Python's and NumPy's //, in NumPy's steps: near the floor of the quotient where that exceeds 2^22; b = 0 gives a / b.
float mu_floordiv(float a, float b) {
    float r = mu_fmod(a, b);
    bool opposed = r != 0.0 && ((floatBitsToUint(r) ^ floatBitsToUint(b)) & MU_SIGN) != 0u;
    precise float quotient = mu_divide(a - r, b) - (opposed ? 1.0 : 0.0);
    float whole = floor(quotient), q = quotient - whole > 0.5 ? whole + 1.0 : whole;
    if (b == 0.0 && a != 0.0 && !mu_isnan(a))
        return uintBitsToFloat(0x7f800000u | ((floatBitsToUint(a) ^ floatBitsToUint(b)) & MU_SIGN));
    return mu_keep_nan(r, q);
}

// For integers a zero divisor gives 0, and the most negative number divided by -1 wraps. Signs are handled here: GLSL leaves
// / and % of negative operands open.
uint mu_floordiv(uint a, uint b) { return b == 0u ? 0u : a / max(b, 1u); }
uint mu_mod(uint a, uint b) { return b == 0u ? 0u : a % max(b, 1u); }
uint mu_fmod(uint a, uint b) { return mu_mod(a, b); }

uint mu_magnitude(int a) { return a < 0 ? 0u - uint(a) : uint(a); }

int mu_fmod(int a, int b) {
    int r = int(mu_mod(mu_magnitude(a), mu_magnitude(b)));
    return a < 0 ? -r : r;
}

int mu_mod(int a, int b) {
    int r = mu_fmod(a, b);
    return r != 0 && (r ^ b) < 0 ? r + b : r;
}

int mu_floordiv(int a, int b) {
    uint q = mu_floordiv(mu_magnitude(a), mu_magnitude(b));
    bool opposed = (a ^ b) < 0 && b != 0, inexact = mu_fmod(a, b) != 0;
    return opposed ? -int(q) - (inexact ? 1 : 0) : int(q);
}

#endif
