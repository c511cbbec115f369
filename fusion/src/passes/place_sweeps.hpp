// place_sweeps: assigns every reduction and elementwise output of a graph to few sweeps.
//
// Contract: a sweep is (domain, stage, kept dims), and takes elementwise outputs besides; no sweep contains a path
// through one of its own reductions. Inputs, constants, parameters and indices have stage 0, a map the highest stage of
// its operands; a Reduce folds in the sweep of its operand's (and mask's) stage, and its value has that stage + 1. An
// output that follows from kept results of one sweep alone is computed and stored there, if there is room; sweeps that
// need it compute it again. Maps on scalars are computed after the folds of the last sweep that yields one of their
// operands, and again before the elements of sweeps that use them; scalars that depend on no reduction are computed in
// a sweep over the empty domain. A sweep whose lane states or arrays exceed the limits below is split. Sweeps are
// ordered by stage, then by first appearance in the graph.
//
// It runs after every graph pass, because the nodes that they remove or share change the sweeps.
#pragma once

#include "passes/placement.hpp"

namespace gf::plan {

/// The most 32-bit words of states that one sweep folds, for each four lanes: 512 threads of 96 words are 192 KiB of
/// the 256 KiB of registers of a GPU's multiprocessor. Addresses, loads and intermediate values take the rest.
inline constexpr int max_sweep_words = 96;
/// The most arrays that one sweep loads and stores.
inline constexpr int max_sweep_arrays = 64;
/// The most addresses, strides and run-time scalars of a sweep, besides the parameters that every kernel has.
inline constexpr int max_sweep_parameters = max_kernel_words - 2 * max_sweep_arrays;

/// Throws InvalidGraph if one value alone reads more than max_sweep_arrays or max_sweep_parameters.
Placement place_sweeps(const Graph& graph);

} // namespace gf::plan
