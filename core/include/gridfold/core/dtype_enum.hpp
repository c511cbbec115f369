// The enum of element types, generated from dtype.def, and the properties that type rules need. The CPU's kernels,
// which are compiled for several instruction sets, include it: every function is inlined, so that no two sets share
// one.
#pragma once

#include <cstdint>

namespace gf {

/// The type of one array element or scalar.
enum class DType : std::uint8_t {
#define GRIDFOLD_DTYPE(id, text, type, kind, npy) id,
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
};

/// The kind of a DType in the promotion rules.
enum class Kind : std::uint8_t { boolean, signed_integer, unsigned_integer, floating };

[[gnu::always_inline]] constexpr Kind kind_of(DType type) {
    switch (type) {
#define GRIDFOLD_DTYPE(id, text, cpp, kind, npy) \
    case DType::id: return Kind::kind;
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    }
    return Kind::boolean;
}

[[gnu::always_inline]] constexpr bool is_floating(DType type) { return kind_of(type) == Kind::floating; }
[[gnu::always_inline]] constexpr bool is_integer(DType type) {
    return kind_of(type) == Kind::signed_integer || kind_of(type) == Kind::unsigned_integer;
}
[[gnu::always_inline]] constexpr bool is_half(DType type) { return type == DType::f16 || type == DType::bf16; }

/// The type in which values of `type` are stored in registers and computed: f32 for f16 and bf16, else `type`.
[[gnu::always_inline]] constexpr DType value_type(DType type) { return is_half(type) ? DType::f32 : type; }

} // namespace gf
