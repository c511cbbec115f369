// Where every value of a graph is made: the form between a Graph and a Plan.
//
// Nodes keep their graph numbers. A sweep lists what it folds, stores and yields, and the nodes it needs for that:
// its backward slice, which ends at loads (inputs, stored values) and reads (scalars that another sweep yields).
#pragma once

#include <string>
#include <vector>

#include <gridfold/fusion/plan.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf::plan {

struct PlacedStore {
    int node;
    int array; ///< number in Placement::arrays
};

struct PlacedSweep {
    std::vector<int> dims;
    int stage = 0;
    std::vector<int> reduces;        ///< folded here, in the order of their folds
    std::vector<PlacedStore> stores; ///< values written over the sweep's domain
    std::vector<int> yields;         ///< scalar nodes made here that results or other sweeps need; increasing
    std::vector<int> nodes;          ///< the slice, increasing: what is computed, loaded or read here
    std::vector<int> after;          ///< sweeps whose arrays or scalars this one reads; increasing
    std::string reason;
};

struct Placement {
    std::vector<PlacedSweep> sweeps;
    std::vector<Array> arrays; ///< inputs as declared, outputs in their order, temporaries
    std::vector<int> array_of; ///< by node: the array that sweeps load it from; −1 = none
    std::vector<int> made_in; ///< by node: the sweep that makes it for all others; −1 = none, each computes it itself
    std::vector<std::vector<int>> outputs_of; ///< by node: the positions of its results
    std::vector<int> output_array;            ///< by result: its array; −1 for a scalar
};

/// Is the node loaded or read in this sweep, not computed?
inline bool is_fetched(const Graph& graph, const Placement& placement, int sweep, int node) {
    const auto at = static_cast<std::size_t>(node);
    return graph.node(node).kind == NodeKind::input || (placement.made_in[at] >= 0 && placement.made_in[at] != sweep);
}

/// Starts a placement: its arrays are the inputs and the outputs that have dims; no node is made anywhere yet.
Placement placement_of(const Graph& graph);

/// The nodes that some output needs.
std::vector<bool> live_nodes(const Graph& graph);

/// By node: the stage of its value (design: inputs 0, a map the highest of its operands, a reduction that + 1).
std::vector<int> stages_of(const Graph& graph);

/// The most nodes that the slices of a plan hold together. Sweeps recompute what they need, so a graph of many stages
/// can ask for the square of its size: about a thousand stages that all lead back to one input reach this.
inline constexpr std::size_t max_placed_nodes = std::size_t{1} << 20;
/// Throws InvalidGraph beyond max_placed_nodes.
void check_placed_nodes(const Graph& graph, std::size_t nodes);

/// The most 64-bit parameters of a kernel: CUDA passes 4 KiB (CUDA C++ Programming Guide, "function parameters").
inline constexpr int max_kernel_words = 512;
/// How many of them a sweep needs for this node in its slice: a run-time scalar, an input's address and strides.
int parameter_words(const Node& node);

/// Completes sweeps that hold what they fold and store, and in `yields` the scalar results they make: slices, the
/// scalars that other sweeps read, and `after`. Throws InvalidGraph beyond max_placed_nodes and max_kernel_words.
void complete(const Graph& graph, Placement& placement);

/// Does the value need a "some element was accepted" bool beside it? (undefined over nothing, which only a mask can
/// leave: such reductions need elements)
bool needs_acceptance(const Node& reduce);

/// The word for what a node does: "x", "sub", "f32", "mean".
std::string operation_of(const Node& node);

/// One line a sweep: domain, stage, what it folds, stores and yields.
std::string to_text(const Graph& graph, const Placement& placement);

} // namespace gf::plan
