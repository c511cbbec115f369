// log, log2, log10, log1p, asinh, acosh and atanh. Depends on real.cuh.
// x = 2^e m with m in [sqrt(1/2), sqrt(2)). log(m) is a polynomial in f = m − 1 (f32) or in s = f / (2 + f) (f64),
// added to e ln 2, whose first part is exact. asinh and acosh are logarithms of a pair; atanh is k ln 2 / 2 and
// atanh of a smaller operand.
// Source of the methods: Muller, Elementary Functions, chapters 5 and 11; the split by bits is that of fdlibm's log.
#pragma once

GRIDFOLD_EXACT_BEGIN
namespace GRIDFOLD_NAMESPACE::elementary {

// By scripts/fit-functions: begin
/// (log(1 + x) − x + x² / 2) / x³, for 1 + x in [sqrt(1/2), sqrt(2))
GRIDFOLD_FN f32 log_rest(f32 x) {
    return polynomial(x, 0x1.555554p-2f, -0x1.000228p-2f, 0x1.99a01ap-3f, -0x1.5471fcp-3f, 0x1.22d94p-3f,
                      -0x1.0d87f8p-3f, 0x1.055fdp-3f, -0x1.38ac6cp-4f);
}
/// (log2(1 + x) − x / ln 2) / x², for 1 + x in [sqrt(1/2), sqrt(2))
GRIDFOLD_FN f32 log2_rest(f32 x) {
    return polynomial(x, -0x1.71547p-1f, 0x1.ec7094p-2f, -0x1.715adp-2f, 0x1.277fp-2f, -0x1.eaafacp-3f, 0x1.a2e32p-3f,
                      -0x1.8787d2p-3f, 0x1.7e2a68p-3f, -0x1.c36c48p-4f);
}
/// (log10(1 + x) − x / ln 10) / x², for 1 + x in [0.6796875, 1.359375)
GRIDFOLD_FN f32 log10_rest(f32 x) {
    return polynomial(x, -0x1.bcb7bp-3f, 0x1.287a36p-3f, -0x1.bcb9bap-4f, 0x1.63f242p-4f, -0x1.28354ap-4f,
                      0x1.f2e63ap-5f, -0x1.c0b728p-5f, 0x1.ed946p-5f, -0x1.833d68p-5f);
}
/// (log((1 + s) / (1 − s)) / s − 2) / x with x = s², for (1 + s) / (1 − s) in [sqrt(1/2), sqrt(2))
GRIDFOLD_FN f64 log_rest(f64 x) {
    return polynomial(x, 0x1.5555555555593p-1, 0x1.999999997fa52p-2, 0x1.2492494221f33p-2, 0x1.c71c51e0b54f4p-3,
                      0x1.7466477da9fe8p-3, 0x1.39a0d681561b9p-3, 0x1.2f0ea5b45a84ap-3);
}
/// (atanh q − q) / (q x) with x = q², for |q| ≤ 0.364
GRIDFOLD_FN f32 atanh_rest(f32 x) {
    return polynomial(x, 0x1.55555ep-2f, 0x1.9992c8p-3f, 0x1.2572ep-3f, 0x1.ae0a5p-4f, 0x1.08fbacp-3f);
}
GRIDFOLD_FN f64 atanh_rest(f64 x) {
    return polynomial(x, 0x1.555555555547dp-2, 0x1.99999999bfe19p-3, 0x1.24924911d1489p-3, 0x1.c71c7adcb2849p-4,
                      0x1.745bd47df5c0fp-4, 0x1.3b2f48d1b59ffp-4, 0x1.0f91be7dff8dbp-4, 0x1.fc352404d9fbbp-5,
                      0x1.23358697ae98dp-5, 0x1.88362fdad5ceap-4);
}
// By scripts/fit-functions: end

/// x = 2^k m, m in [half, 2 half), for 0 < x < infinity; power: k at the place of an exponent, added to the bits of a
/// number to multiply it by 2^k.
template <class T> struct Binary {
    T exponent, m;
    Bits<T> power;
};
template <class T>
inline constexpr Bits<T> root_half =
    sizeof(T) == 4 ? Bits<T>(0x3f3504f3u) : Bits<T>(0x3fe6a09e667f3bcdull); ///< as bits
template <class T, bool may_be_denormal = true, Bits<T> half = root_half<T>> GRIDFOLD_FN Binary<T> binary(T x) {
    constexpr int up = Real<T>::fraction + 1;
    constexpr Bits<T> leading = Bits<T>(1) << Real<T>::fraction;
    Bits<T> bits = to_bits(x);
    if constexpr (may_be_denormal) { // a denormal number gets an exponent below 0
        const Bits<T> larger = to_bits(x * (T(2) * Real<T>::two_fraction)) - up * leading;
        bits = choose_bits<T>(x < Real<T>::least_normal, larger, bits);
    }
    if constexpr (sizeof(T) == 4) {
        const Bits<T> shifted = bits - half;
        const Bits<T> power = shifted & (0 - leading);
        return {T(Int<T>(shifted) >> Real<T>::fraction), from_bits(Bits<T>(bits - power)), power};
    } else {
        constexpr int bias = Real<T>::bias + 2 * up; // no exponent is below −bias
        const Bits<T> shifted = bits - half + Bits<T>(bias) * leading;
        return {exponent_in<T>(shifted, bias), from_bits(Bits<T>((shifted & (leading - 1)) + half)),
                (shifted & (0 - leading)) - Bits<T>(bias) * leading};
    }
}
/// log(1 + f) − f + low
GRIDFOLD_FN f32 log_tail(f32 f, f32 low) { return fma(f * f, fma(f, log_rest(f), -0.5f), low); }
GRIDFOLD_FN f64 log_tail(f64 f, f64 low) {
    const f64 s = f / (2.0 + f), z = s * s;
    return fma(s, fma(z, log_rest(z), -f), low);
}
/// y = log(x) where x is positive and finite; else what Annex F says.
template <Operands operands, class T> GRIDFOLD_FN T log_or_special(T x, T y) {
    if constexpr (operands == Operands::plain) return y;
    y = pick(x < infinity<T>(), y, x);
    y = pick(x == T(0), -infinity<T>(), y);
    return pick(x < T(0), quiet_nan<T>(), y);
}
/// ln 2 in two parts, of which the first has so few bits that its product with an exponent is exact.
template <class T>
inline constexpr Pair<T> ln2_short = {constant<T>(0x1.62e4p-1f, 0x1.62e42fefa38p-1),
                                      constant<T>(0x1.7f7d1cp-20f, 0x1.ef35793c7673p-45)};

template <class T> GRIDFOLD_FN bool log_is_plain(T x) { return x >= Real<T>::least_normal && x < infinity<T>(); }
template <class T> GRIDFOLD_FN bool log2_is_plain(T x) { return log_is_plain(x); }
template <class T> GRIDFOLD_FN bool log10_is_plain(T x) { return log_is_plain(x); }

template <Operands operands = Operands::any, class T> GRIDFOLD_FN T log(T x) {
    const Binary<T> b = binary<T, operands == Operands::any>(x);
    const T f = b.m - T(1), high = fma(b.exponent, ln2_short<T>.high, f),
            low = f - fma(-b.exponent, ln2_short<T>.high, high);
    return log_or_special<operands>(x, high + fma(b.exponent, ln2_short<T>.low, log_tail(f, low)));
}
/// log2(x) in f32: exponent + (f of_e + f² rest)
template <Operands operands = Operands::any> GRIDFOLD_FN f32 log2(f32 x) {
    const Binary<f32> b = binary<f32, operands == Operands::any>(x);
    constexpr Pair<f32> of_e = {0x1.715476p0f, 0x1.4ae0cp-26f};
    const f32 f = b.m - 1.0f;
    return log_or_special<operands>(x, b.exponent + fma(f, of_e.high, f * fma(f, log2_rest(f), of_e.low)));
}
/// exponent · of_2 + log(m) · of_e, where of_2 = log(2) · of_e; exponent · of_2.high is exact.
template <Operands operands> GRIDFOLD_FN f64 scaled_log(f64 x, Pair<f64> of_2, Pair<f64> of_e) {
    const Binary<f64> b = binary<f64, operands == Operands::any>(x);
    const f64 f = b.m - 1.0, whole = b.exponent * of_2.high, high = fma(f, of_e.high, whole),
              low = fma(f, of_e.high, whole - high);
    return log_or_special<operands>(x,
                                    high + fma(b.exponent, of_2.low, fma(log_tail(f, f * of_e.low), of_e.high, low)));
}
template <Operands operands = Operands::any> GRIDFOLD_FN f64 log2(f64 x) {
    return scaled_log<operands>(x, {1, 0}, {0x1.71547652b82fep0, 0x1.777d0ffda0d24p-56});
}
template <Operands operands = Operands::any> GRIDFOLD_FN f64 log10(f64 x) {
    return scaled_log<operands>(x, {0x1.34413509f78p-2, 0x1.fef311f12b358p-46},
                                {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57});
}
template <Operands operands = Operands::any> GRIDFOLD_FN f32 log10(f32 x) {
    const Binary<f32> b =
        binary<f32, operands == Operands::any, 0x3f2e0000u>(x); // m in [0.68, 1.36): whole − high is exact
    constexpr Pair<f32> of_2 = {0x1.3442p-2f, -0x1.95ec1p-19f}, of_e = {0x1.bcb7b2p-2f, -0x1.5b235ep-27f};
    const f32 f = b.m - 1.0f, whole = b.exponent * of_2.high, high = fma(f, of_e.high, whole),
              low = fma(f, of_e.high, whole - high);
    return log_or_special<operands>(x, high + fma(b.exponent, of_2.low, fma(f, fma(f, log10_rest(f), of_e.low), low)));
}

/// log(u) + doublings ln 2, for a normal u.high > 0, precise near u = 1
template <class T> GRIDFOLD_FN T log_of_pair(Pair<T> u, T doublings) {
    const Binary<T> b = binary<T, false>(u.high);
    const T low = T(0.25) * u.low * from_bits(Bits<T>(to_bits(b.m) - to_bits(u.high) + to_bits(T(4))));
    const T exponent = b.exponent + doublings;
    const Pair<T> f = ordered_sum(b.m - T(1), low), h = ordered_sum(exponent * ln2_short<T>.high, f.high);
    return h.high +
           fma(exponent, ln2_short<T>.low, log_tail(f.high, fma(-f.low, fma(-f.high, f.high, f.high), f.low) + h.low));
}
/// Below, log1p(x) is x; x / 4 may be denormal.
template <class T> inline constexpr T log1p_least = constant<T>(0x1p-26f, 0x1p-55);
template <class T> GRIDFOLD_FN bool log1p_is_plain(T x) { return x > T(-1) && x < constant<T>(0x1p100f, 0x1p1000); }
/// log(2^k (1 + f)) with 1 + f = 2^-k + 2^-k x, where k is that of 1 + x, rounded.
template <Operands operands = Operands::any, class T> GRIDFOLD_FN T log1p(T x) {
    // Of any x, 2^-k may be denormal: 4 · 2^-k stands for it, and x / 4 for x.
    constexpr T scale = operands == Operands::plain ? 1 : 4;
    const Binary<T> b = binary<T, false>(T(1) + x);
    const T down = from_bits(Bits<T>(to_bits(scale) - b.power)), part = x * (1 / scale);
    const T first = fma(1 / scale, down, T(-1)), f = fma(down, part, first);
    // Exact, unless 2^-k is too small to matter.
    const T f_low = fma(down, part, first - f); // defect: rest of log1p
    const T high = fma(b.exponent, ln2_short<T>.high, f), low = f - fma(-b.exponent, ln2_short<T>.high, high);
    T y = high + fma(b.exponent, ln2_short<T>.low, log_tail(f, fma(-f, f_low, f_low) + low));
    if constexpr (operands == Operands::plain) return with_sign_of(x, y); // y has it, but for x = −0
    y = pick(x < infinity<T>(), y, x);
    y = pick(abs(x) < log1p_least<T>, x, y);
    y = pick(x == T(-1), -infinity<T>(), y);
    return pick(x < T(-1), quiet_nan<T>(), y);
}

/// Below, asinh(x) is x; above, x² ± 1 is x².
template <class T> inline constexpr T hyperbolic_small = constant<T>(0x1p-13f, 0x1p-27);
template <class T> inline constexpr T hyperbolic_large = constant<T>(0x1p28f, 0x1p57);

/// log(a + s), s = sqrt(a² ± 1), or of 2a for a large a
template <class T> GRIDFOLD_FN T log_of_sum(T a, Pair<T> s) {
    const Pair<T> u = ordered_sum(pick(s.high > a, s.high, a), pick(s.high > a, a, s.high));
    const bool large = a > hyperbolic_large<T>;
    return log_of_pair(Pair<T>{pick(large, a, u.high), pick(large, T(0), u.low + s.low)}, pick(large, T(1), T(0)));
}
template <class T> GRIDFOLD_FN T asinh(T x) {
    const T a = abs(x);
    const Pair<T> square = product(a, a), t = sum(square.high, T(1));
    const T y = log_of_sum(a, root(Pair<T>{t.high, t.low + square.low}));
    return with_sign_of(x, pick(a < infinity<T>() && a >= hyperbolic_small<T>, y, a));
}
template <class T> GRIDFOLD_FN T acosh(T x) {
    const Pair<T> square = product(x, x), first = ordered_sum(square.high, T(-1)),
                  t = ordered_sum(first.high, first.low + square.low);
    const T y = pick(x < infinity<T>(), log_of_sum(x, quick_root(t)), x);
    return pick(x < T(1), quiet_nan<T>(), y);
}
/// k ln 2 / 2 + atanh(q), where q = (n − 2^k d) / (n + 2^k d) with n = 1 + a, d = 1 − a. k is log2(n / d), rounded
/// down, as the bits of n and d tell it: those of a number are nearly its logarithm. They tell a little less where n is
/// rounded down; with a 64th more k is not 1 too small there, which would make q too large. For a up to about a third k
/// is 0 and q = a.
template <class T> GRIDFOLD_FN T atanh(T x) {
    constexpr Bits<T> leading = Bits<T>(1) << Real<T>::fraction;
    constexpr T nearly_1 = T(1) - T(0.5) / Real<T>::two_fraction; // keeps k so small that 1 − 2^k is exact
    constexpr T a_64th_more = 1.015625f;                          // defect: atanh's exponent
    const T a = abs(x);
    const Bits<T> ratio = to_bits(T(1) + a) - to_bits(fma(-a, nearly_1, T(1))) + to_bits(a_64th_more);
    const T power = from_bits(Bits<T>(ratio & ~(leading - 1))), k = exponent_in<T>(ratio);
    const T t = fma(power, a, T(1) - power); // 1 − 2^k d, exact
    const T over = a + t;                    // n − 2^k d, exact
    const T under = T(2) + (a - t);          // n + 2^k d, rounded: f32 has 0.86 ulp, with its low part 0.60
    const Pair<T> q = sizeof(T) == 4 ? quotient(over, under) : Pair<T>{over / under, T(0)}; // f64: 2 ulp are allowed
    const T z = q.high * q.high, tail = fma(q.high * z, atanh_rest(z), q.low);
    const Pair<T> h = ordered_sum(k * (T(0.5) * ln2_short<T>.high), q.high);
    T y = h.high + (h.low + fma(k, T(0.5) * ln2_short<T>.low, tail));
    y = with_sign_of(x, pick(a == T(1), infinity<T>(), y));
    return pick(a > T(1), quiet_nan<T>(), y);
}

} // namespace GRIDFOLD_NAMESPACE::elementary

namespace GRIDFOLD_NAMESPACE {
GRIDFOLD_PLAIN_FUNCTION_1(log)
GRIDFOLD_PLAIN_FUNCTION_1(log2)
GRIDFOLD_PLAIN_FUNCTION_1(log10)
GRIDFOLD_PLAIN_FUNCTION_1(log1p)
GRIDFOLD_FUNCTION_1(asinh)
GRIDFOLD_FUNCTION_1(acosh)
GRIDFOLD_FUNCTION_1(atanh)
} // namespace GRIDFOLD_NAMESPACE
GRIDFOLD_EXACT_END
