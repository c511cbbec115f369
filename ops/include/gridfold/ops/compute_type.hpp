// The types that maps and monoids compute in: the element types, but for f16 and bf16, which compute in f32.
#pragma once

#include <concepts>

#include <gridfold/core/dtype.hpp>

namespace gf {

/// f32 for f16 and bf16, else the type itself.
constexpr DType compute_type(DType type) { return type == DType::f16 || type == DType::bf16 ? DType::f32 : type; }

/// Calls `f` with a value-initialised value of the C++ type of compute_type(type) and returns what it returns.
template <class F> constexpr decltype(auto) with_compute_type(DType type, F&& f) {
    return with_type(type, [&f]<class T>(T) -> decltype(auto) {
        if constexpr (std::same_as<T, f16> || std::same_as<T, bf16>)
            return f(float{});
        else
            return f(T{});
    });
}

} // namespace gf
