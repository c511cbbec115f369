// The element types of the kernels of one instruction set, in that set's own namespace: prelude.cuh's names,
// numbered as in dtype.def. Includes nothing that has inline functions but
// prelude.cuh and loops.hpp.
#pragma once

#include "host_kernels/kernel_types.hpp"

namespace GRIDFOLD_NAMESPACE {

/// The rows of dtype.def, numbered like DType.
enum class Type : int {
#define GRIDFOLD_DTYPE(id, ...) id,
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
};

enum class Kind { boolean, signed_integer, unsigned_integer, floating };

/// AccumulatorRule.
enum class Accumulator { sum, element, floating, f64, boolean };

} // namespace GRIDFOLD_NAMESPACE

// After the enums: their enumerators would shadow the types of their names.
#include <gridfold/ops/host/loops.hpp>

namespace GRIDFOLD_NAMESPACE {

template <Type> struct TypeFacts;
#define GRIDFOLD_DTYPE(id, text, cpp, kind_of_type, npy) \
    template <> struct TypeFacts<Type::id> {             \
        static constexpr Kind kind = Kind::kind_of_type; \
    };
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE

/// The type of a value. f16 and bf16 have none: their values are f32.
template <Type> struct ValueOf;
// clang-format off
template <> struct ValueOf<Type::boolean> { using type = bool; };
template <> struct ValueOf<Type::i8> { using type = i8; };
template <> struct ValueOf<Type::i16> { using type = i16; };
template <> struct ValueOf<Type::i32> { using type = i32; };
template <> struct ValueOf<Type::i64> { using type = i64; };
template <> struct ValueOf<Type::u8> { using type = u8; };
template <> struct ValueOf<Type::u16> { using type = u16; };
template <> struct ValueOf<Type::u32> { using type = u32; };
template <> struct ValueOf<Type::u64> { using type = u64; };
template <> struct ValueOf<Type::f32> { using type = f32; };
template <> struct ValueOf<Type::f64> { using type = f64; };
// clang-format on
template <Type type> using Element = typename ValueOf<type>::type;

constexpr bool is_stored_only(Type type) { return type == Type::f16 || type == Type::bf16; }

} // namespace GRIDFOLD_NAMESPACE
