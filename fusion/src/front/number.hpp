// Numbers and their bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <gridfold/core/dtype.hpp>
#include <gridfold/ops/graph.hpp>

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

/// The bytes of a number bound to a run-time scalar of `type`, zero-extended. Floating types round it. InvalidGraph if
/// that makes a finite number infinite, or if another type does not hold it exactly.
std::uint64_t scalar_bits(Literal number, DType type);

} // namespace gf::detail
