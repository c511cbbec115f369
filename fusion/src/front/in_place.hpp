// Determines the outputs that may be bound to the memory of an input.
#pragma once

#include <utility>
#include <vector>

#include <gridfold/fusion/plan.hpp>

namespace gf::detail {

/// The pairs of an input and an output, by Plan::arrays, that may be the same memory: the plan reads each element of
/// the input for the last time before it writes that element of the output. The sweep that stores the output loads the
/// input in order and stores in order, with elements of one size; it folds nothing; it does not read the input after
/// computing the output's value; and every other sweep that loads the input runs before it.
std::vector<std::pair<plan::ArrayId, plan::ArrayId>> in_place_pairs(const plan::Plan& plan);

} // namespace gf::detail
