// The container: dims, inputs, names, outputs, nodes and their edges. Checks of maps and reductions are in build.cpp.
#include <gridfold/ops/graph.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <gridfold/core/view.hpp>
#include <gridfold/ops/dag.hpp>
#include <gridfold/ops/nearest.hpp>

#include "refusal.hpp"

namespace gf {

namespace detail {

std::string in_quotes(std::string_view name) {
    constexpr std::size_t longest = 64;
    std::string text = "'";
    for (const char c : name.substr(0, longest)) text += c >= ' ' && c <= '~' ? c : '?';
    return text + (name.size() > longest ? "…'" : "'");
}

void check_name(std::string_view what, std::string_view name) {
    const std::string subject = fmt::format("{} {}", what, in_quotes(name));
    if (name.empty() || !starts_name(name.front()) || !std::all_of(name.begin(), name.end(), continues_name))
        throw refusal(subject, "a name is a letter or _, then letters, digits and _", "choose such a name");
    if (std::ranges::find(reserved_words, name) != std::end(reserved_words))
        throw refusal(subject, "the name is reserved by the text form", "choose another name");
    if (dtype_from_text(name)) throw refusal(subject, "the name is an element type's", "choose another name");
}

std::string describe(const Dag& dag, NodeId node) {
    const Node& n = dag[node.index()];
    std::string text;
    if (!n.name.empty())
        text = n.name;
    else if (n.kind == NodeKind::map)
        text = fmt::format("the result of {}", n.map->name);
    else if (n.kind == NodeKind::reduce)
        text = fmt::format("the result of {}", n.reduce->name);
    else if (n.kind == NodeKind::cast)
        text = "the result of a cast";
    else if (n.kind == NodeKind::shift)
        text = "the result of a shift";
    else if (n.kind == NodeKind::index || n.kind == NodeKind::extent)
        text = fmt::format("{}({})", n.kind == NodeKind::index ? "index" : "extent", dag.dims[n.dim].name);
    else
        text = "a constant";
    text += fmt::format(" ({}", to_text(n.type));
    for (std::size_t i = 0; i < n.dims.size(); ++i)
        text += fmt::format("{}{}", i == 0 ? "[" : ", ", dag.dims[n.dims[i]].name);
    return text + (n.dims.empty() ? ")" : "])");
}

NodeId add_node(Dag& dag, const Node& node, std::span<const NodeId> operands) {
    const auto vertex = boost::add_vertex(node, dag);
    try {
        // Boost cannot remove an edge of which only one end was added: room for both ends is reserved first.
        in_edge_list(dag, vertex).reserve(operands.size());
        for (std::size_t slot = 0; slot < operands.size(); ++slot) {
            const std::size_t operand = operands[slot].index();
            auto& readers = dag.out_edge_list(operand);
            if (readers.size() == readers.capacity()) readers.reserve(2 * readers.size() + 1);
            boost::add_edge(operand, vertex, OperandSlot{static_cast<int>(slot)}, dag);
        }
    } catch (...) { // out of memory
        drop_nodes(dag, NodeId(vertex));
        throw;
    }
    return NodeId(vertex);
}

void drop_nodes(Dag& dag, NodeId first) noexcept {
    for (std::size_t vertex = boost::num_vertices(dag); vertex-- > first.index();) {
        boost::clear_vertex(vertex, dag);
        boost::remove_vertex(vertex, dag);
    }
}

std::vector<NodeId> operands_of(const Dag& dag, NodeId node) {
    const auto [first, last] = boost::in_edges(node.index(), dag);
    std::vector<NodeId> operands(static_cast<std::size_t>(std::distance(first, last)));
    for (auto edge = first; edge != last; ++edge)
        operands[static_cast<std::size_t>(dag[*edge].slot)] = NodeId(boost::source(*edge, dag));
    return operands;
}

} // namespace detail

std::span<const NodeId> folded_operands(const Node& reduce, std::span<const NodeId> operands) {
    return operands.first(operands.size() - (reduce.masked ? 1 : 0));
}

NodeId mask_operand(const Node& reduce, std::span<const NodeId> operands) {
    return reduce.masked ? operands.back() : NodeId();
}

std::vector<DimId> domain_of(const Node& node) {
    std::vector<DimId> dims = node.dims;
    std::sort(dims.begin(), dims.end());
    return dims;
}

using detail::check_name;
using detail::in_quotes;
using detail::refusal;

std::string_view Dim::name() const { return dag_ ? std::string_view(dag_->dims[id_].name) : std::string_view(); }

namespace {

const Node& node_of(const Dag* dag, NodeId node) {
    if (!dag) throw refusal("a default-constructed Value", "it is not a value of any graph", "assign it first");
    return (*dag)[node.index()];
}

void check_range(const Dag& dag, NodeId node) {
    if (!node.valid() || node.index() >= boost::num_vertices(dag))
        throw InternalError(fmt::format("node {} of graph {}, which has {} nodes", node.number(), in_quotes(dag.name),
                                        boost::num_vertices(dag)));
}

} // namespace

DType Value::type() const { return node_of(dag_, node_).type; }

std::vector<Dim> Value::dims() const {
    std::vector<Dim> dims;
    for (const DimId dim : node_of(dag_, node_).dims) dims.push_back(dag_->dim(dim));
    return dims;
}

Graph::Graph(std::string name) {
    check_name("the graph", name);
    dag_ = std::make_unique<Dag>();
    dag_->name = std::move(name);
}
Graph::Graph(const Graph& other) : dag_(std::make_unique<Dag>(other.dag())) {}
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(const Graph& other) { return *this = Graph(other); }
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

const Dag& Graph::dag() const {
    if (!dag_) throw refusal("a moved-from Graph", "it has nothing left", "use the graph that it was moved to");
    return *dag_;
}
Dag& Graph::mutable_dag() { return const_cast<Dag&>(dag()); }

const std::string& Graph::name() const { return dag().name; }

Dim Graph::dim(std::string_view name, std::optional<std::int64_t> extent) {
    Dag& dag = mutable_dag();
    check_name("the dim", name);
    if (extent && *extent < 0)
        throw refusal(fmt::format("the dim {}", in_quotes(name)),
                      fmt::format("an extent is not negative, and this is {}", *extent), "give the number of elements");
    std::string text(name);
    if (dag.dim_names.contains(text))
        throw refusal(fmt::format("the dim {}", in_quotes(name)), "a graph declares a dim once",
                      "use the Dim that it gave");
    const DimId added = dag.dims.add({text, extent});
    try {
        dag.dim_names.insert(std::move(text));
    } catch (...) { // out of memory
        dag.dims.pop_back();
        throw;
    }
    return dag.dim(added);
}

Value Graph::input(std::string_view name, DType type, std::span<const Dim> dims) {
    Dag& dag = mutable_dag();
    check_name("the input", name);
    const std::string subject = fmt::format("the input {}", in_quotes(name));
    std::string text(name);
    if (dag.value_names.contains(text))
        throw refusal(subject, "another value of this graph has that name", "choose another name");
    if (dag.output_names.contains(text))
        throw refusal(subject, "an output has that name, and both are bound by name", "choose another name");
    if (dims.size() > static_cast<std::size_t>(max_rank))
        throw refusal(subject, fmt::format("an array has at most {} dims, and this has {}", max_rank, dims.size()),
                      "merge dims that are adjacent in memory");
    Node node{.kind = dims.empty() ? NodeKind::scalar : NodeKind::input, .type = type, .dims = {}, .name = text};
    for (const Dim& dim : dims) {
        if (dim.dag() != &dag)
            throw refusal(subject, "its dims must be of this graph", "declare them with dim() of the same graph");
        if (std::find(node.dims.begin(), node.dims.end(), dim.id()) != node.dims.end())
            throw refusal(subject,
                          fmt::format("an input lists a dim once, and {} is there twice", in_quotes(dim.name())),
                          "declare a second dim");
        node.dims.push_back(dim.id());
    }
    try {
        dag.value_names.insert(text);
        dag.input_names.insert(text);
        return dag.value(detail::add_node(dag, node, {}));
    } catch (...) { // out of memory
        dag.value_names.erase(text);
        dag.input_names.erase(text);
        throw;
    }
}

Value Graph::scalar(std::string_view name, DType type) { return input(name, type, {}); }

Value Graph::index(Dim dim) {
    Dag& dag = mutable_dag();
    if (dim.dag() != &dag)
        throw refusal(dim.valid() ? fmt::format("index({})", dim.name()) : "the index along a default-constructed Dim",
                      "the dim must be of this graph", "declare it with dim() of the same graph");
    Node node{.kind = NodeKind::index, .type = DType::i64, .dims = {dim.id()}, .name = {}};
    node.dim = dim.id();
    return dag.value(detail::add_node(dag, node, {}));
}

Value Graph::extent(Dim dim) {
    Dag& dag = mutable_dag();
    if (dim.dag() != &dag)
        throw refusal(dim.valid() ? fmt::format("extent({})", dim.name()) : "the extent of a default-constructed Dim",
                      "the dim must be of this graph", "declare it with dim() of the same graph");
    Node node{.kind = NodeKind::extent, .type = DType::i64, .dims = {}, .name = {}};
    node.dim = dim.id();
    return dag.value(detail::add_node(dag, node, {}));
}

Value Graph::let(std::string_view name, Value value) {
    Dag& dag = mutable_dag();
    check_name("the value", name);
    const std::string subject = fmt::format("the value {}", in_quotes(name));
    if (value.dag() != &dag) throw refusal(subject, "it must be a value of this graph", "name it in its own graph");
    std::string& given = dag[value.node().index()].name;
    if (!given.empty())
        throw refusal(subject, fmt::format("it already has the name {}", in_quotes(given)), "keep that name");
    std::string text(name);
    if (!dag.value_names.insert(text).second)
        throw refusal(subject, "another value of this graph has that name", "choose another name");
    given = std::move(text);
    return value;
}

namespace {

/// The dims of an output's array as it lists them; none if they are in the graph's order.
std::vector<DimId> checked_order(const Dag& dag, const std::string& subject, NodeId node, std::span<const Dim> order) {
    std::vector<DimId> dims;
    if (order.empty()) return dims;
    const std::vector<DimId> domain = domain_of(dag[node.index()]);
    const std::string value = detail::describe(dag, node);
    if (domain.empty())
        throw refusal(subject, fmt::format("an order of dims is for an array, and {} has no dims", value),
                      "leave the list of dims out");
    std::string all;
    for (const DimId dim : domain) all += (all.empty() ? "" : ", ") + dag.dims[dim].name;
    const std::string fix = fmt::format("list each of [{}] once, in the order of memory", all);
    for (const Dim& dim : order) {
        if (dim.dag() != &dag)
            throw refusal(subject, "its dims must be of this graph", "declare them with dim() of the same graph");
        if (std::ranges::find(domain, dim.id()) == domain.end())
            throw refusal(subject, fmt::format("it lists {}, but {} lacks that dim", in_quotes(dim.name()), value),
                          fix);
        if (std::ranges::find(dims, dim.id()) != dims.end())
            throw refusal(subject,
                          fmt::format("an output lists a dim once, and {} is there twice", in_quotes(dim.name())), fix);
        dims.push_back(dim.id());
    }
    for (const DimId dim : domain)
        if (std::ranges::find(dims, dim) == dims.end())
            throw refusal(subject, fmt::format("it lists no {}, a dim of {}", in_quotes(dag.dims[dim].name), value),
                          fix);
    if (dims == domain) dims.clear();
    return dims;
}

} // namespace

void Graph::output(std::string_view name, Value value, std::span<const Dim> order) {
    Dag& dag = mutable_dag();
    check_name("the output", name);
    const std::string subject = fmt::format("the output {}", in_quotes(name));
    std::string text(name);
    if (value.dag() != &dag)
        throw refusal(subject,
                      value.valid() ? "its value must be of this graph, and this is of another" : "it has no value",
                      "name a value that this graph gave");
    if (dag.output_names.contains(text)) throw refusal(subject, "another output has that name", "choose another name");
    if (dag.input_names.contains(text))
        throw refusal(subject, "an input has that name, and both are bound by name", "choose another name");
    append_output(std::move(text), value.node(), checked_order(dag, subject, value.node(), order));
}

void Graph::check_output(std::string_view name, const Value& value, DType type, bool is_array) const {
    if (value.dag() != &dag()) return; // output() refuses a value of another graph
    const std::string subject = fmt::format("the output {}", in_quotes(name));
    const Node& node = this->node(value.node());
    if (node.dims.empty() == is_array)
        throw refusal(subject, is_array ? "its value has no dims" : "its value has dims, and output<T> names a scalar",
                      is_array ? "use output<T>" : "use output_array<T>");
    if (node.type != type)
        throw refusal(subject,
                      fmt::format("its value is {}, and is to be read as {}", to_text(node.type), to_text(type)),
                      fmt::format("name the C++ type of {}, or cast the value", to_text(node.type)));
}

int Graph::node_count() const { return static_cast<int>(boost::num_vertices(dag())); }

const Node& Graph::node(NodeId node) const { return dag()[node.index()]; }

std::vector<NodeId> Graph::operands(NodeId node) const { return detail::operands_of(dag(), node); }

std::vector<NodeId> Graph::users(NodeId node) const {
    std::vector<NodeId> users;
    const auto [first, last] = boost::out_edges(node.index(), dag());
    for (auto edge = first; edge != last; ++edge) users.emplace_back(boost::target(*edge, dag()));
    return users;
}

const Table<DimId, Graph::DimInfo>& Graph::dims() const { return dag().dims; }
std::span<const Graph::Output> Graph::outputs() const { return dag().outputs; }
std::vector<DimId> Graph::dims_of(const Output& output) const {
    return output.order.empty() ? domain_of(node(output.node)) : output.order;
}

NodeId Graph::append(const Node& node, std::span<const NodeId> operands) {
    Dag& dag = mutable_dag();
    for (const NodeId operand : operands) check_range(dag, operand);
    if (!node.name.empty()) dag.value_names.insert(node.name);
    if (node.kind == NodeKind::input || node.kind == NodeKind::scalar) dag.input_names.insert(node.name);
    return detail::add_node(dag, node, operands);
}

Graph Graph::like() const {
    Graph graph(name());
    graph.dag_->dims = dag().dims;
    graph.dag_->dim_names = dag().dim_names;
    return graph;
}

void Graph::append_output(std::string name, NodeId node, std::vector<DimId> order) {
    Dag& dag = mutable_dag();
    check_range(dag, node);
    dag.outputs.push_back({name, node, std::move(order)});
    try {
        dag.output_names.insert(std::move(name));
    } catch (...) { // out of memory
        dag.outputs.pop_back();
        throw;
    }
}

Value Graph::value(NodeId node) {
    Dag& dag = mutable_dag();
    if (!node.valid() || node.number() >= node_count())
        throw InvalidGraph(fmt::format("there is no node {} in graph {}", node.number(), in_quotes(dag.name)),
                           fmt::format("its {} nodes are numbered from 0", node_count()), "ask for one of them");
    return dag.value(node);
}

Dim Graph::dim_at(DimId dim) const {
    if (!dag().dims.holds(dim))
        throw InvalidGraph(fmt::format("there is no dim {} in graph {}", dim.number(), in_quotes(dag().name)),
                           fmt::format("its {} dims are numbered from 0", dag().dims.size()), "ask for one of them");
    return dag().dim(dim);
}

} // namespace gf
