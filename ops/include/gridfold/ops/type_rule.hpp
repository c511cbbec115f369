// Which types operations compute in and give: promotion as in NumPy 2 (NEP 50), with bf16 beside it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include <gridfold/core/dtype.hpp>
#include <gridfold/ops/graph.hpp>
#include <gridfold/ops/op.hpp>

namespace gf {

/// The type that holds what `a` and `b` hold, as NumPy 2 promotes arrays. bf16 promotes with bool and 8-bit integers to
/// bf16, with f16, f32 and 16-bit integers to f32, with anything wider to f64.
DType promote(DType a, DType b);

/// What an operand of a map is, as far as types go: a value's type, or a literal.
struct OperandType {
    std::optional<DType> type;                          ///< a value's, or
    std::optional<Literal> literal;                     ///< a literal: weak
    OperandType(DType value_type) : type(value_type) {} // NOLINT(google-explicit-constructor)
    OperandType(Literal number) : literal(number) {}    // NOLINT(google-explicit-constructor)
};

/// The types of one use of a map.
struct MapTyping {
    DType compute; ///< T
    DType result;
    std::array<DType, max_arity> operands{}; ///< what each operand is converted to
};

/// Types a map. Values are promoted together first; then literals: a floating literal makes integers and bool f64, an
/// integer literal makes bool i64, and neither changes anything else. InvalidGraph where the row's rule refuses the
/// types or a literal does not fit the integer type that the map computes in.
MapTyping map_typing(const MapOp& row, std::span<const OperandType> operands);

/// The bytes of a literal as a value of `type`, zero-extended. Floating types round it; bool asks whether it is not 0.
/// InvalidGraph where an integer type does not hold exactly the literal's value.
std::uint64_t constant_bits(Literal literal, DType type);

/// The accumulator of a reduction over `element`s: `chosen`, or the row's own choice. InvalidGraph for one that the row
/// does not take: f64 is the one that sums and floating reductions may choose instead of their own.
DType accumulator_type(const ReduceOp& row, DType element, std::optional<DType> chosen);

/// The type of a reduction's result, where the user chose the accumulator `chosen` or none: a choice of f64 makes
/// floating results f64. InvalidGraph as accumulator_type().
DType result_type(const ReduceOp& row, DType element, std::optional<DType> chosen);

} // namespace gf
