// A Placement assigns every value of a graph to sweeps: the form between a Graph and a Plan.
//
// Nodes keep their graph numbers. A sweep lists its folds, stores and yields, and its backward slice: the nodes that
// these depend on, up to loads (inputs, stored values) and reads (scalars that another sweep yields).
#pragma once

#include <string>
#include <vector>

#include <gridfold/fusion/plan.hpp>
#include <gridfold/ops/emptiness.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf::plan {

struct PlacedStore {
    NodeId node;
    ArrayId array;            ///< in Placement::arrays
    bool of_validity = false; ///< writes which elements are not empty, instead of the elements
};

struct PlacedSweep {
    std::vector<DimId> dims;
    int stage = 0;
    std::vector<NodeId> reduces;     ///< folded here, in the order of their folds
    std::vector<PlacedStore> stores; ///< values written: over the sweep's domain, or results of its reductions
    std::vector<NodeId> yields;      ///< scalar nodes computed here that results or other sweeps need; increasing
    std::vector<NodeId> nodes;       ///< the slice, increasing: the nodes computed, loaded or read here
    std::vector<SweepId> after;      ///< sweeps whose arrays or scalars this one reads; increasing
    std::string reason;
};

struct Placement {
    Table<SweepId, PlacedSweep> sweeps;
    Table<ArrayId, Array> arrays; ///< inputs as declared, outputs in their order, temporaries
    Table<NodeId, bool> may_be_empty;
    Table<NodeId, ArrayId> array_of;    ///< the array that sweeps load a node from, if any
    Table<NodeId, ArrayId> validity_of; ///< the same for which elements of a node that may be empty are not
    Table<NodeId, SweepId> made_in; ///< the sweep that computes a node for all others; none: each computes it itself
    Table<NodeId, std::vector<std::size_t>> outputs_of; ///< the positions of a node's results
    std::vector<ArrayId> output_array;                  ///< by result: its array; none for a scalar
    std::vector<ArrayId> output_validity; ///< by result: the array of which elements are not empty; none: all
};

/// True if the sweep loads or reads the node instead of computing it.
inline bool is_fetched(const Graph& graph, const Placement& placement, SweepId sweep, NodeId node) {
    const SweepId maker = placement.made_in[node];
    return graph.node(node).kind == NodeKind::input || (maker.valid() && maker != sweep);
}

/// An initial placement: its arrays are the inputs and the outputs with dims; no sweep computes any node yet.
Placement placement_of(const Graph& graph);

/// Lets the sweep, which computes the node for all others, store it: in the arrays of its outputs, or in a temporary.
/// Other sweeps load it from the first. Where elements may be empty, it also stores which are not.
void store_value(const Graph& graph, Placement& placement, NodeId node, PlacedSweep& sweep);

/// By node: true if any output depends on it.
Table<NodeId, bool> live_nodes(const Graph& graph);

/// The stage of each node's value: 0 for inputs, the highest of a map's operands, and 1 more for a reduction.
Table<NodeId, int> stages_of(const Graph& graph);

/// The most nodes of all slices of a plan together. Sweeps recompute values, so the slices of a graph of many stages
/// can have the square of its nodes: about a thousand stages that depend on one input reach this limit.
inline constexpr std::size_t max_placed_nodes = std::size_t{1} << 20;
/// Throws InvalidGraph beyond max_placed_nodes.
void check_placed_nodes(const Graph& graph, std::size_t nodes);

/// The most 64-bit parameters of a kernel: CUDA passes 4 KiB (CUDA C++ Programming Guide, "function parameters").
inline constexpr int max_kernel_words = 512;
/// The arrays from which other sweeps load the results of a reduction: none for a scalar, and 2 if they may be empty.
int arrays_of_results(const Node& reduce);
/// The number of parameters that a sweep needs for this node: a run-time scalar, or the addresses and strides of an
/// input or of a reduction's arrays.
int parameter_words(const Node& node);
/// The number of parameters, besides its address, that storing an array needs: strides, and extents of results.
int stride_words(const Array& stored);

/// Completes sweeps whose folds, stores and scalar results (in `yields`) are set: adds slices, the scalars that other
/// sweeps read, and `after`. Throws InvalidGraph beyond max_placed_nodes and max_kernel_words.
void complete(const Graph& graph, Placement& placement);

/// The word for a node's operation: "x", "sub", "f32", "mean".
std::string operation_of(const Node& node);

/// One line a sweep: domain, stage, folds, stores and yields.
std::string to_text(const Graph& graph, const Placement& placement);

} // namespace gf::plan
