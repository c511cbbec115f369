// Conversions between types, and to and from the bits of 16-bit floats. Depends on arithmetic.cuh.
#pragma once

GRIDFOLD_EXACT_BEGIN
namespace GRIDFOLD_NAMESPACE {

/// x as To. Conversion to bool gives x != 0. Integers wrap. Floats to integers truncate and saturate; NaN gives 0.
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

/// The bytes of x as an integer, zero-extended; and x again.
template <class T> GRIDFOLD_FN u64 payload_of(T x) {
    if constexpr (is_floating<T>)
        return to_bits(x);
    else if constexpr (sizeof(T) == 1)
        return u8(x);
    else if constexpr (sizeof(T) == 2)
        return u16(x);
    else
        return Unsigned<T>(x);
}
template <class T> GRIDFOLD_FN T from_payload(u64 payload) {
    if constexpr (is_floating<T>)
        return from_bits(Unsigned<T>(payload));
    else
        return T(payload);
}

/// The binary16 bits of x, rounded to nearest, ties to even; NaN converts to NaN.
GRIDFOLD_FN u16 f32_to_f16(f32 x) {
#if defined(__CUDA_ARCH__)
    u16 half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(x));
    return half;
#else
    const u32 magnitude = to_bits(x) & 0x7fffffffu, sign = (to_bits(x) >> 16) & 0x8000u;
    // From 2^16 on: infinity. Below, rebias the exponent and round off 13 bits; a carry increments the exponent.
    const u32 capped = magnitude < 0x47800000u ? magnitude : 0x47800000u;
    const u32 normal = (capped - 0x38000000u + 0xfffu + ((capped >> 13) & 1u)) >> 13;
    // Below 2^−14, adding 0.5 rounds: the last place of the sum is the last place of the half.
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
/// The bfloat16 bits of x, rounded to nearest, ties to even; NaN converts to NaN.
GRIDFOLD_FN u16 f32_to_bf16(f32 x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    u16 half;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(x));
    return half;
#else
    const u32 bits = to_bits(x);
    const u32 rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return u16(x != x ? 0x7fc0u : rounded);
#endif
}
GRIDFOLD_FN f32 bf16_to_f32(u16 bits) { return from_bits(u32(bits) << 16); }

/// The conversions of a half type: of one element, and of two that share a word, `low` first in memory.
template <bool is_bf16> struct HalfOf {
    GRIDFOLD_FN static u16 one(f32 x) { return is_bf16 ? f32_to_bf16(x) : f32_to_f16(x); }
    GRIDFOLD_FN static u32 two(f32 low, f32 high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        u32 word;
        if constexpr (is_bf16)
            asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
        else
            asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
        return word;
#else
        return u32(one(low)) | u32(one(high)) << 16;
#endif
    }
};
using HalfOfF16 = HalfOf<false>;
using HalfOfBf16 = HalfOf<true>;

/// x as f32, rounded to odd if inexact: rounding the result to f16 or bf16 then equals rounding x once.
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
        // Beyond 2^53, round to odd within the 53 bits that an f64 holds exactly.
        const T exact = T(x & ~T(0x7ff));
        const T odd = exact == x ? x : T(exact | T(0x800));
        const bool fits = x < T(1ll << 53) && (!is_signed<T> || x > neg(T(1ll << 53)));
        return to_f32_odd(f64(fits ? x : odd));
    }
}
/// x rounded once to the nearest f16 or bf16, widened to f32.
template <class T> GRIDFOLD_FN f32 round_f16(T x) { return f16_to_f32(f32_to_f16(to_f32_odd(x))); }
template <class T> GRIDFOLD_FN f32 round_bf16(T x) { return bf16_to_f32(f32_to_bf16(to_f32_odd(x))); }

} // namespace GRIDFOLD_NAMESPACE
GRIDFOLD_EXACT_END
