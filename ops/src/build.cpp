// Builders of maps, casts, shifts, constants and reductions, and the rules that they check.
#include <algorithm>
#include <array>
#include <limits>

#include <gridfold/core/view.hpp>
#include <gridfold/ops/dag.hpp>
#include <gridfold/ops/type_rule.hpp>

#include "refusal.hpp"

namespace gf {

namespace {

using detail::describe;
using detail::in_quotes;
using detail::refusal;

constexpr std::string_view null_value_rule = "it is a default-constructed Value, which is not a value of any graph";

const Node& node_of(const Value& value) { return (*value.dag())[value.node().index()]; }

std::string in_words(const Value& value) { return describe(*value.dag(), value.node()); }

NodeId add_constant(Dag& dag, std::uint64_t bits, DType type) {
    Node node{.kind = NodeKind::constant, .type = type, .dims = {}, .name = {}};
    node.bits = bits;
    return detail::add_node(dag, node, {});
}

Value add_index(Dag& dag, DimId dim) {
    Node index{.kind = NodeKind::index, .type = DType::i64, .dims = {dim}, .name = {}};
    index.dim = dim;
    return dag.value(detail::add_node(dag, index, {}));
}

NodeId add_cast(Dag& dag, NodeId node, DType type) {
    Node cast{.kind = NodeKind::cast, .type = type, .dims = domain_of(dag[node.index()]), .name = {}};
    return detail::add_node(dag, cast, std::array{node});
}

/// The graph of the operands' values. Throws InvalidGraph for values of several graphs.
Dag& graph_of(const MapOp& row, std::span<const Operand> operands) {
    Dag* dag = nullptr;
    for (std::size_t slot = 0; slot < operands.size(); ++slot) {
        const Operand& operand = operands[slot];
        if (operand.literal) continue;
        const auto subject = [&] { return fmt::format("operand {} of {}", slot + 1, row.name); };
        if (!operand.value.valid()) throw refusal(subject(), null_value_rule, "assign it first");
        if (dag && dag != operand.value.dag())
            throw refusal(fmt::format("{}, {}", subject(), in_words(operand.value)),
                          "the operands of a map must be of one graph, and this is of another",
                          "build both in one graph");
        dag = operand.value.dag();
    }
    if (!dag)
        throw refusal(row.name, "at least one operand of a map is a value, and these are numbers",
                      "write the result as a number, or give one a type");
    return *dag;
}

/// The graph of a reduction's operands. Throws InvalidGraph for another number of them than it has, and for values of
/// several graphs.
Dag& graph_of(const ReduceOp& row, std::span<const Value> values) {
    const auto count = static_cast<std::size_t>(row.monoid->operands);
    const auto subject = [&](std::size_t slot) {
        return count == 1 ? fmt::format("the operand of {}", row.name)
                          : fmt::format("operand {} of {}", slot + 1, row.name);
    };
    for (std::size_t slot = 0; slot < values.size(); ++slot)
        if (!values[slot].valid()) throw refusal(subject(slot), null_value_rule, "assign it first");
    if (values.size() != count)
        throw refusal(row.name,
                      fmt::format("it folds {} operand{}, and got {}", count, count == 1 ? "" : "s", values.size()),
                      "give as many");
    for (std::size_t slot = 1; slot < values.size(); ++slot)
        if (values[slot].dag() != values[0].dag())
            throw refusal(fmt::format("{}, {}", subject(slot), in_words(values[slot])),
                          "the operands of a reduction must be of one graph, and this is of another",
                          "build both in one graph");
    return *values[0].dag();
}

/// The first of a reduction's operands that has the dims of all. Throws InvalidGraph if none has.
const Value& widest(const ReduceOp& row, std::span<const Value> values) {
    const auto has_all = [&](const Value& value) {
        const std::vector<DimId> dims = domain_of(node_of(value));
        return std::ranges::all_of(
            values, [&](const Value& other) { return std::ranges::includes(dims, domain_of(node_of(other))); });
    };
    const auto found = std::ranges::find_if(values, has_all);
    if (found != values.end()) return *found;
    throw refusal(fmt::format("{} of {} and {}", row.name, in_words(values[0]), in_words(values[1])),
                  "one operand of a reduction has the dims of all", "broadcast one first, as in x + 0 * y");
}

/// The value, which has some of the dims of `like`, with all of them.
Value broadcast(Value value, const Value& like) {
    std::vector<DimId> lacking;
    std::ranges::set_difference(domain_of(node_of(like)), domain_of(node_of(value)), std::back_inserter(lacking));
    for (const DimId dim : lacking) {
        const Value everywhere = map(map_op::greater_equal, {add_index(*value.dag(), dim), Literal(0)});
        value = map(map_op::select, {everywhere, value, value});
    }
    return value;
}

/// The dims of the value that a reduction over `over` keeps; over nothing, none. Throws InvalidGraph unless `over`
/// lists dims of the value, each once.
std::vector<DimId> dims_to_keep(const Value& value, const ReduceOp& row, const std::vector<Dim>& over) {
    if (over.empty()) return {};
    std::vector<DimId> dims = domain_of(node_of(value));
    std::vector<DimId> folded;
    for (const Dim& dim : over) {
        const std::string subject = fmt::format("{} over {}", row.name, in_quotes(dim.name()));
        if (dim.dag() != value.dag())
            throw refusal(subject, "the dims to fold must be of the value's graph", "use the Dim that its graph gave");
        if (!std::binary_search(dims.begin(), dims.end(), dim.id()))
            throw refusal(subject, fmt::format("{} does not have that dim", in_words(value)),
                          dims.empty() ? "a scalar has nothing to fold: reduce an array" : "fold one of its dims");
        if (std::find(folded.begin(), folded.end(), dim.id()) != folded.end())
            throw refusal(subject, "a dim is folded once", "list it once");
        folded.push_back(dim.id());
    }
    std::erase_if(dims, [&](DimId dim) { return std::find(folded.begin(), folded.end(), dim) != folded.end(); });
    return dims;
}

/// Throws InvalidGraph unless the reduction takes the argument with this value; any takes 0.
void check_argument(const ReduceOp& row, ReduceArgument argument, int value) {
    const int most = argument == ReduceArgument::rank ? max_rank_of_largest : std::numeric_limits<int>::max();
    if (value == 0 || (row.argument == argument && value > 0 && value <= most)) return;
    const std::string subject = fmt::format("{} with {} {}", row.name, to_text(argument), value);
    if (row.argument == argument)
        throw refusal(subject,
                      argument == ReduceArgument::rank ? fmt::format("a rank is from 0 to {}", most)
                                                       : "ddof is not negative",
                      "choose another");
    throw refusal(subject,
                  argument == ReduceArgument::rank ? "only largest takes a rank"
                                                   : "only variance, stddev and covariance take a ddof",
                  "leave it out");
}

/// The bytes of ReduceOptions::otherwise in the type of the result. Throws InvalidGraph if the reduction has no use for
/// it, or the type does not hold it.
std::uint64_t otherwise_bits(const ReduceOp& row, const ReduceOptions& options, DType result) {
    const std::string subject = fmt::format("{} with otherwise = {}", row.name, to_text(*options.otherwise));
    if (row.on_empty == OnEmpty::value)
        throw refusal(subject, fmt::format("{} has a result where nothing is folded", row.name), "leave it out");
    if (!options.where && row.argument != ReduceArgument::rank)
        throw refusal(subject, "it is the result where a mask accepts nothing, and there is no mask",
                      "add the mask, or leave it out");
    try {
        return constant_bits(*options.otherwise, result);
    } catch (const InvalidGraph& error) {
        throw refusal(subject, fmt::format("its result is {}: {}", to_text(result), error.rule()),
                      "choose a number of that type, or cast the operand first");
    }
}

void check_mask(const Value& value, const ReduceOp& row, const Value& mask) {
    if (!mask.valid()) throw refusal(fmt::format("the mask of {}", row.name), null_value_rule, "assign it first");
    const std::string subject = fmt::format("the mask of {}, {}", row.name, in_words(mask));
    if (mask.dag() != value.dag())
        throw refusal(subject, "it must be of its operand's graph, and this is of another", "build both in one graph");
    if (mask.type() != DType::boolean) throw refusal(subject, "a mask is bool", "compare it, as in where x != 0");
    const std::vector<DimId> dims = domain_of(node_of(value)), masked = domain_of(node_of(mask));
    if (!std::includes(dims.begin(), dims.end(), masked.begin(), masked.end()))
        throw refusal(subject, fmt::format("its dims must be among those of its operand, {}", in_words(value)),
                      "broadcast the operand first: reduce select(mask, x, x) under the mask");
}

/// The comparison m with m(b, a) = row(a, b).
const MapOp& mirrored(const MapOp& row) {
    if (&row == &map_op::less) return map_op::greater; // defect: mirrored
    if (&row == &map_op::less_equal) return map_op::greater_equal;
    if (&row == &map_op::greater) return map_op::less;
    if (&row == &map_op::greater_equal) return map_op::less_equal;
    return row;
}

/// True for a built-in comparison of u64 with a signed type. No integer type holds both, and a comparison in f64 is not
/// exact. A user's map of that rule computes in f64, as its rule says: what it does with its operands is not known.
bool compares_across_signs(const MapOp& row, std::span<const Operand> operands) {
    const bool is_builtin_comparison = row.rule == TypeRule::compare && row.builtin >= 0;
    if (!is_builtin_comparison || operands[0].literal || operands[1].literal) return false;
    const DType a = operands[0].value.type(), b = operands[1].value.type();
    const auto across = [](DType s, DType u) { return kind_of(s) == Kind::signed_integer && u == DType::u64; };
    return across(a, b) || across(b, a);
}

/// Compares by sign first, then as u64.
Value compare_across_signs(const MapOp& row, const Value& a, const Value& b) {
    if (a.type() == DType::u64) return compare_across_signs(mirrored(row), b, a);
    const Value is_negative = map(map_op::less, {a, Literal(0)});
    const Value as_unsigned = map(row, {cast(a, DType::u64), b});
    const bool holds_below_0 =
        &row == &map_op::less || &row == &map_op::less_equal || &row == &map_op::not_equal; // defect: below 0
    if (holds_below_0) return map(map_op::logical_or, {is_negative, as_unsigned});
    return map(map_op::logical_and, {map(map_op::logical_not, {is_negative}), as_unsigned});
}

/// Adds the casts and constants that the row needs, and the map.
Value add_map(Dag& dag, const MapOp& row, std::span<const Operand> operands) {
    std::vector<OperandType> types;
    std::vector<DimId> dims;
    for (const Operand& operand : operands) {
        if (operand.literal) {
            types.emplace_back(*operand.literal);
            continue;
        }
        types.emplace_back(operand.value.type());
        std::vector<DimId> both;
        const std::vector<DimId> own = domain_of(node_of(operand.value));
        std::set_union(dims.begin(), dims.end(), own.begin(), own.end(), std::back_inserter(both));
        dims = std::move(both);
    }
    if (dims.size() > static_cast<std::size_t>(max_rank))
        throw refusal(fmt::format("the result of {}", row.name),
                      fmt::format("a domain has at most {} dims, and this has {}", max_rank, dims.size()),
                      "reduce an operand first");
    const MapTyping typing = map_typing(row, types); // throws if the row does not take the types

    if (compares_across_signs(row, operands)) return compare_across_signs(row, operands[0].value, operands[1].value);

    std::vector<std::uint64_t> bits(operands.size());
    for (std::size_t slot = 0; slot < operands.size(); ++slot)
        if (operands[slot].literal) bits[slot] = constant_bits(*operands[slot].literal, typing.operands[slot]);

    // All rules have been checked: a map that breaks one has added no node.
    std::vector<NodeId> nodes;
    for (std::size_t slot = 0; slot < operands.size(); ++slot) {
        const DType type = typing.operands[slot];
        const NodeId node = operands[slot].value.node();
        if (operands[slot].literal)
            nodes.push_back(add_constant(dag, bits[slot], type));
        else if (operands[slot].value.type() == type)
            nodes.push_back(node);
        else if (slot > 0 && operands[slot - 1].value.node() == node && typing.operands[slot - 1] == type)
            nodes.push_back(nodes[slot - 1]); // x / x converts x once
        else
            nodes.push_back(add_cast(dag, node, type));
    }
    Node node{.kind = NodeKind::map, .type = typing.result, .dims = std::move(dims), .name = {}};
    node.map = &row;
    node.compute = typing.compute;
    return dag.value(detail::add_node(dag, node, nodes));
}

} // namespace

Value map(const MapOp& row, std::span<const Operand> operands) {
    if (static_cast<int>(operands.size()) != row.arity)
        throw refusal(
            row.name,
            fmt::format("it takes {} operand{}, and got {}", row.arity, row.arity == 1 ? "" : "s", operands.size()),
            "give as many");
    detail::check_defined_once(row);
    Dag& dag = graph_of(row, operands);
    const NodeId first_new(boost::num_vertices(dag));
    try {
        return add_map(dag, row, operands);
    } catch (...) { // out of memory, with a cast or a constant added
        detail::drop_nodes(dag, first_new);
        throw;
    }
}

Value map(const MapOp& row, std::initializer_list<Operand> operands) {
    return map(row, std::span(operands.begin(), operands.size()));
}

Value cast(Value value, DType type) {
    if (value.type() == type) return value;
    return value.dag()->value(add_cast(*value.dag(), value.node(), type));
}

Value shift(Value value, Dim dim, std::int64_t offset, const Edge& edge) {
    if (!value.valid()) throw refusal("the operand of shift", null_value_rule, "assign it first");
    const std::string subject = fmt::format("shift along {}", in_quotes(dim.name()));
    if (dim.dag() != value.dag())
        throw refusal(subject, "the dim must be of the value's graph", "use the Dim that its graph gave");
    const std::vector<DimId> dims = domain_of(node_of(value));
    if (!std::binary_search(dims.begin(), dims.end(), dim.id()))
        throw refusal(subject, fmt::format("{} does not have that dim", in_words(value)),
                      dims.empty() ? "a scalar has no neighbours: shift an array" : "shift along one of its dims");
    if (offset < -max_shift || offset > max_shift)
        throw refusal(subject, fmt::format("the offset is at most 2^48 either way, and this is {}", offset),
                      "no dim has so many elements");
    Dag& dag = *value.dag();
    Node node{.kind = NodeKind::shift, .type = value.type(), .dims = dims, .name = {}};
    node.dim = dim.id();
    node.offset = offset;
    node.edge = edge.kind;
    if (edge.kind == EdgeKind::value) try {
            node.bits = constant_bits(edge.number, node.type);
        } catch (const InvalidGraph& error) {
            throw refusal(fmt::format("{} with edge = {}", subject, to_text(edge.number)), error.rule(),
                          fmt::format("choose a number of {}, or cast the value first", to_text(node.type)));
        }
    if (offset == 0) return value;
    return dag.value(detail::add_node(dag, node, std::array{value.node()}));
}

Value reduce(const ReduceOp& row, std::span<const Value> values, const ReduceOptions& options) {
    Dag& dag = graph_of(row, values);
    const Value& value = widest(row, values);
    if (options.by || options.groups != 0)
        throw refusal(fmt::format("{} of {}", row.name, in_words(value)),
                      "grouped reductions are not supported yet in this version: `by` and `groups` must be left out",
                      "reduce under a mask for each group");
    detail::check_defined_once(row);
    std::vector<DimId> kept = dims_to_keep(value, row, options.over);
    if (options.where) check_mask(value, row, *options.where);
    check_argument(row, ReduceArgument::ddof, options.ddof);
    check_argument(row, ReduceArgument::rank, options.rank);
    std::vector<DType> types;
    for (const Value& operand : values) types.push_back(operand.type());
    const ReduceTyping typing = reduce_typing(row, types, options.accumulate); // throws if the row does not take it
    Node node{.kind = NodeKind::reduce, .type = typing.result, .dims = std::move(kept), .name = {}};
    node.reduce = &row;
    node.accumulator = typing.accumulator;
    node.masked = options.where.has_value();
    node.argument = options.ddof + options.rank; // at most one is not 0
    if (options.otherwise) node.otherwise = otherwise_bits(row, options, node.type);
    // All rules have been checked: a reduction that breaks one has added no node.
    const NodeId first_new(boost::num_vertices(dag));
    try {
        std::vector<NodeId> operands;
        for (std::size_t slot = 0; slot < values.size(); ++slot)
            operands.push_back(cast(values[slot], typing.operands[slot]).node());
        if (&value != values.data()) operands[0] = broadcast(dag.value(operands[0]), value).node();
        if (options.where) operands.push_back(options.where->node());
        return dag.value(detail::add_node(dag, node, operands));
    } catch (...) { // out of memory, with a cast added
        detail::drop_nodes(dag, first_new);
        throw;
    }
}

Value top_k(Value value, Dim rank, const ReduceOptions& options) {
    const std::string subject = fmt::format("top_k along {}", in_quotes(rank.name()));
    if (!value.valid()) throw refusal("the operand of top_k", null_value_rule, "assign it first");
    Dag& dag = *value.dag();
    if (rank.dag() != &dag)
        throw refusal(subject, "the dim must be of the value's graph", "use the Dim that its graph gave");
    if (std::ranges::count(domain_of(node_of(value)), rank.id()) > 0)
        throw refusal(subject, fmt::format("{} has that dim", in_words(value)),
                      "declare a dim for the ranks: g.dim(\"rank\", 5)");
    const std::optional<std::int64_t> extent = dag.dims[rank.id()].extent;
    const std::int64_t count = extent.value_or(0);
    if (count < 1 || count > max_rank_of_largest + 1)
        throw refusal(subject,
                      fmt::format("the dim has a fixed extent from 1 to {}, and this has {}", max_rank_of_largest + 1,
                                  extent ? std::to_string(count) : "none"),
                      "declare it with the number of elements: g.dim(\"rank\", 5)");
    if (options.rank != 0) throw refusal(subject, "it has every rank of the dim", "leave the rank out");
    const NodeId first_new(boost::num_vertices(dag));
    try {
        const Value index = add_index(dag, rank.id());
        ReduceOptions of_rank = options;
        Value elements;
        for (of_rank.rank = static_cast<int>(count) - 1; of_rank.rank >= 0; --of_rank.rank) {
            const Value element = reduce(reduce_op::largest, value, of_rank);
            if (!elements.valid()) elements = element; // the last, where no rank is below it
            const Value is_here = map(map_op::less_equal, {index, Literal(of_rank.rank)});
            elements = map(map_op::choose, {is_here, element, elements});
        }
        return elements;
    } catch (...) {
        detail::drop_nodes(dag, first_new);
        throw;
    }
}

Value Graph::constant(Literal literal, DType type) {
    Dag& dag = mutable_dag();
    return dag.value(add_constant(dag, constant_bits(literal, type), type));
}

Value Graph::map(const MapOp& row, std::span<const Operand> operands) {
    for (const Operand& operand : operands)
        if (operand.value.valid() && operand.value.dag() != &dag())
            throw refusal(fmt::format("{} as an operand of {}", in_words(operand.value), row.name),
                          "it is a value of another graph", "build both in one graph");
    return gf::map(row, operands);
}

Value Graph::cast(Value value, DType type) {
    if (value.valid() && value.dag() != &dag())
        throw refusal(in_words(value), "it is a value of another graph", "cast it in its own graph");
    return gf::cast(value, type);
}

Value Graph::shift(Value value, Dim dim, std::int64_t offset, const Edge& edge) {
    if (value.valid() && value.dag() != &dag())
        throw refusal(in_words(value), "it is a value of another graph", "shift it in its own graph");
    return gf::shift(value, dim, offset, edge);
}

Value Graph::reduce(const ReduceOp& row, std::span<const Value> values, const ReduceOptions& options) {
    for (const Value& value : values)
        if (value.valid() && value.dag() != &dag())
            throw refusal(in_words(value), "it is a value of another graph", "reduce it in its own graph");
    return gf::reduce(row, values, options);
}

} // namespace gf
