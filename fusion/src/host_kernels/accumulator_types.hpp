// The accumulator types of the reductions of reduce.def: exactly these are compiled.
#pragma once

#include "host_kernels/element_types.hpp"

namespace GRIDFOLD_NAMESPACE {

/// True if a reduction of this rule may accumulate elements of type `element` in `accumulator` (type_rule.hpp).
constexpr bool accumulates(Accumulator rule, Type element, Kind e, Type accumulator, Kind a) {
    if (is_stored_only(element) || is_stored_only(accumulator)) return false;
    switch (rule) {
    case Accumulator::sum:
        if (accumulator == Type::f64) return true;
        if (e == Kind::floating) return accumulator == Type::f32 && element == Type::f32;
        return accumulator == (e == Kind::unsigned_integer ? Type::u64 : Type::i64);
    case Accumulator::element: return element == accumulator;
    case Accumulator::floating: return accumulator == Type::f64 || (accumulator == Type::f32 && element == Type::f32);
    case Accumulator::f64: return accumulator == Type::f64;
    case Accumulator::boolean: return a == Kind::boolean;
    }
    return false;
}

} // namespace GRIDFOLD_NAMESPACE
