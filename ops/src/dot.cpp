// The graph as Graphviz, through Boost's writer.
#include <gridfold/ops/dot.hpp>

#include <ostream>
#include <vector>

#include <boost/graph/graphviz.hpp>
#include <fmt/format.h>

#include <gridfold/ops/dag.hpp>
#include <gridfold/ops/text.hpp>

namespace gf {

namespace {

// Line breaks are Graphviz's escape sequence.
std::string label(const Dag& dag, const Node& node) {
    std::string text;
    switch (node.kind) {
    case NodeKind::input:
    case NodeKind::scalar: text = node.name; break;
    case NodeKind::constant: text = constant_text(node.type, node.bits); break;
    case NodeKind::index: text = fmt::format("index({})", dag.dims[node.dim].name); break;
    case NodeKind::extent: text = fmt::format("extent({})", dag.dims[node.dim].name); break;
    case NodeKind::map: text = node.map->name; break;
    case NodeKind::cast: text = "cast"; break;
    case NodeKind::shift: text = fmt::format("shift({}, {})", dag.dims[node.dim].name, node.offset); break;
    case NodeKind::reduce: text = node.reduce->name; break;
    }
    if (node.kind != NodeKind::input && node.kind != NodeKind::scalar && !node.name.empty())
        text = fmt::format("{} = {}", node.name, text);
    text += fmt::format("\\n{}", to_text(node.type));
    for (std::size_t i = 0; i < node.dims.size(); ++i)
        text += fmt::format("{}{}", i == 0 ? "[" : ", ", dag.dims[node.dims[i]].name);
    return text + (node.dims.empty() ? "" : "]");
}

std::string_view shape(NodeKind kind) {
    switch (kind) {
    case NodeKind::input:
    case NodeKind::scalar: return "box";
    case NodeKind::constant: return "plaintext";
    case NodeKind::index:
    case NodeKind::extent:
    case NodeKind::map:
    case NodeKind::shift:
    case NodeKind::cast: return "ellipse";
    case NodeKind::reduce: return "invtrapezium";
    }
    return "";
}

} // namespace

void write_dot(std::ostream& out, const Graph& graph) {
    const Dag& dag = graph.dag();
    std::vector<std::string> results(boost::num_vertices(dag));
    for (const Graph::Output& output : graph.outputs()) results[output.node.index()] += "\\n-> " + output.name;
    const auto write_node = [&](std::ostream& stream, std::size_t vertex) {
        const Node& node = dag[vertex];
        stream << "[label=" << boost::escape_dot_string(label(dag, node) + results[vertex])
               << ", shape=" << shape(node.kind) << (results[vertex].empty() ? "]" : ", peripheries=2]");
    };
    const auto write_edge = [&](std::ostream& stream, const auto& edge) {
        const Node& reader = dag[boost::target(edge, dag)];
        if (reader.kind == NodeKind::reduce && dag[edge].slot == reader.reduce->monoid->operands)
            stream << "[label=where, style=dashed]";
        else if (boost::in_degree(boost::target(edge, dag), dag) > 1)
            stream << "[label=" << dag[edge].slot << "]";
    };
    const auto write_graph = [&](std::ostream& stream) { stream << "rankdir=TB;\nlabel=" << dag.name << ";\n"; };
    boost::write_graphviz(out, dag, write_node, write_edge, write_graph);
}

} // namespace gf
