// Rounding, division, square roots and integer powers. Depends on arithmetic.cuh.
#pragma once

// Calls a function of the mathematics library by its C name, without any header on either side. Only functions whose
// result is exact or correctly rounded: they give the same bits everywhere.
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

// Roots and powers --------------------------------------------------------------------------------------------------

GRIDFOLD_MATH_1(sqrt)
/// 1 / sqrt(a): two exact operations, never the approximation.
GRIDFOLD_FN f32 rsqrt(f32 a) { return 1.0f / sqrt(a); }
GRIDFOLD_FN f64 rsqrt(f64 a) { return 1.0 / sqrt(a); }
/// a · b + c, rounded once; integers wrap.
GRIDFOLD_FN f32 fma(f32 a, f32 b, f32 c) { return GRIDFOLD_LIBM(fmaf)(a, b, c); }
GRIDFOLD_FN f64 fma(f64 a, f64 b, f64 c) { return GRIDFOLD_LIBM(fma)(a, b, c); }
template <class T> GRIDFOLD_FN T fma(T a, T b, T c) { return add(mul(a, b), c); }

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

} // namespace GRIDFOLD_NAMESPACE
GRIDFOLD_EXACT_END

#undef GRIDFOLD_MATH_1
#undef GRIDFOLD_MATH_2
#undef GRIDFOLD_LIBM
