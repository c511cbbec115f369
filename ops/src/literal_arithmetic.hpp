// Arithmetic between literals in the text form: "2 * 3.14159 * x", "x / (1 / 3)".
#pragma once

#include <string>
#include <string_view>

#include <gridfold/ops/graph.hpp>

namespace gf::detail {

/// −a. Throws InvalidGraph for a bool, and for an integer beyond 64 bits.
Literal negate(Literal a);

/// `a symbol b` for + - * /. Integers give exact integers, except that / is true division; with a floating operand the
/// arithmetic is f64. Throws InvalidGraph for other symbols, bools, and integers beyond 64 bits.
Literal compute(std::string_view symbol, Literal a, Literal b);

} // namespace gf::detail
