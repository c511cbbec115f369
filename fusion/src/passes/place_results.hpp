// place_results: lets sweeps compute and store outputs that follow from the results of their own reductions.
//
// Contract: an output is a map of kept results of one sweep, of maps like it, and of constants and run-time scalars
// alone; its arrays have its dims in their order, as sweeps of chains store in order; and the sweep has room. Sweeps
// that need such a map compute it again: the array of an output may round it.
//
// It is a part of place_sweeps, after all reductions have their sweeps.
#pragma once

#include <vector>

#include "passes/placement.hpp"

namespace gf::plan {

/// What a sweep takes of max_sweep_arrays and max_sweep_parameters.
struct SweepRoom {
    int arrays = 0, parameters = 0;

    bool fits() const;
};

/// By node: true for a map of kept results, of maps like it, and of constants and run-time scalars alone.
Table<NodeId, bool> maps_of_results(const Graph& graph, const Table<NodeId, int>& stages);

/// The stores of a node's outputs, and of which of their elements are not empty.
std::vector<PlacedStore> stores_of_outputs(const Placement& placement, NodeId node);

/// True if the arrays of a node's outputs have its dims in their order.
bool has_outputs_in_order(const Placement& placement, NodeId node);

/// Adds the stores of outputs to the sweeps that make their results, whose `rooms` it updates. `wanted`: the outputs,
/// by node; `of_results`: maps_of_results(). Returns those that follow from results of several sweeps, or that their
/// sweep has no room for.
std::vector<NodeId> place_outputs_of_results(const Graph& graph, Placement& placement, Table<SweepId, SweepRoom>& rooms,
                                             const Table<NodeId, bool>& of_results, const Table<NodeId, bool>& wanted);

} // namespace gf::plan
