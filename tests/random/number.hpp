// Numbers as bits, for the oracle: every element type to and from 64-bit words, and every conversion between types.
// Independent of the library's conversions (conversions.cuh), which are tested against it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <gridfold/core/dtype.hpp>

namespace gf::oracle {

/// A value's bytes, little-endian, zero-extended.
using Bits = std::uint64_t;
/// Holds every integer element, and the product of two.
__extension__ using Wide = __int128;

template <class T> T from_bits(Bits bits) {
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}
template <> inline bool from_bits<bool>(Bits bits) { return bits != 0; }

template <class T> Bits to_bits(T value) {
    Bits bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
}

/// A binary floating format with the given numbers of stored fraction and exponent bits.
struct Format {
    int fraction, exponent;
    int bias() const { return (1 << (exponent - 1)) - 1; }
};
inline constexpr Format half_format{10, 5}, bfloat_format{7, 8};

inline double decode(Bits bits, Format format) {
    const int biased = static_cast<int>(bits >> format.fraction) & ((1 << format.exponent) - 1);
    const double fraction = static_cast<double>(bits & ((Bits{1} << format.fraction) - 1));
    const double scale = std::ldexp(1.0, -format.fraction);
    double magnitude = 0;
    if (biased == (1 << format.exponent) - 1)
        magnitude = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    else if (biased == 0)
        magnitude = std::ldexp(fraction * scale, 1 - format.bias());
    else
        magnitude = std::ldexp(1.0 + fraction * scale, biased - format.bias());
    return (bits >> (format.fraction + format.exponent) & 1) != 0 ? -magnitude : magnitude;
}

/// Rounds to nearest, ties to even (the rounding mode that nearbyint follows), denormals and overflow included. A long
/// double holds every element of every type.
static_assert(std::numeric_limits<long double>::digits >= 64);
inline Bits encode(long double value, Format format) {
    const Bits infinity = ((Bits{1} << format.exponent) - 1) << format.fraction;
    const Bits sign = Bits{std::signbit(value)} << (format.fraction + format.exponent);
    if (std::isnan(value)) return infinity | Bits{1} << (format.fraction - 1);
    const long double magnitude = std::abs(value);
    if (std::isinf(value)) return sign | infinity;
    if (magnitude == 0) return sign;
    int above = 0; // magnitude < 2^above
    std::frexp(magnitude, &above);
    const int quantum = std::max(above - 1, 1 - format.bias()) - format.fraction;
    const long double steps = std::nearbyint(std::ldexp(magnitude, -quantum));
    // The bits of consecutive magnitudes are consecutive integers: a carry out of the fraction increments the exponent.
    const Bits biased = static_cast<Bits>(quantum + format.fraction + format.bias());
    const Bits bits = static_cast<Bits>(steps) + ((biased - 1) << format.fraction);
    return sign | std::min(bits, infinity);
}

/// The number of a floating element.
inline double number_of(Bits bits, DType type) {
    switch (type) {
    case DType::f16: return decode(bits, half_format);
    case DType::bf16: return decode(bits, bfloat_format);
    case DType::f32: return static_cast<double>(from_bits<float>(bits));
    default: return from_bits<double>(bits);
    }
}

/// The number of a bool or integer element.
inline Wide integer_of(Bits bits, DType type) {
    switch (type) {
    case DType::boolean: return bits != 0;
    case DType::i8: return from_bits<std::int8_t>(bits);
    case DType::i16: return from_bits<std::int16_t>(bits);
    case DType::i32: return from_bits<std::int32_t>(bits);
    case DType::i64: return from_bits<std::int64_t>(bits);
    default: return bits;
    }
}

/// An integer type's least and greatest value.
inline Wide lowest_of(DType type) {
    return kind_of(type) == Kind::signed_integer ? -(Wide{1} << (8 * size_of(type) - 1)) : 0;
}
inline Wide highest_of(DType type) {
    const auto bits = static_cast<int>(8 * size_of(type));
    return (Wide{1} << (kind_of(type) == Kind::signed_integer ? bits - 1 : bits)) - 1;
}

/// Wraps an integer: keeps the low bytes of `value`.
inline Bits wrap(Wide value, DType type) {
    const auto bits = static_cast<Bits>(value);
    return size_of(type) == 8 ? bits : bits & ((Bits{1} << 8 * size_of(type)) - 1);
}

/// A conversion by the numerics contract: to bool by ≠ 0, to integers saturating with NaN → 0 (from integers wrapping),
/// to floating types by one rounding to nearest even; from integers to 16-bit types through f32.
inline Bits convert(Bits bits, DType from, DType to) {
    if (from == to) return bits;
    if (is_floating(from)) {
        const double value = number_of(bits, from);
        if (to == DType::boolean) return value != 0;
        if (is_integer(to)) {
            if (std::isnan(value)) return 0;
            const auto low = lowest_of(to), high = highest_of(to);
            if (value <= static_cast<double>(low)) return wrap(low, to);
            if (value >= static_cast<double>(high)) return wrap(high, to);
            return wrap(static_cast<Wide>(value), to);
        }
        if (to == DType::f16) return encode(value, half_format);
        if (to == DType::bf16) return encode(value, bfloat_format);
        return to == DType::f32 ? to_bits(static_cast<float>(value)) : to_bits(value);
    }
    const Wide value = integer_of(bits, from);
    if (to == DType::boolean) return value != 0;
    if (is_integer(to)) return wrap(value, to);
    if (to == DType::f64) return to_bits(static_cast<double>(value));
    if (to == DType::f16) return encode(static_cast<float>(value), half_format);
    if (to == DType::bf16) return encode(static_cast<float>(value), bfloat_format);
    return to_bits(static_cast<float>(value));
}

/// The same bits, or both NaN (whose sign and payload are not promised).
inline bool same(Bits a, Bits b, DType type) {
    return a == b || (is_floating(type) && std::isnan(number_of(a, type)) && std::isnan(number_of(b, type)));
}

} // namespace gf::oracle
