// sin, cos, tan, asin, acos, atan and atan2. Depends on real.cuh.
// x = n π/2 + r with |r| ≤ π/4. Up to quick_limit, π/2 is subtracted in three parts (Cody and Waite); beyond, x is
// multiplied by as much of 2/π as it needs (Payne and Hanek). Sine and cosine of r are polynomials. The inverse
// functions are reduced to polynomials around 0 by a square root, or by the arc tangent of a difference.
// Source of the methods: Muller, Elementary Functions, chapter 11; Payne and Hanek, 1983.
#pragma once

GRIDFOLD_EXACT_BEGIN
namespace GRIDFOLD_NAMESPACE::elementary {

// By scripts/fit-functions: begin
/// (sin r − r) / (r x) with x = r², for |r| ≤ π/4
GRIDFOLD_FN f32 sin_rest(f32 x) { return polynomial(x, -0x1.555544p-3f, 0x1.1106cap-7f, -0x1.991e08p-13f); }
GRIDFOLD_FN f64 sin_rest(f64 x) {
    return polynomial(x, -0x1.5555555555547p-3, 0x1.111111110f575p-7, -0x1.a01a019badf43p-13, 0x1.71de351f647f5p-19,
                      -0x1.ae5e1fe1ccfefp-26, 0x1.5d7e5207de80bp-33);
}
/// (cos r − 1 + x / 2) / x² with x = r², for |r| ≤ π/4
GRIDFOLD_FN f32 cos_rest(f32 x) { return polynomial(x, 0x1.55554ap-5f, -0x1.6c0c14p-10f, 0x1.99de6ep-16f); }
GRIDFOLD_FN f64 cos_rest(f64 x) {
    return polynomial(x, 0x1.5555555555549p-5, -0x1.6c16c16c14bfp-10, 0x1.a01a019c2a6aap-16, -0x1.27e4f7aa1b1f6p-22,
                      0x1.1ee9abcfc9ef3p-29, -0x1.8f8ddcce2b3e4p-37);
}
/// (asin a − a) / (a x) with x = a², for |a| ≤ 1/2
GRIDFOLD_FN f32 asin_rest(f32 x) {
    return polynomial(x, 0x1.5555c8p-3f, 0x1.3302p-4f, 0x1.747c76p-5f, 0x1.8c340cp-6f, 0x1.59674cp-5f);
}
GRIDFOLD_FN f64 asin_rest(f64 x) {
    return polynomial(x, 0x1.555555555538ep-3, 0x1.333333336ebedp-4, 0x1.6db6db42508c9p-5, 0x1.f1c72c47008bfp-6,
                      0x1.6e89f2e3bc292p-6, 0x1.1c6bf6cc2c5cap-6, 0x1.c6fc15229cff5p-7, 0x1.8ece38e6813c5p-7,
                      0x1.ab6c433d78263p-8, 0x1.4039ae186f4f1p-6, -0x1.0a4145bbce7b9p-6, 0x1.0593c358a2159p-5);
}
/// (tan a − a) / (a x) with x = a², for |a| ≤ π/4
GRIDFOLD_FN f32 tan_rest(f32 x) {
    return polynomial(x, 0x1.555562p-2f, 0x1.110d14p-3f, 0x1.baf292p-5f, 0x1.5bbbb6p-6f, 0x1.682f28p-7f,
                      -0x1.df026p-14f, 0x1.258eeep-8f);
}
GRIDFOLD_FN f64 tan_rest(f64 x) {
    return polynomial(x, 0x1.55555555554cbp-2, 0x1.111111111abeep-3, 0x1.ba1ba1b286f1bp-5, 0x1.664f4a0219c2ep-6,
                      0x1.226e089714d77p-7, 0x1.d6da9075b2aa1p-9, 0x1.7d4af88691495p-10, 0x1.388334923eb87p-11,
                      0x1.cc32989c0303dp-13, 0x1.2aebb55489c6ep-13, -0x1.23e86f95146cdp-15, 0x1.9764b21064fa9p-14,
                      -0x1.9afccab695a26p-15, 0x1.6e877dc387b7fp-16);
}
/// (atan a − a) / (a x) = atan_first + x · atan_rest(x) with x = a², for |a| ≤ 1
template <class T> inline constexpr T atan_first = constant<T>(-0x1.55553ep-2f, -0x1.5555555555525p-2);
GRIDFOLD_FN f32 atan_rest(f32 x) {
    return polynomial(x, 0x1.9991e6p-3f, -0x1.2420b6p-3f, 0x1.c08f6cp-4f, -0x1.581596p-4f, 0x1.da6008p-5f,
                      -0x1.fdff5ap-6f, 0x1.64c614p-7f, -0x1.d4a118p-10f);
}
GRIDFOLD_FN f64 atan_rest(f64 x) {
    return polynomial(x, 0x1.99999999954a8p-3, -0x1.249249237c074p-3, 0x1.c71c717f1b11cp-4, -0x1.745d11a28cbe3p-4,
                      0x1.3b136612c7d65p-4, -0x1.110e4ce46f38ap-4, 0x1.e1bb74106398bp-5, -0x1.ae5d92e6b9e62p-5,
                      0x1.82d7de5978c16p-5, -0x1.599c2c6ffb736p-5, 0x1.2c1e58b4170a1p-5, -0x1.e9c6f9511cd17p-6,
                      0x1.67fd9fd57d5ecp-6, -0x1.c717fcf9c212ap-7, 0x1.d70e40b0787cep-8, -0x1.79885728428e8p-9,
                      0x1.b2fe808756f2fp-11, -0x1.3e5a11cba832ap-13, 0x1.ba8a1ca54644ap-17);
}
// By scripts/fit-functions: end

/// π/2 as high + low, and what is left.
template <class T>
inline constexpr Pair<T> half_pi = {constant<T>(0x1.921fb6p0f, 0x1.921fb54442d18p0),
                                    constant<T>(-0x1.777a5cp-25f, 0x1.1a62633145c07p-54)};
template <class T> inline constexpr T half_pi_rest = constant<T>(-0x1.ee59dap-50f, -0x1.f1976b7ed8fbcp-110);

/// x = quadrant π/2 + r, |r| ≤ π/4; quadrant modulo 4 in its lowest bits.
template <class T> struct Angle {
    Bits<T> quadrant;
    Pair<T> r;
};
/// Where quick_angle is precise to.
template <class T> inline constexpr T quick_limit = constant<T>(0x1p17f, 0x1p40);
template <class T> GRIDFOLD_FN Angle<T> quick_angle(T x) {
    const T shifted = fma(x, constant<T>(0x1.45f306p-1f, 0x1.45f306dc9c883p-1), Real<T>::to_whole),
            n = shifted - Real<T>::to_whole;
    const T first = fma(n, -half_pi<T>.high, x); // exact
    // The second part is rounded first: then first − high is exact although that part may be larger, as both are
    // multiples of so large a power of 2.
    const T high = first + n * -half_pi<T>.low; // defect: second part
    const T low = fma(n, -half_pi<T>.low, first - high);
    return {to_bits(shifted), {high, fma(n, -half_pi_rest<T>, low)}};
}
// By scripts/fit-functions: begin
/// 32 bits of 2/π, from the bit of weight 2^(31 − bit) downwards.
GRIDFOLD_FN u32 bits_of_two_over_pi(u32 bit) {
    static constexpr u32 words[] = {0,           0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u,
                                    0x3c439041u, 0xfe5163abu, 0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau,
                                    0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u, 0x2ebb4484u, 0xe99c7026u,
                                    0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu,
                                    0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u,
                                    0x9e5fea2du, 0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u,
                                    0x1f8d5d08u, 0x56033046u, 0xfc7b6babu, 0xf0cfbc20u, 0x9af4361du};
    const u64 two = u64(words[bit / 32]) << 32 | words[bit / 32 + 1];
    return u32((two << (bit % 32)) >> 32);
}
// By scripts/fit-functions: end
/// The angle of |x|, for quick_limit ≤ |x| < infinity. |x| = mantissa · 2^exponent. Bits of 2/π whose product with x is
/// a multiple of 4 are left out, and those too small to matter. What is left is multiplied in words of 32 bits, modulo
/// 4.
template <class T> GRIDFOLD_FN Angle<T> large_angle(T x) {
    constexpr int words = sizeof(T) == 4 ? 3 : 6;
    const Bits<T> bits = to_bits(abs(x)), leading = Bits<T>(1) << Real<T>::fraction;
    const int exponent = int(bits >> Real<T>::fraction) - Real<T>::bias - Real<T>::fraction;
    const u64 mantissa = (bits & (leading - 1)) | leading;
    u32 turns[words]; // the product, in units of π/2: 2 bits before the point
    u64 carry = 0;
    for (int i = words - 1; i >= 0; --i) {
        const u32 at = u32(exponent + 30 + 32 * i);
        const u64 low = u64(bits_of_two_over_pi(at)) * u32(mantissa);
        carry += low;
        u64 overflow = carry < low;
        if (sizeof(T) == 8 && i + 1 < words) {
            const u64 high = u64(bits_of_two_over_pi(at + 32)) * u32(mantissa >> 32);
            carry += high;
            overflow += carry < high;
        }
        turns[i] = u32(carry);
        carry = carry >> 32 | overflow << 32;
    }
    // The nearest quadrant, and the signed rest as a sum of whole numbers.
    const u32 quadrant = ((turns[0] >> 29) + 1) >> 1;
    const i64 rest = i64(u64(turns[0] - (quadrant << 30)) << 32 | turns[1]);
    const T first = T(rest), second = T(rest - i64(first));
    Pair<T> r;
    if constexpr (sizeof(T) == 4)
        r = ordered_sum(first, second + T(turns[2]) * 0x1p-32f);
    else {
        const Pair<T> below = sum(second, T(u64(turns[2]) << 32 | turns[3]) * 0x1p-64);
        const Pair<T> s = ordered_sum(first, below.high);
        r = ordered_sum(s.high, s.low + (below.low + T(turns[4]) * 0x1p-96));
    }
    r = product(Pair<T>{r.high * T(0x1p-62f), r.low * T(0x1p-62f)}, half_pi<T>);
    return {quadrant, ordered_sum(r.high, r.low)};
}
template <class T> GRIDFOLD_FN bool is_quick(T x) { return abs(x) < quick_limit<T>; }
template <class T> GRIDFOLD_FN bool is_large(T x) { return !is_quick(x) && abs(x) < infinity<T>(); }
// The angle of x; of |x| where it is large, so that odd functions pass |x|. Plain operands are not large: for them
// functions of angles have no branch, so that loops vectorise.
template <Operands operands, class T> GRIDFOLD_FN Angle<T> angle(T x) {
    if constexpr (operands == Operands::any)
        if (is_large(x)) return large_angle(x);
    return quick_angle(x);
}
/// sin(r) and cos(r) for a pair r
template <class T> struct Legs {
    T sine, cosine;
};
template <class T> GRIDFOLD_FN Legs<T> legs(Pair<T> a) {
    const T r = a.high, x = fma(r, r, (r + r) * a.low);
    return {r + fma(r * x, sin_rest(x), a.low), fma(x, fma(x, cos_rest(x), T(-0.5)), T(1))};
}
/// That of both which the lowest bit of the quadrant asks for, without a comparison.
template <class T> GRIDFOLD_FN T pick_by(Bits<T> quadrant, T odd, T even) {
#if defined(__CUDA_ARCH__)
    return (quadrant & 1) != 0 ? odd : even;
#else
    const Bits<T> mask = Bits<T>(0) - (quadrant & 1);
    return from_bits(Bits<T>(to_bits(even) ^ ((to_bits(odd) ^ to_bits(even)) & mask)));
#endif
}
/// The sine of an angle, with its sign changed where `sign` has the sign bit.
template <class T> GRIDFOLD_FN T sine(Angle<T> a, Bits<T> sign) {
    const Legs<T> l = legs(a.r);
    const Bits<T> half_turns = a.quadrant << (bits_of<T> - 2); // each changes the sign
    return flipped_by(half_turns ^ sign, pick_by(a.quadrant, l.cosine, l.sine));
}
template <Operands operands = Operands::any, class T> GRIDFOLD_FN T sin(T x) {
    return sine(angle<operands>(abs(x)), to_bits(x));
}
template <Operands operands = Operands::any, class T> GRIDFOLD_FN T cos(T x) {
    const Angle<T> a = angle<operands>(x);
    return sine(Angle<T>{a.quadrant + 1, a.r}, Bits<T>(0));
}
/// tan(r), or −1 / tan(r) for odd quadrants
template <Operands operands = Operands::any, class T> GRIDFOLD_FN T tan(T x) {
    const Angle<T> a = angle<operands>(abs(x));
    const T r = a.r.high, z = r * r;
    T tail = fma(T(1.6) * z, a.r.low, a.r.low);                                // roughly a.r.low (1 + tan²(r))
    if constexpr (sizeof(T) == 4) tail = fma(r * fma(r, r, -z), T(0.5), tail); // and roughly what rounding z lost
    const Pair<T> t = ordered_sum(r, fma(r * z, tan_rest(z), tail));
    const T inverse = -inverse_of(t.high), rest = fma(inverse, t.low, fma(inverse, t.high, T(1)));
    return flipped_by(to_bits(x), pick_by(a.quadrant, fma(inverse, rest, inverse), t.high));
}

// Up to 1/2, asin(a) = a + a z asin_rest(z) with z = a²; beyond, π/2 − 2 asin(sqrt(z)) with z = (1 − a) / 2.
/// z: a², or (1 − a) / 2.
template <class T> GRIDFOLD_FN T arc_sine_square(T a, bool small) {
    return pick(small, a * a, fma(T(-0.5), a, T(0.5)));
}
/// 2 sqrt(a); the low part makes up for most of what rounding the high part lost.
template <class T> GRIDFOLD_FN Pair<T> twice_root(T a) {
    const T s = root_of(a);
    constexpr Bits<T> leading = Bits<T>(1) << Real<T>::fraction; // doubles a number
    return {T(2) * s, fma(-s, s, a) * from_bits(Bits<T>(to_bits(rough_half_over_root(a)) + leading))};
}
/// base + (s + low) (1 + z asin_rest(z)), where base is 0, π/2 or π.
template <class T> GRIDFOLD_FN T arc_sine(T base, T s, T low, T z) {
    const Pair<T> h = ordered_sum(base, s);
    return h.high + fma(s * z, asin_rest(z), low + fma(base, half_pi<T>.low / half_pi<T>.high, h.low));
}
template <class T> GRIDFOLD_FN T asin(T x) {
    const T a = abs(x);
    const bool small = a <= T(0.5);
    const T z = arc_sine_square(a, small);
    const Pair<T> r = twice_root(z);
    const T base = pick(small, T(0), half_pi<T>.high), s = pick(small, a, -r.high), low = pick(small, T(0), -r.low);
    return with_sign_of(x, arc_sine(base, s, low, z));
}
template <class T> GRIDFOLD_FN T acos(T x) {
    const T a = abs(x);
    const bool small = a <= T(0.5), negative = x < T(0);
    const T z = arc_sine_square(a, small);
    const Pair<T> r = twice_root(z);
    const T base = pick(small, half_pi<T>.high, pick(negative, T(2) * half_pi<T>.high, T(0)));
    const T s = pick(small, -x, negated_if(negative, r.high)), low = pick(small, T(0), negated_if(negative, r.low));
    return arc_sine(base, s, low, z);
}

/// base + atan(q + q_low), where base is 0, π/2 or π, and |q| ≤ 1.
template <class T> GRIDFOLD_FN T arc(T base, T q, T q_low) {
    const T z = q * q, cube = q * z, p = fma(z, atan_rest(z), atan_first<T>);
    const Pair<T> h = ordered_sum(base, q);
    T low = fma(base, half_pi<T>.low / half_pi<T>.high, h.low);
    if constexpr (sizeof(T) == 4) {
        low = fma(q_low, fma(T(-0.5), z, T(1)), low); // roughly q_low / (1 + z)
        low = fma(fma(q, z, -cube), p, low);          // what rounding the cube lost
    }
    return h.high + fma(cube, p, low);
}
template <class T> GRIDFOLD_FN T atan(T x) {
    const T a = abs(x);
    const bool steep = a > T(1);
    const T under = lesser(a, T(0x1p100f)); // the arc of any larger is π/2, rounded
    const T q = pick(steep, -inverse_of(under), a), rest = pick(steep, fma(q, under, T(1)), T(0));
    return with_sign_of(x, arc(pick(steep, half_pi<T>.high, T(0)), q, q * rest));
}
/// Neither a quotient nor what is left of a division is denormal.
template <class T> GRIDFOLD_FN bool atan2_is_plain(T y, T x) {
    const T a = abs(y), b = abs(x), most = constant<T>(0x1p30f, 0x1p300), least = T(1) / most; // defect: plain atan2
    return (a >= least || a == T(0)) && a <= most && b >= least && b <= most;
}
template <Operands operands = Operands::any, class T> GRIDFOLD_FN T atan2(T y, T x) {
    const T a = abs(y), b = abs(x);
    T n = a, d = b;
    if constexpr (operands == Operands::any) {
        const T most = pick(a < b, b, a);
        // Both are scaled so that the larger is near 1, by two factors, as one may overflow.
        const Bits<T> whole = whole_0<T> + Bits<T>(Real<T>::bias) - (to_bits(most) >> Real<T>::fraction);
        const bool infinite = most == infinity<T>(), zero = most == T(0);
        n = pick(infinite, pick(a == infinity<T>(), T(1), T(0)), scaled(a, whole));
        d = pick(infinite, pick(b == infinity<T>(), T(1), T(0)), pick(zero, T(1), scaled(b, whole)));
    }
    const bool back = (to_bits(x) >> (bits_of<T> - 1)) != 0, steep = n > d;
    const T less = lesser(n, d), over = negated_if(steep != back, less), under = other(n, d, less);
    const Pair<T> q = sizeof(T) == 4 ? quotient(over, under) : Pair<T>{over / under, T(0)}; // f64: 2 ulp are allowed
    const T base = pick(steep, half_pi<T>.high, pick(back, T(2) * half_pi<T>.high, T(0)));
    const T result = with_sign_of(y, arc(base, q.high, q.low));
    return operands == Operands::plain ? result : pick(x != x || y != y, quiet_nan<T>(), result);
}

} // namespace GRIDFOLD_NAMESPACE::elementary

namespace GRIDFOLD_NAMESPACE {
GRIDFOLD_FUNCTION_1(sin)
GRIDFOLD_FUNCTION_1(cos)
GRIDFOLD_FUNCTION_1(tan)
GRIDFOLD_FUNCTION_1(asin)
GRIDFOLD_FUNCTION_1(acos)
GRIDFOLD_FUNCTION_1(atan)
GRIDFOLD_FUNCTION_2(atan2)
} // namespace GRIDFOLD_NAMESPACE
GRIDFOLD_EXACT_END
