// Which outputs may be bound to the memory of an input.
#pragma once

#include <utility>
#include <vector>

#include <gridfold/fusion/plan.hpp>

namespace gf::detail {

/// The pairs of an input and an output, by Plan::arrays, that a plan runs right with when both are the same memory:
/// each element of the input has been read for the last time before that element of the output is written. The sweep
/// that stores the output loads the input flat and stores flat, elements of one size; it folds nothing; it reads the
/// input no more once the output's value is computed; and every other sweep that loads the input comes before it.
std::vector<std::pair<int, int>> in_place_pairs(const plan::Plan& plan);

} // namespace gf::detail
