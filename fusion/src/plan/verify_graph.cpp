#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>
#include <gridfold/ops/text.hpp>

#include "plan/format_id.hpp"
#include "plan/verify.hpp"

namespace gf::plan {

namespace {

/// The legal form of a kind of node: its number of operands (a map's is its row's) and whether its value may have dims.
struct NodeForm {
    NodeKind kind;
    int least_operands, most_operands;
    bool dims_allowed;
};
constexpr NodeForm node_forms[] = {
    {NodeKind::input, 0, 0, true}, {NodeKind::scalar, 0, 0, false}, {NodeKind::constant, 0, 0, false},
    {NodeKind::index, 0, 0, true}, {NodeKind::extent, 0, 0, false}, {NodeKind::map, 1, max_arity, true},
    {NodeKind::cast, 1, 1, true},  {NodeKind::shift, 1, 1, true},   {NodeKind::reduce, 1, max_arity + 1, true},
};

class GraphVerifier {
public:
    explicit GraphVerifier(const Graph& graph) : graph_(graph) {}

    void verify() const {
        std::set<std::string> names;
        for (const NodeId n : graph_.nodes()) {
            verify_node(n);
            const Node& node = graph_.node(n);
            if (node.kind == NodeKind::input || node.kind == NodeKind::scalar)
                require(!node.name.empty() && names.insert(node.name).second, n, "inputs have names of their own");
        }
        std::set<std::string> results;
        const NodeId end(graph_.node_count());
        for (const Graph::Output& output : graph_.outputs()) {
            require(output.node.valid() && output.node < end, end, "a result is a node");
            require(results.insert(output.name).second, end, "results have names of their own");
            std::vector<DimId> order = graph_.dims_of(output);
            std::sort(order.begin(), order.end());
            require(order == domain_of(graph_.node(output.node)), end, "a result lists each dim of its value once");
        }
    }

private:
    /// `node` is the one that breaks the rule, or the one after the last for a result.
    void require(bool holds, NodeId node, std::string_view rule) const {
        if (!holds) report(node, rule);
    }

    [[noreturn]] void report(NodeId node, std::string_view rule) const {
        // Prints only the nodes before it: only verified nodes can be printed.
        Graph legal = graph_.like();
        for (NodeId n(0); n < node; n = n.next()) legal.append(graph_.node(n), graph_.operands(n));
        throw InternalError(
            fmt::format("verify: node {} of {}: {}; before it:\n{}", node, graph_.node_count(), rule, to_text(legal)));
    }

    void verify_node(NodeId n) const {
        const Node& node = graph_.node(n);
        const std::vector<NodeId> operands = graph_.operands(n);
        const auto form = std::find_if(std::begin(node_forms), std::end(node_forms),
                                       [&](const NodeForm& f) { return f.kind == node.kind; });
        require(form != std::end(node_forms), n, "a node is of a known kind");
        const auto count = static_cast<int>(operands.size());
        require(count >= form->least_operands && count <= form->most_operands, n, "a node has its kind's operands");
        for (const NodeId operand : operands)
            require(operand.valid() && operand < n, n, "operands come before their users");
        require(form->dims_allowed || node.dims.empty(), n,
                "only inputs, indices, maps, casts, shifts and reductions have dims");
        const std::vector<DimId> domain = domain_of(node);
        require(std::adjacent_find(domain.begin(), domain.end()) == domain.end(), n, "a dim is listed once");
        for (const DimId dim : domain) require(graph_.dims().holds(dim), n, "a dim is declared");
        switch (node.kind) {
        case NodeKind::scalar:
        case NodeKind::constant: return;
        case NodeKind::input: return require(!node.dims.empty(), n, "an input without dims is a scalar");
        case NodeKind::index:
            require(node.type == DType::i64 && node.dims == std::vector{node.dim}, n, "an index is i64 over its dim");
            return;
        case NodeKind::extent:
            return require(node.type == DType::i64 && graph_.dims().holds(node.dim), n,
                           "an extent is i64, of a declared dim");
        case NodeKind::map: return verify_map(n, operands);
        case NodeKind::cast: return verify_dims(n, operands);
        case NodeKind::shift:
            verify_dims(n, operands);
            require(std::ranges::find(domain, node.dim) != domain.end(), n, "a shift is along a dim of its value");
            require(node.type == graph_.node(operands[0]).type, n, "a shift has its value's type");
            return require(node.offset != 0 && std::abs(node.offset) <= max_shift, n,
                           "a shift moves by some elements, at most 2^48");
        case NodeKind::reduce: return verify_reduce(n, operands);
        }
    }

    void verify_dims(NodeId n, const std::vector<NodeId>& operands) const {
        std::set<DimId> joined;
        for (const NodeId operand : operands)
            joined.insert(graph_.node(operand).dims.begin(), graph_.node(operand).dims.end());
        require(std::equal(joined.begin(), joined.end(), graph_.node(n).dims.begin(), graph_.node(n).dims.end()), n,
                "a value has the dims of its operands, increasing");
    }

    void verify_map(NodeId n, const std::vector<NodeId>& operands) const {
        const Node& node = graph_.node(n);
        require(node.map != nullptr, n, "a map names its row");
        require(static_cast<int>(operands.size()) == node.map->arity, n, "a map has its row's operands");
        verify_dims(n, operands);
        const bool is_test = node.map->rule == TypeRule::compare || node.map->rule == TypeRule::test;
        require(node.type == (is_test ? DType::boolean : node.compute), n, "a map has the type of its row's rule");
        for (std::size_t i = 0; i < operands.size(); ++i) {
            const bool is_condition = node.map->rule == TypeRule::select && i == 0;
            require(graph_.node(operands[i]).type == (is_condition ? DType::boolean : node.compute), n,
                    "a map's operands have the type it computes in");
        }
    }

    void verify_reduce(NodeId n, const std::vector<NodeId>& operands) const {
        const Node& node = graph_.node(n);
        require(node.reduce != nullptr, n, "a reduction names its row");
        const auto folded = static_cast<std::size_t>(node.reduce->monoid->operands);
        require(operands.size() == folded + (node.masked ? 1 : 0), n,
                "a reduction has its row's operands, and a masked one a mask");
        require(node.argument >= 0 && (node.argument == 0 || node.reduce->argument != ReduceArgument::none), n,
                "an argument is for reductions that take it");
        require(!node.otherwise || (node.reduce->on_empty == OnEmpty::undefined &&
                                    (node.masked || node.reduce->argument == ReduceArgument::rank)),
                n, "a result over nothing is for masked reductions, or of a rank, that may have none of their own");
        const std::vector<DimId> domain = domain_of(graph_.node(operands[0]));
        require(std::is_sorted(node.dims.begin(), node.dims.end()) &&
                    std::includes(domain.begin(), domain.end(), node.dims.begin(), node.dims.end()) &&
                    (node.dims.empty() || node.dims.size() < domain.size()),
                n, "a reduction keeps some of its value's dims, increasing, or none");
        for (const NodeId operand : operands)
            require(std::ranges::includes(domain, domain_of(graph_.node(operand))), n,
                    "the dims of a mask, and of a second operand, are those of the first, or some of them");
        require(!node.masked || graph_.node(operands.back()).type == DType::boolean, n, "a mask is bool");
    }

    const Graph& graph_;
};

} // namespace

void verify(const Graph& graph) { GraphVerifier(graph).verify(); }

} // namespace gf::plan
