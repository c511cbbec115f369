// What the later sweeps of a chain need not compute again, where the chain's sweeps run over some rows at a time, so that
// an array of these rows stays in a cache.
#pragma once

#include <vector>

#include <gridfold/fusion/plan.hpp>

#include "plan/join_phases.hpp"

namespace gf::plan {

/// The plan in which a sweep of these chains loads from a temporary array
/// - a value of elements that takes an elementary function, if an earlier sweep of its chain computes it, too: softmax
///   stores e^x as it sums it;
/// - a value of rows, if it follows from the results of one earlier sweep of its chain, which then computes it:
///   1 / sqrt(variance + ε) once for each row, instead of for each element.
/// Its sweeps, arrays and scalars have their numbers in `plan`; the new temporaries follow. Both plans have the same
/// results, bit by bit.
Plan share_in_chains(const Plan& plan, const std::vector<Chain>& chains);

} // namespace gf::plan
