// Rounding, division and mathematics. Depends on arithmetic.cuh.
#pragma once

// Calls a function of the mathematics library by its C name, without any header on either side.
#if defined(__CUDA_ARCH__)
#define GRIDFOLD_LIBM(function) ::function
#else
#define GRIDFOLD_LIBM(function) __builtin_##function
#endif
#define GRIDFOLD_MATH_1(name)                                         \
    GRIDFOLD_FN f32 name(f32 x) { return GRIDFOLD_LIBM(name##f)(x); } \
    GRIDFOLD_FN f64 name(f64 x) { return GRIDFOLD_LIBM(name)(x); }
#define GRIDFOLD_MATH_2(name)                                                   \
    GRIDFOLD_FN f32 name(f32 x, f32 y) { return GRIDFOLD_LIBM(name##f)(x, y); } \
    GRIDFOLD_FN f64 name(f64 x, f64 y) { return GRIDFOLD_LIBM(name)(x, y); }

GRIDFOLD_EXACT_BEGIN
namespace GRIDFOLD_NAMESPACE {

// Rounding to an integer; integers are returned unchanged ------------------------------------------------------------

GRIDFOLD_MATH_1(floor)
GRIDFOLD_MATH_1(ceil)
GRIDFOLD_MATH_1(trunc)
GRIDFOLD_MATH_1(rint) // half to even
template <class T> GRIDFOLD_FN T floor(T a) { return a; }
template <class T> GRIDFOLD_FN T ceil(T a) { return a; }
template <class T> GRIDFOLD_FN T trunc(T a) { return a; }
template <class T> GRIDFOLD_FN T rint(T a) { return a; }

// Division -----------------------------------------------------------------------------------------------------------

GRIDFOLD_MATH_2(copysign)
GRIDFOLD_MATH_2(fmod) // exact on both sides

/// a mod b with the sign of b. x % 0 is 0 for integers and NaN for floats; MIN % −1 is 0.
template <class T> GRIDFOLD_FN T remainder(T a, T b) {
    if constexpr (is_floating<T>) {
        const T rest = fmod(a, b);
        if (rest == T(0)) return copysign(T(0), b);
        return (rest < T(0)) != (b < T(0)) && b != T(0) ? rest + b : rest;
    } else if constexpr (is_signed<T>) {
        if (b == T(0) || b == T(-1)) return T(0);
        const T rest = T(a % b);
        return rest != T(0) && (rest < T(0)) != (b < T(0)) ? T(rest + b) : rest;
    } else {
        return b == T(0) ? T(0) : T(a % b);
    }
}
/// The floor of a / b, as NumPy's floor_divide computes it. x floor_div 0 is 0 for integers and a / b for floats;
/// MIN floor_div −1 is MIN.
template <class T> GRIDFOLD_FN T floor_div(T a, T b) {
    if constexpr (is_floating<T>) {
        if (b == T(0)) return a / b;
        const T rest = fmod(a, b);
        T quotient = (a - rest) / b; // a whole number before rounding
        if (rest != T(0) && (b < T(0)) != (rest < T(0))) quotient = quotient - T(1);
        if (quotient == T(0)) return copysign(T(0), a / b);
        const T whole = floor(quotient);
        return quotient - whole > T(0.5) ? whole + T(1) : whole;
    } else if constexpr (is_signed<T>) {
        if (b == T(0)) return T(0);
        if (b == T(-1)) return neg(a);
        const T quotient = T(a / b), rest = T(a % b);
        return rest != T(0) && (rest < T(0)) != (b < T(0)) ? T(quotient - T(1)) : quotient;
    } else {
        return b == T(0) ? T(0) : T(a / b);
    }
}

// Mathematics, exact -------------------------------------------------------------------------------------------------

GRIDFOLD_MATH_1(sqrt)
/// 1 / sqrt(a): two exact operations, never the approximation.
GRIDFOLD_FN f32 rsqrt(f32 a) { return 1.0f / sqrt(a); }
GRIDFOLD_FN f64 rsqrt(f64 a) { return 1.0 / sqrt(a); }
/// a · b + c, rounded once; integers wrap.
GRIDFOLD_FN f32 fma(f32 a, f32 b, f32 c) { return GRIDFOLD_LIBM(fmaf)(a, b, c); }
GRIDFOLD_FN f64 fma(f64 a, f64 b, f64 c) { return GRIDFOLD_LIBM(fma)(a, b, c); }
template <class T> GRIDFOLD_FN T fma(T a, T b, T c) { return add(mul(a, b), c); }

// Mathematics, by the libraries: the sides differ by the ulps that map.def states ------------------------------------

GRIDFOLD_MATH_1(cbrt)
GRIDFOLD_MATH_1(exp)
GRIDFOLD_MATH_1(exp2)
GRIDFOLD_MATH_1(expm1)
GRIDFOLD_MATH_1(log)
GRIDFOLD_MATH_1(log2)
GRIDFOLD_MATH_1(log10)
GRIDFOLD_MATH_1(log1p)
GRIDFOLD_MATH_1(sin)
GRIDFOLD_MATH_1(cos)
GRIDFOLD_MATH_1(tan)
GRIDFOLD_MATH_1(asin)
GRIDFOLD_MATH_1(acos)
GRIDFOLD_MATH_1(atan)
GRIDFOLD_MATH_1(sinh)
GRIDFOLD_MATH_1(cosh)
GRIDFOLD_MATH_1(tanh)
GRIDFOLD_MATH_1(asinh)
GRIDFOLD_MATH_1(acosh)
GRIDFOLD_MATH_1(atanh)
GRIDFOLD_MATH_1(erf)
GRIDFOLD_MATH_1(erfc)
GRIDFOLD_MATH_2(hypot)
GRIDFOLD_MATH_2(atan2)

/// a^b. A square is a · a: rounded once, and without a call.
GRIDFOLD_FN f32 pow(f32 a, f32 b) { return b == 2.0f ? a * a : GRIDFOLD_LIBM(powf)(a, b); }
GRIDFOLD_FN f64 pow(f64 a, f64 b) { return b == 2.0 ? a * a : GRIDFOLD_LIBM(pow)(a, b); }
/// a^b of integers, wrapping. A negative exponent (where NumPy raises) gives the truncated quotient: 0 unless a is ±1.
template <class T> GRIDFOLD_FN T pow(T a, T b) {
    if constexpr (is_signed<T>) {
        if (b < T(0)) return a == T(1) ? T(1) : a == T(-1) ? T((b & T(1)) != T(0) ? -1 : 1) : T(0);
    }
    Unsigned<T> power = 1, square = Unsigned<T>(a);
    for (Unsigned<T> rest = Unsigned<T>(b); rest != 0; rest >>= 1) {
        if ((rest & 1u) != 0) power *= square;
        square *= square;
    }
    return T(power);
}

/// 1 / (1 + e^−a) without overflow.
template <class T> GRIDFOLD_FN T sigmoid(T a) {
    const T e = exp(-abs(a));
    return (a < T(0) ? e : T(1)) / (T(1) + e);
}

} // namespace GRIDFOLD_NAMESPACE
GRIDFOLD_EXACT_END

#undef GRIDFOLD_MATH_1
#undef GRIDFOLD_MATH_2
#undef GRIDFOLD_LIBM
