// floor_div and remainder of integers without a division instruction for each element: the same results as
// prelude.cuh's functions, in loops that vectorise, or with a divisor that is prepared once a call.
//
// Up to 32 bits a quotient is a product with the divisor's reciprocal in a floating-point type with at least 7
// spare bits (f32 for 8 and 16 bits, f64 for 32): a quotient is at least 1 / 2b away from where its floor changes
// once half of the last place is added to a, and rounding errors are smaller. 64-bit quotients are the high words
// of products with a 65-bit reciprocal (Granlund and Montgomery, "Division by invariant integers using
// multiplication", figure 4.1).
#pragma once

#include "host_kernels/element_types.hpp"

namespace GRIDFOLD_NAMESPACE::kernels {

/// A divisor of 8 to 32 bits.
template <class T> struct Divisor {
    static constexpr bool is_short = sizeof(T) <= 2;
    using Float = typename Choose<is_short, f32, f64>::type;
    using Bits = typename Choose<is_short, u32, u64>::type;
    /// Added to a number of at most half its last place's 2^51 (2^22), it rounds to the nearest whole number, whose low
    /// bits in two's complement are then its own low bits.
    static constexpr Float rounder = is_short ? Float(0x1.8p23) : Float(0x1.8p52);

    T divisor;
    Float offset; ///< ±1/2, towards the divisor's sign, less half the divisor: rounding to nearest is then the floor
    Float reciprocal; ///< 0 for 0, so that every quotient by 0 is 0

    [[gnu::always_inline]] explicit Divisor(T b)
        : divisor(b), offset((b > T(0) ? Float(0.5) : Float(-0.5)) - Float(0.5) * to_float(b)),
          reciprocal(from_mask(is_nonzero(b) & mask_of(Float(1) / to_float(b)))) {}

    [[gnu::always_inline]] T floor_div(T a) const {
        const Float quotient = (to_float(a) + offset) * reciprocal + rounder;
        return T(to_bits(quotient));
    }
    [[gnu::always_inline]] T remainder(T a) const {
        const Unsigned<T> rest = Unsigned<T>(a) - Unsigned<T>(floor_div(a)) * Unsigned<T>(divisor);
        return T(rest & (Unsigned<T>(0) - Unsigned<T>(divisor != T(0))));
    }

private:
    [[gnu::always_inline]] static Bits is_nonzero(T b) { return Bits(0) - Bits(b != T(0)); }
    [[gnu::always_inline]] static Bits mask_of(Float x) { return to_bits(x); }
    [[gnu::always_inline]] static Float from_mask(Bits bits) { return from_bits(bits); }
    /// Converts u32 by its bits: most instruction sets convert only signed integers.
    [[gnu::always_inline]] static Float to_float(T x) {
        if constexpr (sizeof(T) == 4 && !is_signed<T>)
            return from_bits(u64(x) | to_bits(0x1p52)) - 0x1p52;
        else
            return Float(i32(x));
    }
};

/// A divisor of 64 bits, for many dividends. Signed quotients are computed from unsigned ones: floor(a / b) = ~(~a / b)
/// for a < 0 < b, and floor(a / b) = floor(−a / −b).
template <class T>
    requires(sizeof(T) == 8)
struct Divisor<T> {
    __extension__ using Wide = unsigned __int128;

    u64 divisor, multiplier = 0, negate = 0, nonzero;
    int first_shift = 0, second_shift = 0;

    explicit Divisor(T b) : divisor(u64(b)), nonzero(b != T(0) ? ~u64(0) : 0) {
        if (b == T(0)) return;
        if constexpr (is_signed<T>) negate = b < T(0) ? ~u64(0) : 0;
        const u64 magnitude = (divisor ^ negate) - negate;
        const int bits = magnitude == 1 ? 0 : 64 - __builtin_clzll(magnitude - 1); // the least with 2^bits >= magnitude
        multiplier = u64((((Wide(1) << bits) - magnitude) << 64) / magnitude) + 1;
        first_shift = bits > 0;
        second_shift = bits > 0 ? bits - 1 : 0;
    }

    [[gnu::always_inline]] T floor_div(T a) const {
        u64 n = u64(a), complement = 0;
        if constexpr (is_signed<T>) {
            n = (n ^ negate) - negate;
            complement = u64(i64(n & (u64(a) ^ negate)) >> 63); // all ones for a negative dividend; −MIN is 2^63
            n ^= complement;
        }
        const u64 high = u64((Wide(multiplier) * n) >> 64);
        return T((((high + ((n - high) >> first_shift)) >> second_shift) ^ complement) & nonzero);
    }
    [[gnu::always_inline]] T remainder(T a) const { return T((u64(a) - u64(floor_div(a)) * divisor) & nonzero); }
};

} // namespace GRIDFOLD_NAMESPACE::kernels
