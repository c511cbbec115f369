// What every generated kernel starts with: types, exact arithmetic and mathematics, under names that the host compiler
// understands too. Header-free: NVRTC reads it as it stands; the host includes it as a header.
//
// On the host it is `gf::device`, unless GRIDFOLD_NAMESPACE says otherwise: the CPU backend compiles it once for each
// instruction set, each in a namespace of its own, so that no inline function is shared between them.
//
// Both sides give the same bits for everything but the functions under "Mathematics, by the libraries". That needs
// contraction off (--fmad=false, -ffp-contract=off), rounding to nearest, and denormals
// kept. T is bool, an integer, f32 or f64 throughout.
#pragma once

// GRIDFOLD_FN marks a function for both sides. It is always inlined: the caller's flags (contraction, instruction set)
// hold for it, and no copy of it is left for the linker to share between files that differ in them.
#if defined(__CUDACC_RTC__)
#define GRIDFOLD_FN __device__ __forceinline__
#elif defined(__CUDACC__)
#define GRIDFOLD_FN __host__ __device__ __forceinline__
#else
#define GRIDFOLD_FN [[maybe_unused, gnu::always_inline]] inline
#endif
// clang takes exactness from where a definition stands: these keep -ffast-math and contraction off what is between
// them.
#if defined(__clang__) && !defined(__CUDACC__)
#define GRIDFOLD_EXACT_BEGIN _Pragma("float_control(precise, on, push)") _Pragma("clang fp contract(off)")
#define GRIDFOLD_EXACT_END _Pragma("float_control(pop)")
#else
#define GRIDFOLD_EXACT_BEGIN
#define GRIDFOLD_EXACT_END
#endif
#ifndef GRIDFOLD_NAMESPACE
#define GRIDFOLD_NAMESPACE gf::device
#endif

// A function of the mathematics library by its C name: nothing is included on either side.
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

// Types --------------------------------------------------------------------------------------------------------------

using i8 = signed char;
using i16 = short;
using i32 = int;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
#if defined(__INT64_TYPE__) // the host's std::int64_t, so that its arrays are read as what they are
using i64 = __INT64_TYPE__;
using u64 = __UINT64_TYPE__;
#else
using i64 = long long;
using u64 = unsigned long long;
#endif
using f32 = float;
using f64 = double;
static_assert(sizeof(i64) == 8 && sizeof(u64) == 8);

template <class T> inline constexpr bool is_bool = false;
template <> inline constexpr bool is_bool<bool> = true;
template <class T> inline constexpr bool is_floating = false;
template <> inline constexpr bool is_floating<f32> = true;
template <> inline constexpr bool is_floating<f64> = true;
template <class T> inline constexpr bool is_signed = T(-1) < T(1);
template <> inline constexpr bool is_signed<bool> = false;
template <class T> inline constexpr int bits_of = int(8 * sizeof(T));

template <bool choose, class Yes, class No> struct Choose {
    using type = Yes;
};
template <class Yes, class No> struct Choose<false, Yes, No> {
    using type = No;
};
/// The unsigned type that wrapping arithmetic of T is computed in: at least 32 bits, so that nothing is promoted to
/// int.
template <class T> using Unsigned = typename Choose<sizeof(T) == 8, u64, u32>::type;
/// The type that holds a T in a monoid's State: whole 32-bit words.
template <class T> using Word = typename Choose<sizeof(T) >= 4, T, typename Choose<is_signed<T>, i32, u32>::type>::type;

// Bits ---------------------------------------------------------------------------------------------------------------

#if defined(__CUDA_ARCH__)
GRIDFOLD_FN u32 to_bits(f32 x) { return ::__float_as_uint(x); }
GRIDFOLD_FN u64 to_bits(f64 x) { return u64(::__double_as_longlong(x)); }
GRIDFOLD_FN f32 from_bits(u32 bits) { return ::__uint_as_float(bits); }
GRIDFOLD_FN f64 from_bits(u64 bits) { return ::__longlong_as_double((long long)(bits)); }
/// The low word of (high:low) >> bits; bits < 32.
GRIDFOLD_FN u32 funnel_shift_right(u32 low, u32 high, u32 bits) { return ::__funnelshift_r(low, high, bits); }
/// `sum` and the four bytes, or two halves, of `word`. Devices have an instruction for it.
GRIDFOLD_FN i32 add_bytes(u32 word, i32 sum) { return ::__dp4a(int(word), 0x01010101, sum); }
GRIDFOLD_FN u32 add_bytes(u32 word, u32 sum) { return ::__dp4a(word, 0x01010101u, sum); }
GRIDFOLD_FN i32 add_halves(u32 word, i32 sum) { return ::__dp2a_lo(int(word), 0x0101, sum); }
GRIDFOLD_FN u32 add_halves(u32 word, u32 sum) { return ::__dp2a_lo(word, 0x0101u, sum); }
#else
GRIDFOLD_FN u32 to_bits(f32 x) { return __builtin_bit_cast(u32, x); }
GRIDFOLD_FN u64 to_bits(f64 x) { return __builtin_bit_cast(u64, x); }
GRIDFOLD_FN f32 from_bits(u32 bits) { return __builtin_bit_cast(f32, bits); }
GRIDFOLD_FN f64 from_bits(u64 bits) { return __builtin_bit_cast(f64, bits); }
GRIDFOLD_FN u32 funnel_shift_right(u32 low, u32 high, u32 bits) { return u32((u64(high) << 32 | low) >> bits); }
GRIDFOLD_FN i32 add_bytes(u32 word, i32 sum) {
    return sum + i8(word) + i8(word >> 8) + i8(word >> 16) + i8(word >> 24);
}
GRIDFOLD_FN u32 add_bytes(u32 word, u32 sum) {
    return sum + u8(word) + u8(word >> 8) + u8(word >> 16) + u8(word >> 24);
}
GRIDFOLD_FN i32 add_halves(u32 word, i32 sum) { return sum + i16(word) + i16(word >> 16); }
GRIDFOLD_FN u32 add_halves(u32 word, u32 sum) { return sum + u16(word) + u16(word >> 16); }
#endif

/// A word that orders as min and max do: −0 below +0, integers by value. NaN has no place; of floats 0 and ~0 are
/// nobody's, and read back as NaN. T has 32 bits.
template <class T> GRIDFOLD_FN u32 order_word(T x) {
    constexpr u32 sign = 0x80000000u;
    if constexpr (is_floating<T>)
        return (to_bits(x) & sign) != 0 ? ~to_bits(x) : to_bits(x) | sign;
    else
        return is_signed<T> ? u32(x) ^ sign : u32(x);
}
template <class T> GRIDFOLD_FN T from_order_word(u32 word) {
    constexpr u32 sign = 0x80000000u;
    if constexpr (is_floating<T>)
        return from_bits((word & sign) != 0 ? word & ~sign : ~word);
    else
        return T(is_signed<T> ? word ^ sign : word);
}

template <class T> GRIDFOLD_FN T infinity() {
    if constexpr (sizeof(T) == 4)
        return from_bits(u32(0x7f800000u));
    else
        return from_bits(u64(0x7ff0000000000000ull));
}
template <class T> GRIDFOLD_FN T quiet_nan() {
    if constexpr (sizeof(T) == 4)
        return from_bits(u32(0x7fc00000u));
    else
        return from_bits(u64(0x7ff8000000000000ull));
}

/// The value that no other is below: −∞, the least integer, false.
template <class T> GRIDFOLD_FN T lowest() {
    if constexpr (is_floating<T>)
        return -infinity<T>();
    else if constexpr (is_signed<T>)
        return T(Unsigned<T>(1) << (bits_of<T> - 1));
    else
        return T(0);
}
/// The value that no other is above: ∞, the greatest integer, true.
template <class T> GRIDFOLD_FN T highest() {
    if constexpr (is_floating<T>)
        return infinity<T>();
    else if constexpr (is_bool<T>)
        return true;
    else
        return T(~Unsigned<T>(0) >> (bits_of<Unsigned<T>> - bits_of<T> + (is_signed<T> ? 1 : 0)));
}

// Arithmetic: integers wrap; bool has or for + and and for × ---------------------------------------------------------

template <class T> GRIDFOLD_FN T add(T a, T b) {
    if constexpr (is_floating<T>)
        return a + b;
    else if constexpr (is_bool<T>)
        return a || b;
    else
        return T(Unsigned<T>(a) + Unsigned<T>(b));
}
// ptxas 13.0 takes a 16-bit negation for a 32-bit one where its result is widened: -(-32768) came out as 32768. 16-bit
// differences and products are therefore taken in 32 bits, where no compiler sees that they are negations.
#if defined(__CUDA_ARCH__)
GRIDFOLD_FN u32 sub_words(u32 a, u32 b) {
    u32 difference;
    asm("sub.u32 %0, %1, %2;" : "=r"(difference) : "r"(a), "r"(b));
    return difference;
}
GRIDFOLD_FN u32 mul_words(u32 a, u32 b) {
    u32 product;
    asm("mul.lo.u32 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
    return product;
}
#else
GRIDFOLD_FN u32 sub_words(u32 a, u32 b) { return a - b; }
GRIDFOLD_FN u32 mul_words(u32 a, u32 b) { return a * b; }
#endif
template <class T> GRIDFOLD_FN T sub(T a, T b) {
    if constexpr (is_floating<T>)
        return a - b;
    else if constexpr (sizeof(T) == 2)
        return T(sub_words(u32(a), u32(b)));
    else
        return T(Unsigned<T>(a) - Unsigned<T>(b));
}
template <class T> GRIDFOLD_FN T mul(T a, T b) {
    if constexpr (is_floating<T>)
        return a * b;
    else if constexpr (is_bool<T>)
        return a && b;
    else if constexpr (sizeof(T) == 2)
        return T(mul_words(u32(a), u32(b)));
    else
        return T(Unsigned<T>(a) * Unsigned<T>(b));
}
template <class T> GRIDFOLD_FN T neg(T a) {
    if constexpr (is_floating<T>)
        return -a;
    else
        return sub(T(0), a);
}
GRIDFOLD_FN f32 abs(f32 a) { return from_bits(to_bits(a) & 0x7fffffffu); }
GRIDFOLD_FN f64 abs(f64 a) { return from_bits(u64(to_bits(a) & 0x7fffffffffffffffull)); }
template <class T> GRIDFOLD_FN T abs(T a) {
    if constexpr (is_signed<T>)
        return a < T(0) ? neg(a) : a;
    else
        return a;
}

template <class T> GRIDFOLD_FN bool is_nan([[maybe_unused]] T a) {
    if constexpr (is_floating<T>)
        return a != a;
    else
        return false;
}
template <class T> GRIDFOLD_FN bool is_inf([[maybe_unused]] T a) {
    if constexpr (is_floating<T>)
        return abs(a) == infinity<T>();
    else
        return false;
}
template <class T> GRIDFOLD_FN bool is_finite([[maybe_unused]] T a) {
    if constexpr (is_floating<T>)
        return abs(a) < infinity<T>();
    else
        return true;
}

/// −1, 0 or 1; NaN stays.
template <class T> GRIDFOLD_FN T sign(T a) {
    if constexpr (is_floating<T>)
        return a > T(0) ? T(1) : a < T(0) ? T(-1) : a == T(0) ? T(0) : a;
    else if constexpr (is_signed<T>)
        return T((a > T(0)) - (a < T(0)));
    else
        return T(a != T(0));
}

/// The smaller; NaN if either is; −0 < +0.
template <class T> GRIDFOLD_FN T minimum(T a, T b) {
    if constexpr (is_floating<T>) {
        // Each choice returns its second operand on ties and NaN: together they keep a sign bit and a NaN.
        const T left = a < b ? a : b, right = b < a ? b : a;
        return from_bits(to_bits(left) | to_bits(right));
    } else {
        return b < a ? b : a;
    }
}
/// The larger; NaN if either is; −0 < +0.
template <class T> GRIDFOLD_FN T maximum(T a, T b) {
    if constexpr (is_floating<T>) {
        const T left = a > b ? a : b, right = b > a ? b : a;
        // Equal choices: x − 0. Zeros of both signs: −0 − −0 = +0. NaN: stays in the union.
        const auto differing = to_bits(left) ^ to_bits(right);
        return from_bits(to_bits(left) | differing) - from_bits(differing);
    } else {
        return a < b ? b : a;
    }
}
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
GRIDFOLD_FN f32 minimum(f32 a, f32 b) {
    f32 result;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}
GRIDFOLD_FN f32 maximum(f32 a, f32 b) {
    f32 result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}
#endif
/// Of integers, for constants too.
template <class T> GRIDFOLD_FN constexpr T smaller(T a, T b) { return a < b ? a : b; }
template <class T> GRIDFOLD_FN T clamp(T a, T low, T high) { return minimum(maximum(a, low), high); }

// Rounding to an integer; integers stay as they are ------------------------------------------------------------------

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
        T quotient = (a - rest) / b; // a whole number, but for rounding
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

// Bits of integers ---------------------------------------------------------------------------------------------------

template <class T> GRIDFOLD_FN T bitwise_not(T a) {
    if constexpr (is_bool<T>)
        return !a;
    else
        return T(~a);
}
/// a · 2^b, wrapping; a count below 0 or of all bits and more gives 0.
template <class T> GRIDFOLD_FN T shift_left(T a, T b) {
    const Unsigned<T> count = Unsigned<T>(b);
    return count < Unsigned<T>(bits_of<T>) ? T(Unsigned<T>(a) << count) : T(0);
}
/// The floor of a / 2^b; a count below 0 or of all bits and more gives 0, or −1 for a negative a.
template <class T> GRIDFOLD_FN T shift_right(T a, T b) {
    const Unsigned<T> count = Unsigned<T>(b);
    if constexpr (is_signed<T>)
        return T(a >> (count < Unsigned<T>(bits_of<T>) ? count : Unsigned<T>(bits_of<T> - 1)));
    else
        return count < Unsigned<T>(bits_of<T>) ? T(a >> count) : T(0);
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

/// a^b. A square is a · a, which is rounded once and takes no call.
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

// Conversions --------------------------------------------------------------------------------------------------------

/// x as To. Anything to bool: is it not 0? Integers wrap. Floats to integers truncate and saturate; NaN gives 0.
template <class To, class From> GRIDFOLD_FN To convert(From x) {
    if constexpr (is_bool<To>) {
        return x != From(0);
    } else if constexpr (is_floating<From> && !is_floating<To>) {
        const From low = From(lowest<To>()), above = From(highest<To>() / 2 + 1) * From(2); // both exact
        const bool fits = x >= low && x < above;
        const To whole = To(fits ? x : From(0));
        return fits ? whole : x >= above ? highest<To>() : x < low ? lowest<To>() : To(0);
    } else {
        return static_cast<To>(x);
    }
}

/// The bits of binary16 for x, to nearest, ties to even; NaN stays NaN.
GRIDFOLD_FN u16 f32_to_f16(f32 x) {
#if defined(__CUDA_ARCH__)
    u16 half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(x));
    return half;
#else
    const u32 magnitude = to_bits(x) & 0x7fffffffu, sign = (to_bits(x) >> 16) & 0x8000u;
    // From 2^16 on: infinity. Below, rebias the exponent and round off 13 bits; a carry runs into the exponent.
    const u32 capped = magnitude < 0x47800000u ? magnitude : 0x47800000u;
    const u32 normal = (capped - 0x38000000u + 0xfffu + ((capped >> 13) & 1u)) >> 13;
    // Below 2^−14: the sum with 0.5, whose last place is the half's, rounds in the adder.
    const u32 denormal = to_bits(from_bits(magnitude) + 0.5f) - 0x3f000000u;
    const u32 half = magnitude < 0x38800000u ? denormal : normal;
    return u16(sign | (magnitude > 0x7f800000u ? 0x7e00u : half));
#endif
}
GRIDFOLD_FN f32 f16_to_f32(u16 bits) {
#if defined(__CUDA_ARCH__)
    f32 x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
#else
    const u32 magnitude = bits & 0x7fffu, sign = u32(bits & 0x8000u) << 16;
    const u32 normal = (magnitude << 13) + (magnitude < 0x7c00u ? 0x38000000u : 0x70000000u);
    const u32 denormal = to_bits(f32(i32(magnitude)) * 0x1p-24f);
    return from_bits(sign | (magnitude < 0x400u ? denormal : normal));
#endif
}
/// The bits of bfloat16 for x, to nearest, ties to even; NaN stays NaN.
GRIDFOLD_FN u16 f32_to_bf16(f32 x) {
    const u32 bits = to_bits(x);
    const u32 rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return u16(x != x ? 0x7fc0u : rounded);
}
GRIDFOLD_FN f32 bf16_to_f32(u16 bits) { return from_bits(u32(bits) << 16); }

/// x as f32, rounded to odd where it is not exact: rounding that to f16 or bf16 is then rounding x once.
GRIDFOLD_FN f32 to_f32_odd(f64 x) {
    const f32 nearest = f32(x);
    const u32 bits = to_bits(nearest);
    const bool even_and_inexact = f64(nearest) != x && (bits & 1u) == 0;
    const u32 step = abs(f64(nearest)) > abs(x) ? 0xffffffffu : 1u;
    return from_bits(even_and_inexact ? bits + step : bits);
}
template <class T> GRIDFOLD_FN f32 to_f32_odd(T x) {
    if constexpr (is_floating<T> || sizeof(T) < 4) {
        return f32(x); // exact
    } else if constexpr (sizeof(T) == 4) {
        return to_f32_odd(f64(x));
    } else {
        // Beyond 2^53, to odd within the 53 bits that an f64 holds of any 64-bit integer.
        const T exact = T(x & ~T(0x7ff));
        const T odd = exact == x ? x : T(exact | T(0x800));
        const bool fits = x < T(1ll << 53) && (!is_signed<T> || x > neg(T(1ll << 53)));
        return to_f32_odd(f64(fits ? x : odd));
    }
}
/// x rounded once to the nearest f16 or bf16, widened to f32 again.
template <class T> GRIDFOLD_FN f32 round_f16(T x) { return f16_to_f32(f32_to_f16(to_f32_odd(x))); }
template <class T> GRIDFOLD_FN f32 round_bf16(T x) { return bf16_to_f32(f32_to_bf16(to_f32_odd(x))); }

} // namespace GRIDFOLD_NAMESPACE
GRIDFOLD_EXACT_END

#undef GRIDFOLD_MATH_1
#undef GRIDFOLD_MATH_2
#undef GRIDFOLD_LIBM
