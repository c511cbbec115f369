// Joins sweeps that visit the same rows into one sweep with several phases: softmax, layer norm, standardised rows, and
// whatever else has that shape. A backend that can hold a row runs the joined sweep: it reads each array once.
#pragma once

#include <vector>

#include <gridfold/fusion/plan.hpp>

namespace gf::plan {

/// Sweeps of one domain that can be joined, increasing: the first folds rows, and the others depend on it through
/// values of these rows.
using Chain = std::vector<SweepId>;

/// The chains of a plan of two sweeps or more. No sweep is in two.
std::vector<Chain> find_chains(const Plan& plan);

/// The plan in which each of these chains is one sweep. Its arrays and scalars have their numbers in `plan`;
/// temporaries that only passed values within a chain are neither stored nor loaded. Both plans have the same results,
/// bit by bit.
Plan join_phases(const Plan& plan, const std::vector<Chain>& chains);

/// The number of phases of a sweep: after the folds of each but the last, later values are computed.
int phase_count(const Sweep& sweep);

} // namespace gf::plan
