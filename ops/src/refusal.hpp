// Errors and checks of the graph's builders: a message names the value, the rule it breaks, and the fix.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf::detail {

/// "what: rule; fix"
inline InvalidGraph refusal(std::string_view what, std::string_view rule, std::string_view fix) {
    return {std::string(what), std::string(rule), std::string(fix)};
}

/// A node in words: "x (f32[i, j])", "the result of add (f32[i, j])".
std::string describe(const Dag& dag, NodeId node);

/// `name` in quotes, shortened if it is too long for a message.
std::string in_quotes(std::string_view name);

/// Throws InvalidGraph unless `name` may name a value, a dim or a result; `what` is the named thing ("the input").
void check_name(std::string_view what, std::string_view name);

/// Throws InvalidGraph for a user's row that two files of the program define differently.
void check_defined_once(const MapOp& row);
void check_defined_once(const ReduceOp& row);

/// Adds a node and the edges from its operands. The DAG is unchanged if it throws.
NodeId add_node(Dag& dag, const Node& node, std::span<const NodeId> operands);

/// Removes the nodes from `first` on, so that a builder that throws leaves the DAG unchanged.
void drop_nodes(Dag& dag, NodeId first) noexcept;

/// The operands of a node, by slot.
std::vector<NodeId> operands_of(const Dag& dag, NodeId node);

} // namespace gf::detail
