// log, log2, log10, log1p, asinh, acosh and atanh. Depends on exponential.cuh (ln2, power_of_2).
// x = 2^e m with m in [sqrt(1/2), sqrt(2)). log(m) is a polynomial in f = m − 1 (f32) or in s = f / (2 + f) (f64),
// added to e ln 2, whose first part is exact. The inverse hyperbolic functions are logarithms of a pair.
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
/// (log((1 + s) / (1 − s)) / s − 2) / x with x = s², for (1 + s) / (1 − s) in [sqrt(1/2), sqrt(2))
GRIDFOLD_FN f64 log_rest(f64 x) {
    return polynomial(x, 0x1.5555555555593p-1, 0x1.999999997fa52p-2, 0x1.2492494221f33p-2, 0x1.c71c51e0b54f4p-3,
                      0x1.7466477da9fe8p-3, 0x1.39a0d681561b9p-3, 0x1.2f0ea5b45a84ap-3);
}
// By scripts/fit-functions: end

/// x = 2^exponent m, m in [sqrt(1/2), sqrt(2)), for 0 < x < infinity. biased = exponent + bias, of a multiple of
/// a denormal x.
template <class T> struct Binary {
    T exponent, m;
    Bits<T> biased;
};
template <bool may_be_denormal = true, class T> GRIDFOLD_FN Binary<T> binary(T x) {
    constexpr Bits<T> half =
        sizeof(T) == 4 ? Bits<T>(0x3f3504f3u) : Bits<T>(0x3fe6a09e667f3bcdull); // the bits of sqrt(1/2)
    const bool denormal = may_be_denormal && x < Real<T>::least_normal;
    const Bits<T> bits = to_bits(pick(denormal, x * (T(2) * Real<T>::two_fraction), x));
    const Bits<T> biased = (bits - half + (Bits<T>(Real<T>::bias) << Real<T>::fraction)) >> Real<T>::fraction;
    const T m = from_bits(Bits<T>(bits - ((biased - Bits<T>(Real<T>::bias)) << Real<T>::fraction)));
    // As a float: biased are the low bits of 2^fraction + biased.
    constexpr T offset = Real<T>::two_fraction + T(Real<T>::bias);
    const T exponent = from_bits(Bits<T>(biased | to_bits(Real<T>::two_fraction))) -
                       pick(denormal, offset + T(Real<T>::fraction + 1), offset);
    return {exponent, m, biased};
}
/// log(1 + f) − f
GRIDFOLD_FN f32 log_tail(f32 f) { return f * f * fma(f, log_rest(f), -0.5f); }
GRIDFOLD_FN f64 log_tail(f64 f) {
    const f64 s = f / (2.0 + f), z = s * s;
    return s * fma(z, log_rest(z), -f);
}
/// y = log(x) where x is positive and finite; else what Annex F says.
template <class T> GRIDFOLD_FN T log_or_special(T x, T y) {
    y = pick(x < infinity<T>(), y, x);
    y = pick(x == T(0), -infinity<T>(), y);
    return pick(x < T(0), quiet_nan<T>(), y);
}
/// A multiple of the logarithm: exponent · of_2 + log(m) · of_e, where of_2 = log(2) · of_e. exponent · of_2.high is
/// exact.
template <class T> GRIDFOLD_FN T scaled_log(T x, Pair<T> of_2, Pair<T> of_e) {
    const Binary<T> b = binary(x);
    const T f = b.m - T(1), tail = log_tail(f);
    const Pair<T> p = product(f, of_e.high), h = ordered_sum(b.exponent * of_2.high, p.high);
    return log_or_special(x,
                          h.high + (h.low + fma(b.exponent, of_2.low, fma(tail, of_e.high, fma(f, of_e.low, p.low)))));
}
/// ln 2 in two parts, of which the first has so few bits that its product with an exponent is exact.
template <class T>
inline constexpr Pair<T> ln2_short = {constant<T>(0x1.62e4p-1f, 0x1.62e42fefa38p-1),
                                      constant<T>(0x1.7f7d1cp-20f, 0x1.ef35793c7673p-45)};

template <class T> GRIDFOLD_FN T log(T x) {
    const Binary<T> b = binary(x);
    const T f = b.m - T(1);
    const Pair<T> h = ordered_sum(b.exponent * ln2_short<T>.high, f);
    return log_or_special(x, h.high + (h.low + fma(b.exponent, ln2_short<T>.low, log_tail(f))));
}
GRIDFOLD_FN f64 log2(f64 x) { return scaled_log(x, {1, 0}, {0x1.71547652b82fep0, 0x1.777d0ffda0d24p-56}); }
GRIDFOLD_FN f32 log2(f32 x) {
    const Binary<f32> b = binary(x);
    constexpr Pair<f32> of_e = {0x1.715476p0f, 0x1.4ae0cp-26f};
    const f32 f = b.m - 1.0f;
    return log_or_special(x, b.exponent + fma(f, of_e.high, fma(f * f, log2_rest(f), f * of_e.low)));
}
template <class T> GRIDFOLD_FN T log10(T x) {
    return scaled_log(
        x, Pair<T>{constant<T>(0x1.3442p-2f, 0x1.34413509f78p-2), constant<T>(-0x1.95ec1p-19f, 0x1.fef311f12b358p-46)},
        Pair<T>{constant<T>(0x1.bcb7b2p-2f, 0x1.bcb7b1526e50ep-2),
                constant<T>(-0x1.5b235ep-27f, 0x1.95355baaafad3p-57)});
}

/// log(u) + doublings ln 2, for a normal u.high > 0, precise near u = 1
template <class T> GRIDFOLD_FN T log_of_pair(Pair<T> u, T doublings) {
    const Binary<T> b = binary<false>(u.high);
    const T low = u.low * power_of_2<T>(Bits<T>(3 * Real<T>::bias) - b.biased);
    const T exponent = b.exponent + doublings;
    const Pair<T> f = ordered_sum(b.m - T(1), low), h = ordered_sum(exponent * ln2_short<T>.high, f.high);
    return h.high + (h.low + fma(exponent, ln2_short<T>.low,
                                 log_tail(f.high) + fma(-f.low, fma(-f.high, f.high, f.high), f.low)));
}
template <class T> GRIDFOLD_FN T log1p(T x) {
    T y = log_of_pair(sum(T(1), x), T(0));
    y = pick(x < infinity<T>(), y, x);
    y = pick(x == T(0), x, y);
    y = pick(x == T(-1), -infinity<T>(), y);
    return pick(x < T(-1), quiet_nan<T>(), y);
}

/// Below, asinh(x) and atanh(x) are x; above, x² ± 1 is x².
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
    const T y = pick(x < infinity<T>(), log_of_sum(x, root(t)), x);
    return pick(x < T(1), quiet_nan<T>(), y);
}
/// log1p(2a / (1 − a)) / 2
template <class T> GRIDFOLD_FN T atanh(T x) {
    const T a = abs(x);
    const Pair<T> q = quotient(Pair<T>{T(2) * a, T(0)}, ordered_sum(T(1), -a)), u = sum(T(1), q.high);
    T y = T(0.5) * log_of_pair(Pair<T>{u.high, u.low + q.low}, T(0));
    y = pick(a < hyperbolic_small<T>, a, y);
    y = with_sign_of(x, pick(a == T(1), infinity<T>(), y));
    return pick(a > T(1), quiet_nan<T>(), y);
}

} // namespace GRIDFOLD_NAMESPACE::elementary

namespace GRIDFOLD_NAMESPACE {
GRIDFOLD_FUNCTION_1(log)
GRIDFOLD_FUNCTION_1(log2)
GRIDFOLD_FUNCTION_1(log10)
GRIDFOLD_FUNCTION_1(log1p)
GRIDFOLD_FUNCTION_1(asinh)
GRIDFOLD_FUNCTION_1(acosh)
GRIDFOLD_FUNCTION_1(atanh)
} // namespace GRIDFOLD_NAMESPACE
GRIDFOLD_EXACT_END
