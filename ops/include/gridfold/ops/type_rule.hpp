// The compute and result types of operations: promotion as in NumPy 2 (NEP 50), extended to bf16.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <gridfold/core/dtype.hpp>
#include <gridfold/ops/graph.hpp>
#include <gridfold/ops/op.hpp>

namespace gf {

/// The name of a rule, as in a map's definition.
std::string_view to_text(TypeRule rule);
std::string_view to_text(ReduceArgument argument);
/// A number or truth value as messages show it.
std::string to_text(Literal literal);

/// The common type of `a` and `b`, as NumPy 2 promotes arrays. bf16 promotes with bool and 8-bit integers to bf16, with
/// f16, f32 and 16-bit integers to f32, with wider types to f64.
DType promote(DType a, DType b);

/// An operand of a map for type rules: a value's type, or a literal.
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
    std::array<DType, max_arity> operands{}; ///< the type that each operand is converted to
};

/// The types of a map. Values are promoted first, then literals: a floating literal promotes integers and bool to f64,
/// an integer literal promotes bool to i64; other types are unchanged. InvalidGraph if the row's rule refuses the types
/// or a literal does not fit the integer type that the map computes in.
MapTyping map_typing(const MapOp& row, std::span<const OperandType> operands);

/// The bytes of a literal as a value of `type`, zero-extended. Floating types round it; bool is literal != 0.
/// InvalidGraph if an integer type cannot represent the literal exactly.
std::uint64_t constant_bits(Literal literal, DType type);

/// The types of one use of a reduction.
struct ReduceTyping {
    DType element;     ///< the monoid's E, but for f16 and bf16, whose values are f32
    DType accumulator; ///< its A
    DType result;
    std::array<DType, max_arity> operands{}; ///< the type that each operand is converted to
};

/// The types of a reduction of operands of these types, as many as the row has. The accumulator is `chosen`, or the
/// row's default; with f64 chosen, floating results are f64. InvalidGraph for a `chosen` that the row does not take:
/// sums and floating reductions take f64 besides their default.
ReduceTyping reduce_typing(const ReduceOp& row, std::span<const DType> operands, std::optional<DType> chosen);

} // namespace gf
