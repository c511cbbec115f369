// Lets later sweeps of a chain load what earlier ones have computed. For a backend that runs a chain over some rows at
// a time: the new arrays are as long as all elements, and are meant to hold the rows at hand.
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
