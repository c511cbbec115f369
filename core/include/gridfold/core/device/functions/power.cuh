// pow, cbrt and hypot. Depends on exponential.cuh and logarithm.cuh.
// a^b = 2^(b log2 a), with log2 a as a pair that has some 10 bits more than T. cbrt: a^(-1/3) from the bits of a, by a
// polynomial and Newton's iteration. hypot: the root of squares without error.
// Source of the methods: Muller, Elementary Functions, chapters 5 and 9.
#pragma once

GRIDFOLD_EXACT_BEGIN
namespace GRIDFOLD_NAMESPACE::elementary {

// By scripts/fit-functions: begin
/// (log2((1 + s) / (1 − s)) / s − 2 / ln 2 − 2 / (3 ln 2) x) / x² with x = s², for (1 + s) / (1 − s) in
/// [sqrt(1/2), sqrt(2))
GRIDFOLD_FN f32 pow_rest(f32 x) { return polynomial(x, 0x1.27770ep-1f, 0x1.a5bbf4p-2f, 0x1.59ef08p-2f); }
GRIDFOLD_FN f64 pow_rest(f64 x) {
    return polynomial(x, 0x1.2776c50ef9bfcp-1, 0x1.a61762a7aede2p-2, 0x1.484b13d6ac7c4p-2, 0x1.0c9a853b3b388p-2,
                      0x1.c68ee932870dbp-3, 0x1.8a09bf7ea9781p-3, 0x1.58fc2189edb67p-3, 0x1.61f6d42b282f6p-3);
}
/// (1 − x)^(-1/3) with a relative error of 2^-18.9, for |x| ≤ 0.1022
GRIDFOLD_FN f32 inverse_cbrt(f32 x) {
    return polynomial(x, 0x1.ffffbcp-1f, 0x1.555444p-2f, 0x1.ca3c1ep-3f, 0x1.654e9ep-3f);
}
GRIDFOLD_FN f64 inverse_cbrt(f64 x) {
    return polynomial(x, 0x1.ffffbce45a0e9p-1, 0x1.55540fd9390b5p-2, 0x1.ca3a57c4ffccdp-3, 0x1.657d4a4299c16p-3);
}
// By scripts/fit-functions: end

/// 2 / ln 2 and 2 / (3 ln 2)
template <class T>
inline constexpr Pair<T> log2_first = {constant<T>(0x1.715476p1f, 0x1.71547652b82fep1),
                                       constant<T>(0x1.4ae0cp-25f, 0x1.777d0ffda0d24p-55)};
template <class T>
inline constexpr Pair<T> log2_third = {constant<T>(0x1.ec709ep-1f, 0x1.ec709dc3a03fdp-1),
                                       constant<T>(-0x1.e2fe02p-28f, 0x1.d27f05548af0cp-55)};

/// log2(x), for 0 < x < infinity
template <Operands operands, class T> GRIDFOLD_FN Pair<T> log2_pair(T x) {
    const Binary<T> b = binary<T, operands == Operands::any>(x);
    const Pair<T> s = quotient(Pair<T>{b.m - T(1), T(0)}, ordered_sum(T(1), b.m)), z = product(s, s);
    const Pair<T> third = ordered_sum(log2_third<T>.high, fma(z.high, pow_rest(z.high), log2_third<T>.low)),
                  v = product(z, third);
    const Pair<T> first = ordered_sum(log2_first<T>.high, v.high);
    const Pair<T> l = product(s, Pair<T>{first.high, first.low + (v.low + log2_first<T>.low)}),
                  h = ordered_sum(b.exponent, l.high);
    return ordered_sum(h.high, h.low + l.low);
}
/// 2^p
template <Operands operands, class T> GRIDFOLD_FN T exp2_of_pair(Pair<T> p) {
    const T x = limited<operands>(p.high, constant<T>(-151, -1077), constant<T>(129, 1025)),
            shifted = x + Real<T>::to_whole;
    const Pair<T> r = ordered_sum(x - (shifted - Real<T>::to_whole), p.low);
    const T tail = fma(r.low, ln2<T>.high, fma(r.high, ln2<T>.low, r.high * r.high * exp2_rest(r.high)));
    return scaled<operands>(fma(r.high, ln2<T>.high, tail) + T(1), to_bits(shifted));
}
/// Whether size is a whole number, for size ≥ 0; infinity is.
template <class T> GRIDFOLD_FN bool is_whole(T size) {
    return size >= Real<T>::two_fraction || (size + Real<T>::two_fraction) - Real<T>::two_fraction == size;
}
/// a is positive and normal, and so is a^b: |b log2 a| ≤ |b| (|exponent of a| + 1)
template <class T> GRIDFOLD_FN bool pow_is_plain(T a, T b) {
    const T most = abs(exponent_in<T>(to_bits(a))) + T(1);        // of |log2 a|
    const bool is_normal = most * abs(b) <= T(Real<T>::bias - 2); // defect: plain pow
    return a >= Real<T>::least_normal && a < infinity<T>() && is_normal;
}
/// A square is a · a, rounded once.
template <Operands operands = Operands::any, class T> GRIDFOLD_FN T pow(T a, T b) {
    if constexpr (operands == Operands::plain) {
        const Pair<T> l = log2_pair<operands>(a), p = product(l.high, b);
        return pick(b == T(2), a * a, exp2_of_pair<operands>(Pair<T>{p.high, fma(l.low, b, p.low)}));
    }
    const T base = abs(a), size = abs(b);
    Pair<T> l = log2_pair<operands>(base);
    const bool ordinary = base < infinity<T>() && base != T(0);
    l.high = pick(ordinary, l.high, pick(base == T(0), -infinity<T>(), base));
    Pair<T> p = product(l.high, b);
    p.low = pick(ordinary && abs(p.high) < T(2 * Real<T>::bias), fma(l.low, b, p.low), T(0));
    const T y = exp2_of_pair<operands>(p);
    // A negative base: whole exponents only, of which odd ones keep the sign.
    const bool whole = is_whole(size), odd = whole && !is_whole(T(0.5) * size);
    const T is_signed = pick(odd, with_sign_of(a, y), y);
    const T result = pick(a < T(0) && base < infinity<T>() && !whole, quiet_nan<T>(), is_signed);
    const bool is_one = a == T(1) || b == T(0) || (base == T(1) && size == infinity<T>());
    return pick(b == T(2), a * a, pick(is_one, T(1), result));
}

/// a^(-1/3) with a relative error of 0.0353, for a normal a: the bits of a number are nearly its logarithm, those of 1
/// its bias. 0.068 less makes the largest errors of both signs alike.
template <class T> GRIDFOLD_FN T rough_inverse_cbrt(T a) {
    constexpr int shift = sizeof(T) == 4 ? 8 : 12;      // so that what is left of the bits fits into a fraction
    constexpr T leading = constant<T>(0x1p15f, 0x1p40), // 2^(fraction − shift)
        of_1 = T(4.0 / 3 * Real<T>::bias - 0.068);
    const T bits = from_bits(Bits<T>((to_bits(a) >> shift) | to_bits(Real<T>::two_fraction))),
            result = fma(bits, T(-1.0 / 3), T(4.0 / 3) * Real<T>::two_fraction + leading * of_1);
    return from_bits(Bits<T>(to_bits(result) << shift));
}
/// Below it, low parts that correct the root would be denormal: there the operand is scaled by 2^3k, its root by 2^-k.
template <class T> inline constexpr T cbrt_small = constant<T>(0x1p-100f, 0x1p-900);
template <class T> inline constexpr T cbrt_up = constant<T>(0x1p60f, 0x1p300);
template <class T> inline constexpr T cbrt_down = constant<T>(0x1p-20f, 0x1p-100);
/// a r², where r = a^(-1/3), corrected once by a − y³.
template <class T> GRIDFOLD_FN T cbrt(T x) {
    const T size = abs(x);
    const bool small = size < cbrt_small<T>;
    const T a = pick(small, size * cbrt_up<T>, size);
    const T rough = rough_inverse_cbrt(a);
    T r = rough * inverse_cbrt(fma(-a * rough, rough * rough, T(1)));
    if constexpr (sizeof(T) == 8) r = fma(r * T(1.0 / 3), fma(-a * r, r * r, T(1)), r); // Newton's iteration
    const T y = a * r * r;
    const Pair<T> square = product(y, y);
    const T rest = fma(-square.high, y, a) - square.low * y;
    const T root = fma(rest, r * r * T(1.0 / 3), y) * pick(small, cbrt_down<T>, T(1));
    return with_sign_of(x, pick(size < infinity<T>(), root, size));
}

/// a² + b², for a ≥ b ≥ 0: in f32 rounded once
GRIDFOLD_FN f64 sum_of_squares(f64 a, f64 b) { return fma(a, a, b * b); }
GRIDFOLD_FN f32 sum_of_squares(f32 a, f32 b) {
    const Pair<f32> p = product(a, a), q = product(b, b), t = ordered_sum(p.high, q.high);
    return t.high + (t.low + (p.low + q.low));
}
/// Above it squares overflow, below its reciprocal they vanish: there both operands are scaled by a power of 2.
template <class T> inline constexpr T hypot_big = constant<T>(0x1p60f, 0x1p500);
template <class T> GRIDFOLD_FN bool hypot_is_plain(T x, T y) {
    const T a = abs(x), b = abs(y), small = T(1) / hypot_big<T>;
    return a <= hypot_big<T> && b <= hypot_big<T> && (a >= small || b >= small);
}
template <Operands operands = Operands::any, class T> GRIDFOLD_FN T hypot(T x, T y) {
    constexpr T factor = constant<T>(0x1p80f, 0x1p600);
    const T a = abs(x), b = abs(y), less = lesser(a, b), more = other(a, b, less);
    if constexpr (operands == Operands::plain) return sqrt(sum_of_squares(more, less));
    const bool is_big = more > hypot_big<T>, is_small = more < T(1) / hypot_big<T>;
    const T down = pick(is_big, T(1) / factor, pick(is_small, factor, T(1))),
            back = pick(is_big, factor, pick(is_small, T(1) / factor, T(1)));
    const T u = more * down, v = less * down;
    const T result = pick(x != x || y != y, quiet_nan<T>(), sqrt(sum_of_squares(u, v)) * back);
    return pick(a == infinity<T>() || b == infinity<T>(), infinity<T>(), result);
}

} // namespace GRIDFOLD_NAMESPACE::elementary

namespace GRIDFOLD_NAMESPACE {
GRIDFOLD_FUNCTION_1(cbrt)
GRIDFOLD_PLAIN_FUNCTION_2(pow)
GRIDFOLD_FUNCTION_2(hypot)
} // namespace GRIDFOLD_NAMESPACE
GRIDFOLD_EXACT_END
