// How the graph's builders refuse: the value, the rule it breaks, and the fix, in one sentence form.
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
std::string describe(const Dag& dag, int node);

/// `name` in quotes, cut where it is longer than a message should be.
std::string in_quotes(std::string_view name);

/// Throws InvalidGraph unless `name` may name a value, a dim or a result; `what` says which ("the input").
void check_name(std::string_view what, std::string_view name);

/// Adds a node and the edges from its operands. Nothing is added if it throws.
int add_node(Dag& dag, const Node& node, std::span<const int> operands);

/// Takes away the nodes from `first` on: a builder that throws has added none.
void drop_nodes(Dag& dag, int first) noexcept;

/// The operands of a node, by slot.
std::vector<int> operands_of(const Dag& dag, int node);

} // namespace gf::detail
