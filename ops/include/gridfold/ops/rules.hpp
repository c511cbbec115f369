// The type rules of maps and reductions. Like dtype_enum.hpp, included by the CPU's kernels.
#pragma once

#include <cstdint>

#include <gridfold/core/dtype_enum.hpp>

namespace gf {

/// The rule that gives a map's compute type (T) and result type from its operand types. Promotion is NumPy 2's.
enum class TypeRule : std::uint8_t {
    same,     ///< T = the promoted operand type; result T
    number,   ///< as same; refuses bool, as NumPy does
    quotient, ///< true division: T = the promoted floating type, f64 for integers and bool
    floating, ///< T = the promoted floating type; for bool and 8 bits f16, for 16 bits f32, for wider integers f64
    integer,  ///< T = the promoted type, bool or integer; refuses floating
    shift,    ///< T = the promoted integer type; refuses bool and floating
    compare,  ///< T = the promoted operand type; result bool
    logical,  ///< operands are tested against 0; T = result = bool
    test,     ///< T = the operand type; result bool
    select,   ///< first operand bool; T = the promoted type of the other two; result T
};

/// True if a map of this rule can compute in `type`.
[[gnu::always_inline]] constexpr bool computes_in(TypeRule rule, DType type) {
    switch (rule) {
    case TypeRule::same:
    case TypeRule::compare:
    case TypeRule::test:
    case TypeRule::select: return true;
    case TypeRule::number: return type != DType::boolean;
    case TypeRule::quotient:
    case TypeRule::floating: return is_floating(type);
    case TypeRule::integer: return !is_floating(type);
    case TypeRule::shift: return is_integer(type);
    case TypeRule::logical: return type == DType::boolean;
    }
    return false;
}

/// True if the result of a map of this rule is bool for every T.
[[gnu::always_inline]] constexpr bool gives_bool(TypeRule rule) {
    return rule == TypeRule::compare || rule == TypeRule::logical || rule == TypeRule::test;
}

/// What a monoid folds: the types of its operands, and its E.
enum class OperandRule : std::uint8_t {
    own,      ///< one operand, of type E
    promoted, ///< several, converted to their promoted type, E
    floating, ///< several, converted to their promoted floating type, E; f64 for bool and integers
    payload,  ///< the last one is a u64, payload_of() a value of any type; E is the type of the one before, or u64
};

/// True if a monoid with this rule and this number of operands has kernels for E = `element`.
[[gnu::always_inline]] constexpr bool folds_elements(OperandRule rule, int operands, DType element) {
    if (is_half(element)) return false; // their values are f32
    if (rule == OperandRule::payload && operands == 1) return element == DType::u64;
    return rule != OperandRule::floating || is_floating(element);
}

/// The integer that a reduction's finalize takes, by the name that it has in the text form.
enum class ReduceArgument : std::uint8_t {
    none,
    ddof, ///< the divisor of moments is the number of elements less this
    rank, ///< the place of an element in descending order, from 0
};

/// The accumulator type of a reduction over elements of type E when the user asks for none.
enum class AccumulatorRule : std::uint8_t {
    sum,      ///< bool and integers: 64 bits, signed as E; f16, bf16, f32: f32; f64: f64
    element,  ///< E itself (f16 and bf16 as f32)
    floating, ///< f16, bf16 and f32: f32; everything else: f64
    f64,      ///< always double
    boolean,  ///< always bool; elements are tested against 0
};

[[gnu::always_inline]] constexpr DType accumulator_of(AccumulatorRule rule, DType element) {
    switch (rule) {
    case AccumulatorRule::sum:
        if (is_floating(element)) return value_type(element);
        return kind_of(element) == Kind::unsigned_integer ? DType::u64 : DType::i64;
    case AccumulatorRule::element: return value_type(element);
    case AccumulatorRule::floating: return is_floating(element) ? value_type(element) : DType::f64;
    case AccumulatorRule::f64: return DType::f64;
    case AccumulatorRule::boolean: return DType::boolean;
    }
    return element;
}

/// True if the user may choose this accumulator: the rule's own, or f64 for sums and floating reductions.
[[gnu::always_inline]] constexpr bool accumulates_in(AccumulatorRule rule, DType element, DType accumulator) {
    const bool widens = rule == AccumulatorRule::sum || rule == AccumulatorRule::floating;
    return accumulator == accumulator_of(rule, element) || (widens && accumulator == DType::f64);
}

/// The result type, from the element type E and the accumulator type A.
enum class ResultRule : std::uint8_t {
    accumulator, ///< A
    element,     ///< E
    floating,    ///< f32 for f16, bf16 and f32 unless the user chose f64 for the accumulator; else f64
    index,       ///< i64
    boolean,     ///< bool
    payload,     ///< the type of the last operand
};

/// `widened`: the user chose f64 for the accumulator. `payload`: the type of the last operand.
[[gnu::always_inline]] constexpr DType result_of(ResultRule rule, DType element, DType accumulator, bool widened,
                                                 DType payload) {
    switch (rule) {
    case ResultRule::accumulator: return accumulator;
    case ResultRule::element: return element;
    case ResultRule::floating:
        return is_floating(element) && element != DType::f64 && !widened ? DType::f32 : DType::f64;
    case ResultRule::index: return DType::i64;
    case ResultRule::boolean: return DType::boolean;
    case ResultRule::payload: return payload;
    }
    return accumulator;
}

} // namespace gf
