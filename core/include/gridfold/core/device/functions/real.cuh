// What the elementary functions are built from: the bits of f32 and f64, polynomials, and numbers of twice the
// precision as pairs. Only + − × ÷, sqrt, fma and operations on integers, which give the same bits on every CPU and
// GPU, or what computes the same there (inverse_of, root_of), and no branch, so that loops vectorise. Depends on
// mathematics.cuh.
//
// Each file of this folder defines templates over f32 and f64 in the namespace `elementary`, and exports its functions
// at its end. A kernel's text contains a file only if it needs one of them (core/device_text.hpp).
//
// Source of the error-free sums and products: Muller et al., Handbook of Floating-Point Arithmetic, chapter 4.
#pragma once

/// Exports functions of one and two operands to the prelude's namespace.
#define GRIDFOLD_FUNCTION_1(name)                               \
    GRIDFOLD_FN f32 name(f32 x) { return elementary::name(x); } \
    GRIDFOLD_FN f64 name(f64 x) { return elementary::name(x); }
#define GRIDFOLD_FUNCTION_2(name)                                         \
    GRIDFOLD_FN f32 name(f32 x, f32 y) { return elementary::name(x, y); } \
    GRIDFOLD_FN f64 name(f64 x, f64 y) { return elementary::name(x, y); }
/// The same of functions with a form for plain operands that is worth asking for on a GPU; called() of lanes.cuh takes
/// them as structs.
#define GRIDFOLD_PLAIN_FUNCTION_1(name) \
    GRIDFOLD_FUNCTION_1(name)           \
    GRIDFOLD_CALLABLE(name)
#define GRIDFOLD_PLAIN_FUNCTION_2(name) \
    GRIDFOLD_FUNCTION_2(name)           \
    GRIDFOLD_CALLABLE(name)
#define GRIDFOLD_CALLABLE(name)                                                                                      \
    namespace callable {                                                                                             \
    struct name {                                                                                                    \
        template <class... T> GRIDFOLD_FN static f32 of_any(T... x) { return elementary::name(x...); }               \
        template <class... T> GRIDFOLD_FN static f32 of_plain(T... x) {                                              \
            return elementary::name<elementary::Operands::plain>(x...);                                              \
        }                                                                                                            \
        template <class... T> GRIDFOLD_FN static bool is_plain(T... x) { return elementary::name##_is_plain(x...); } \
    };                                                                                                               \
    }

GRIDFOLD_EXACT_BEGIN
namespace GRIDFOLD_NAMESPACE::elementary {

template <class T> struct Real;
template <> struct Real<f32> {
    using Bits = u32;
    using Int = i32;
    static constexpr int fraction = 23, bias = 127;
    static constexpr f32 two_fraction = 0x1p23f, least_normal = 0x1p-126f;
    static constexpr f32 to_whole =
        0x1.8p23f; ///< x + to_whole − to_whole is the whole number nearest to x, for |x| < 2^22
    static constexpr u32 whole_0 = 0x4b400000u; ///< the bits of to_whole; those of n + to_whole are whole_0 + n
};
template <> struct Real<f64> {
    using Bits = u64;
    using Int = i64;
    static constexpr int fraction = 52, bias = 1023;
    static constexpr f64 two_fraction = 0x1p52, least_normal = 0x1p-1022;
    static constexpr f64 to_whole = 0x1.8p52;
    static constexpr u64 whole_0 = 0x4338000000000000ull;
};
/// What a function is called with: any operands, or plain ones alone, which need no limits, no second factor of a power
/// of 2 and no special cases; of sin, cos and tan those that are not large. Where name_is_plain(), both have the same
/// bits.
enum class Operands { any, plain };
template <class T> using Bits = typename Real<T>::Bits;
template <class T> using Int = typename Real<T>::Int;

/// The constant of this type.
template <class T> GRIDFOLD_FN constexpr T constant(f32 of_f32, f64 of_f64) {
    if constexpr (sizeof(T) == 4)
        return of_f32;
    else
        return of_f64;
}

/// yes or no, without a branch: chosen by bits, as compilers keep the branch of `? :` where an operand is computed.
template <class T> GRIDFOLD_FN Bits<T> choose_bits(bool condition, Bits<T> yes, Bits<T> no) {
#if defined(__CUDA_ARCH__)
    return condition ? yes : no;
#else
    const Bits<T> mask = Bits<T>(0) - Bits<T>(condition);
    return (yes & mask) | (no & ~mask);
#endif
}
template <class T> GRIDFOLD_FN T pick(bool condition, T yes, T no) {
    return from_bits(choose_bits<T>(condition, to_bits(yes), to_bits(no)));
}
/// x, or `low` if that is greater; NaN stays NaN.
template <class T> GRIDFOLD_FN T at_least(T x, T low) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (sizeof(T) == 4) return maximum(x, low); // one instruction there
#endif
    return pick(x < low, low, x);
}
/// x, or `high` if that is less; NaN stays NaN.
template <class T> GRIDFOLD_FN T at_most(T x, T high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (sizeof(T) == 4) return minimum(x, high); // one instruction there
#endif
    return pick(x > high, high, x);
}
/// x limited to low … high; NaN stays NaN.
template <class T> GRIDFOLD_FN T between(T x, T low, T high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (sizeof(T) == 4) return clamp(x, low, high); // two instructions there
#endif
    return at_most(at_least(x, low), high);
}
/// The lesser of two numbers that are not negative, as integers.
template <class T> GRIDFOLD_FN T lesser(T a, T b) { return from_bits(smaller(to_bits(a), to_bits(b))); }
/// That of a and b which `one` is not.
template <class T> GRIDFOLD_FN T other(T a, T b, T one) {
    return from_bits(Bits<T>(to_bits(a) ^ to_bits(b) ^ to_bits(one)));
}
/// size with the sign of x, for size ≥ 0.
template <class T> GRIDFOLD_FN T with_sign_of(T x, T size) {
    return from_bits(Bits<T>(to_bits(size) | (to_bits(x) & to_bits(T(-0.0)))));
}
/// y, with its sign changed where `sign` has the sign bit.
template <class T> GRIDFOLD_FN T flipped_by(Bits<T> sign, T y) {
    return from_bits(Bits<T>(to_bits(y) ^ (sign & to_bits(T(-0.0)))));
}
/// −x if the condition holds, else x.
template <class T> GRIDFOLD_FN T negated_if(bool condition, T x) {
#if defined(__CUDA_ARCH__)
    return condition ? -x : x;
#else
    return flipped_by(choose_bits<T>(condition, to_bits(T(-0.0)), 0), x);
#endif
}
template <class T> inline constexpr Bits<T> whole_0 = Real<T>::whole_0;
/// a · 2^n, where `whole` are the bits of n + to_whole. By two factors: the result may be denormal or infinite.
/// |n| < 2 bias. Of plain operands, a and the result are normal numbers unless n = 0: n is added to the exponent of a,
/// and nothing else is left of `whole` when it is shifted to the place of the exponent.
template <Operands operands = Operands::any, class T> GRIDFOLD_FN T scaled(T a, Bits<T> whole) {
    if constexpr (operands == Operands::plain) return from_bits(Bits<T>(to_bits(a) + (whole << Real<T>::fraction)));
    const Bits<T> exponent = whole - whole_0<T> + Bits<T>(2 * Real<T>::bias), half = exponent >> 1;
    return a * from_bits(Bits<T>(half << Real<T>::fraction)) *
           from_bits(Bits<T>((exponent - half) << Real<T>::fraction));
}
/// n − bias, where n are the bits above the fraction: the exponent of a positive number with these bits. They become
/// the low bits of 2^fraction + n, because AVX2 has no conversion from i64.
template <class T> GRIDFOLD_FN T exponent_in(Bits<T> bits, int bias = Real<T>::bias) {
    return from_bits(Bits<T>((bits >> Real<T>::fraction) | to_bits(Real<T>::two_fraction))) -
           (Real<T>::two_fraction + T(bias));
}
/// 1 / d, for d and a result that are normal numbers; unspecified for others, but NaN for NaN. On a GPU that of an f32
/// is what CUDA's division does with such operands, the approximation and two fma, without its branch for others:
/// function_errors tries all f32.
template <class T> GRIDFOLD_FN T inverse_of(T d) {
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(T) == 4) {
        f32 y;
        asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(d));
        return fma(y, fma(-d, y, 1.0f), y);
    }
#endif
    return T(1) / d;
}
/// sqrt(a), for a = 0 or 2^-100 ≤ a < infinity; unspecified for others, but NaN for a < 0 and NaN. On GPUs as above.
template <class T> GRIDFOLD_FN T root_of(T a) {
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(T) == 4) {
        f32 y;
        asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(a));
        const f32 s = a * y, rest = fma(-s, s, a);
        return a == 0.0f ? 0.0f : fma(rest, 0.5f * y, s);
    }
#endif
    return sqrt(a);
}
/// Horner's scheme over c[skip], c[skip + stride], …
template <int stride, int skip, class T, class... Rest> GRIDFOLD_FN T horner(T x, T c, Rest... rest) {
    if constexpr (skip > 0)
        return horner<stride, skip - 1>(x, rest...);
    else if constexpr (int(sizeof...(rest)) < stride)
        return c;
    else
        return fma(x, horner<stride, stride - 1>(x, rest...), c);
}
/// Four of Horner's schemes over x⁴
template <class T, class... C> GRIDFOLD_FN T by_fours(T x, C... c) {
    const T x2 = x * x, x4 = x2 * x2;
    return fma(x2, fma(x, horner<4, 3>(x4, c...), horner<4, 2>(x4, c...)),
               fma(x, horner<4, 1>(x4, c...), horner<4, 0>(x4, c...)));
}
template <class T, class... C> GRIDFOLD_FN T long_polynomial(T x, T c0, T c1, C... rest) {
    return fma(x, fma(x, by_fours(x, rest...), c1), c0);
}
/// c + c[1] x + c[2] x² + …; a long one by several of Horner's schemes, as one chain of fma would wait for their
/// latency.
template <class T, class... C> GRIDFOLD_FN T polynomial(T x, T c, C... rest) {
    if constexpr (sizeof...(rest) < 9)
        return horner<1, 0>(x, c, rest...);
    else if constexpr (sizeof...(rest) < 12)
        return fma(x, horner<2, 1>(x * x, c, rest...), horner<2, 0>(x * x, c, rest...));
    else
        return long_polynomial(x, c, rest...);
}

/// high + low, not evaluated: |low| is at most half a unit in the last place of high, or a little more.
template <class T> struct Pair {
    T high, low;
};

/// a + b without error.
template <class T> GRIDFOLD_FN Pair<T> sum(T a, T b) {
    const T s = a + b, t = s - a;
    return {s, (a - (s - t)) + (b - t)};
}
/// a + b without error, for |a| ≥ |b| or a = 0.
template <class T> GRIDFOLD_FN Pair<T> ordered_sum(T a, T b) {
    const T s = a + b;
    return {s, b - (s - a)};
}
/// a · b without error, unless the low part is denormal.
template <class T> GRIDFOLD_FN Pair<T> product(T a, T b) {
    const T p = a * b;
    return {p, fma(a, b, -p)};
}
template <class T> GRIDFOLD_FN Pair<T> product(Pair<T> a, Pair<T> b) {
    const Pair<T> p = product(a.high, b.high);
    return {p.high, fma(a.high, b.low, fma(a.low, b.high, p.low))};
}
/// n / d, where d and the quotient are normal numbers.
template <class T> GRIDFOLD_FN Pair<T> quotient(Pair<T> n, Pair<T> d) {
    const T inverse = inverse_of(d.high), q = n.high * inverse;
    const T rest = fma(-q, d.low, fma(-q, d.high, n.high) + n.low);
    return {q, rest * inverse};
}
template <class T> GRIDFOLD_FN Pair<T> quotient(T n, T d) {
    const T inverse = inverse_of(d), q = n * inverse;
    return {q, fma(-q, d, n) * inverse};
}
/// 1 / (2 sqrt(a)) with a relative error of 0.035, for a normal a; a finite number for 0.
GRIDFOLD_FN f32 rough_half_over_root(f32 a) { return from_bits(0x5eb75c00u - (to_bits(a) >> 1)); }
GRIDFOLD_FN f64 rough_half_over_root(f64 a) { return from_bits(u64(0x5fd6eb4000000000ull) - (to_bits(a) >> 1)); }
/// sqrt(a), for a ≥ 2^-100.
template <class T> GRIDFOLD_FN Pair<T> root(Pair<T> a) {
    const T s = root_of(a.high), rest = fma(-s, s, a.high) + a.low;
    return {s, rest * inverse_of(s + s)};
}
/// The same, where the low part need not be exact: it makes up for most of what rounding the high part lost.
template <class T> GRIDFOLD_FN Pair<T> quick_root(Pair<T> a) {
    const T s = root_of(a.high), rest = fma(-s, s, a.high) + a.low;
    return {s, rest * rough_half_over_root(a.high)};
}

} // namespace GRIDFOLD_NAMESPACE::elementary
GRIDFOLD_EXACT_END
