// The naive oracle: evaluates a Graph one element at a time, directly from its nodes. It shares no lowering, kernel or
// conversion with the library (no plans, expressions of map.def, or monoid.cuh), only the number of blocks of a
// vector in the canonical order.
//
// Its results are equal in bits, any NaN for any NaN, for every graph whose maps are exact or call the same libm.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gridfold/ops/graph.hpp>

#include "number.hpp"

namespace gf::oracle {

/// The values of the inputs and scalars of a graph, by name; arrays in memory order, a scalar has one element.
using Inputs = std::map<std::string, std::vector<Bits>, std::less<>>;

/// One result of a graph.
struct Result {
    std::string name;
    DType type = DType::f32;
    bool is_array = false;
    bool empty = false;         ///< scalar to which no element contributed
    std::vector<Bits> elements; ///< in the output's order of dims; a scalar has one
    std::vector<bool> valid{};  ///< array: by element, false where no element contributed; none: all are true
};

/// The results of `graph`, in its order, with the given extents of its dims.
std::vector<Result> evaluate(const Graph& graph, std::span<const std::int64_t> extents, const Inputs& inputs);

/// A map computing in some type, on operands given as bits of that type (a select's condition: a bool).
using Function = Bits (*)(Bits a, Bits b, Bits c);

/// The map `name` computing in `compute` (f32 or f64 for floating types). Throws InternalError for an unknown one.
Function map_function(std::string_view name, DType compute);

/// A folded value. If no element was accepted, integers and indices are empty and 0.
struct Reduced {
    Bits bits = 0;
    bool empty = false;
};

/// Where the elements of one result are folded, by their index row-major over the folded dims. Without slabs: as a
/// vector is.
struct Order {
    std::vector<std::int64_t> slab, lane;
    std::int64_t blocks = 1; ///< slab s belongs to block s mod blocks
    std::int64_t lanes = 1;  ///< more than any of `lane`
};

/// The order of folds over dims with these extents, outermost first, that keep some of them.
Order order_of(std::span<const std::int64_t> extents, const std::vector<bool>& kept);

/// The reduction `name` over `elements` of type `element` (never f16 or bf16), without those whose `mask` is 0 (if
/// there is a mask), accumulated in `accumulator`, with a result of type `result`. `second`: the elements of the second
/// operand, if there is one; they have type `element`, or of at_min and at_max type `result`.
Reduced reduce(std::string_view name, std::span<const Bits> elements, DType element, std::span<const Bits> mask,
               DType accumulator, DType result, int argument, const Order& order = {},
               std::span<const Bits> second = {});

} // namespace gf::oracle
