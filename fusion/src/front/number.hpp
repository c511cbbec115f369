// A value's bytes as a number.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <gridfold/core/dtype.hpp>

namespace gf::detail {

/// The value of type `type` in the low bytes of `bits`, as double; 64-bit integers are rounded.
inline double to_double(DType type, std::uint64_t bits) {
    return with_type(type, [&](auto value) {
        std::memcpy(static_cast<void*>(&value), &bits, sizeof value);
        if constexpr (std::is_arithmetic_v<decltype(value)>)
            return static_cast<double>(value);
        else // f16, bf16
            return double{static_cast<float>(value)};
    });
}

} // namespace gf::detail
