// Finds sweeps that visit the same rows: softmax, layer norm, standardised rows, and whatever else has that shape; or
// the same whole arrays, such as a z-score. A backend that can hold a row, or the arrays, joins them into one sweep
// with several phases, which reads each array once; another runs them over some rows at a time.
#pragma once

#include <cstdint>
#include <vector>

#include <gridfold/fusion/plan.hpp>

namespace gf::plan {

/// Sweeps of one domain that can be joined, increasing: the first folds rows, and the others depend on it through
/// values of these rows; or the first folds everything, and the others depend on it through scalars.
using Chain = std::vector<SweepId>;

/// What the sweeps of a chain fold.
enum class Folded : std::uint8_t { rows, rows_or_all };

/// The chains of a plan of two sweeps or more. No sweep is in two.
std::vector<Chain> find_chains(const Plan& plan, Folded folded = Folded::rows);

/// All sweeps in groups, in an order in which they can run: each of these chains is a group, and every other sweep one
/// of its own. Throws InternalError if chains wait for each other.
std::vector<std::vector<SweepId>> groups_in_order(const Plan& plan, const std::vector<Chain>& chains);

/// The plan in which each of these chains is one sweep. Its arrays and scalars have their numbers in `plan`;
/// temporaries that only passed values within a chain are neither stored nor loaded, and such scalars are not yielded.
/// Both plans have the same results, bit by bit.
Plan join_phases(const Plan& plan, const std::vector<Chain>& chains);

/// The number of phases of a sweep: after the folds of each but the last, later values are computed.
int phase_count(const Sweep& sweep);

} // namespace gf::plan
