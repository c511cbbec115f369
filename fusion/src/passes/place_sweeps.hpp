// place_sweeps: puts every reduction and elementwise output of a graph in as few sweeps as legality allows.
//
// Contract: a sweep is (domain, stage); no sweep contains a path through one of its own reductions. Inputs, constants,
// parameters and indices have stage 0, a map the highest stage of its operands; a Reduce folds in the sweep of its
// operand's (and mask's) stage, and its value has that stage + 1. Maps on scalars are made in the epilogue of the last
// sweep that yields one of their operands and recomputed in the prologue of the sweeps that use them; what depends on
// no reduction is made in a sweep over the empty domain. A sweep whose lane states or arrays exceed the stated sizes
// splits. Sweeps are ordered by stage, then by first appearance in the graph.
//
// It stands after every graph pass, because what they remove or share decides what a sweep holds.
#pragma once

#include "passes/placement.hpp"

namespace gf::plan {

/// The most 32-bit words of states that one sweep folds, for each four lanes: 512 threads of 96 words are 192 KiB,
/// which is what the 256 KiB of registers of a GPU's multiprocessor hold beside addresses, loads and intermediate
/// values.
inline constexpr int max_sweep_words = 96;
/// The most arrays that one sweep loads and stores.
inline constexpr int max_sweep_arrays = 64;
/// The most addresses, strides and run-time scalars that they come with: what a kernel's own parameters leave.
inline constexpr int max_sweep_parameters = max_kernel_words - 2 * max_sweep_arrays;

/// Throws InvalidGraph where one value alone reads more than max_sweep_arrays or max_sweep_parameters.
Placement place_sweeps(const Graph& graph);

} // namespace gf::plan
