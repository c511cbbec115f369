// The types of device text, their bits and limits, under names that the host compiler understands too.
#pragma once

// GRIDFOLD_FN marks a function for both sides. It is always inlined: the caller's flags (contraction, instruction set)
// hold for it, and the linker shares no copy of it between files that differ in them. A build may define it otherwise.
#if defined(__CUDACC_RTC__)
#define GRIDFOLD_FN __device__ __forceinline__
#elif defined(__CUDACC__)
#define GRIDFOLD_FN __host__ __device__ __forceinline__
#elif !defined(GRIDFOLD_FN) // builds with sanitizers define it, to call functions: that compiles faster
#define GRIDFOLD_FN [[maybe_unused, gnu::always_inline]] inline
#endif
// GRIDFOLD_UNROLL unrolls the next loop on a device, so that arrays that it indexes stay in registers.
#if defined(__CUDACC__)
#define GRIDFOLD_UNROLL _Pragma("unroll")
#else
#define GRIDFOLD_UNROLL
#endif
// clang reads exactness from pragmas around a definition: these two switch -ffast-math and contraction off.
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

GRIDFOLD_EXACT_BEGIN
namespace GRIDFOLD_NAMESPACE {

// Types --------------------------------------------------------------------------------------------------------------

using i8 = signed char;
using i16 = short;
using i32 = int;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
#if defined(__INT64_TYPE__) // the host's std::int64_t, so that its arrays are read as their own type
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
/// The unsigned type that wrapping arithmetic of T uses: at least 32 bits, which C++ does not promote to int.
template <class T> using Unsigned = typename Choose<sizeof(T) == 8, u64, u32>::type;
/// The type that holds a T in a monoid's State, in whole 32-bit words.
template <class T> using Word = typename Choose<sizeof(T) >= 4, T, typename Choose<is_signed<T>, i32, u32>::type>::type;

// Bits ---------------------------------------------------------------------------------------------------------------

#if defined(__CUDA_ARCH__)
GRIDFOLD_FN u32 to_bits(f32 x) { return ::__float_as_uint(x); }
GRIDFOLD_FN u64 to_bits(f64 x) { return u64(::__double_as_longlong(x)); }
GRIDFOLD_FN f32 from_bits(u32 bits) { return ::__uint_as_float(bits); }
GRIDFOLD_FN f64 from_bits(u64 bits) { return ::__longlong_as_double((long long)(bits)); }
/// The low word of (high:low) >> bits; bits < 32.
GRIDFOLD_FN u32 funnel_shift_right(u32 low, u32 high, u32 bits) { return ::__funnelshift_r(low, high, bits); }
/// `sum` plus the four bytes (or two halves) of `word`: one instruction on a device.
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

/// Bits that sort as min and max compare: −0 below +0, integers by value. NaN has none; no float maps to 0 or to all
/// ones, and both convert back to NaN. T has 32 or 64 bits.
template <class T> GRIDFOLD_FN Unsigned<T> order_bits(T x) {
    constexpr Unsigned<T> sign = Unsigned<T>(1) << (bits_of<T> - 1);
    if constexpr (is_floating<T>)
        return (to_bits(x) & sign) != 0 ? ~to_bits(x) : to_bits(x) | sign;
    else
        return is_signed<T> ? Unsigned<T>(x) ^ sign : Unsigned<T>(x);
}
template <class T> GRIDFOLD_FN T from_order_bits(Unsigned<T> bits) {
    constexpr Unsigned<T> sign = Unsigned<T>(1) << (bits_of<T> - 1);
    if constexpr (is_floating<T>)
        return from_bits(Unsigned<T>((bits & sign) != 0 ? bits & ~sign : ~bits));
    else
        return T(is_signed<T> ? bits ^ sign : bits);
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

/// The least value: −∞, the least integer, false.
template <class T> GRIDFOLD_FN T lowest() {
    if constexpr (is_floating<T>)
        return -infinity<T>();
    else if constexpr (is_signed<T>)
        return T(Unsigned<T>(1) << (bits_of<T> - 1));
    else
        return T(0);
}
/// The greatest value: ∞, the greatest integer, true.
template <class T> GRIDFOLD_FN T highest() {
    if constexpr (is_floating<T>)
        return infinity<T>();
    else if constexpr (is_bool<T>)
        return true;
    else
        return T(~Unsigned<T>(0) >> (bits_of<Unsigned<T>> - bits_of<T> + (is_signed<T> ? 1 : 0)));
}

} // namespace GRIDFOLD_NAMESPACE
GRIDFOLD_EXACT_END
