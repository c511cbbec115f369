// Counts the features of cases and plans. See coverage.hpp.
#include "coverage.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include <cuda/emit_cuda.hpp>
#include <fmt/format.h>
#include <gridfold/ops/type_rule.hpp>

#include "plan/plan_text.hpp"

namespace gf::oracle {

namespace {

/// The nodes that an output depends on.
std::set<NodeId> live_nodes(const Graph& graph) {
    std::set<NodeId> live;
    for (const auto& output : graph.outputs()) live.insert(output.node);
    for (NodeId n(graph.node_count() - 1); n.valid(); n = NodeId(n.number() - 1))
        if (live.contains(n))
            for (const NodeId operand : graph.operands(n)) live.insert(operand);
    return live;
}

/// The name of a constant that passes or the text form treat specially, else "number".
std::string_view special_name(DType type, Bits bits) {
    if (is_floating(type)) {
        const double number = number_of(bits, type);
        if (std::isnan(number)) return "nan";
        if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
        if (number == 0) return std::signbit(number) ? "-0" : "0";
        return number == 1 ? "1" : "number";
    }
    const Wide integer = integer_of(bits, type);
    if (integer == 0) return "0";
    if (integer == 1) return type == DType::boolean ? "all ones" : "1";
    if (bits == wrap(-1, type)) return "all ones";
    return integer == lowest_of(type) ? "lowest" : integer == highest_of(type) ? "highest" : "number";
}

std::string_view kind_name(DType type) { return is_floating(type) ? "floating" : "integer"; }

void count_map(const Graph& graph, const Node& node, const std::vector<NodeId>& operands, Coverage& coverage) {
    ++coverage[fmt::format("map {}", node.map->name)];
    ++coverage[fmt::format("compute {}", to_text(node.compute))];
    ++coverage[fmt::format("map {} in {}", node.map->name, to_text(node.compute))];
    // The patterns of simplify's rules.
    for (std::size_t slot = 0; slot < operands.size(); ++slot)
        if (const Node& operand = graph.node(operands[slot]); operand.kind == NodeKind::constant)
            ++coverage[fmt::format("{} with {} as {} {}", node.map->name, special_name(operand.type, operand.bits),
                                   kind_name(node.compute), slot)];
    if (operands.size() > 1 && operands[operands.size() - 2] == operands.back())
        ++coverage[fmt::format("{} of equals", node.map->name)];
    const Node& inner = graph.node(operands[0]);
    if (operands.size() == 1 && inner.kind == NodeKind::map && inner.map == node.map && inner.compute == node.compute)
        ++coverage[fmt::format("{} twice", node.map->name)];
}

void count_reduce(const Graph& graph, const Node& node, const std::vector<NodeId>& operands, Coverage& coverage) {
    const Node& operand = graph.node(operands[0]);
    ++coverage[fmt::format("reduce {}", node.reduce->name)];
    ++coverage[fmt::format("reduce {} of {}", node.reduce->name, to_text(operand.type))];
    std::vector<DType> types;
    for (const NodeId folded : folded_operands(node, operands)) types.push_back(graph.node(folded).type);
    if (node.accumulator != reduce_typing(*node.reduce, types, {}).accumulator)
        ++coverage[fmt::format("reduce {} of {} in {}", node.reduce->name, to_text(operand.type),
                               to_text(node.accumulator))];
    if (node.reduce->argument != ReduceArgument::none)
        ++coverage[fmt::format("{} {} of {}", to_text(node.reduce->argument), node.argument, node.reduce->name)];
    if (operand.dims.empty()) ++coverage["reduce a scalar"];
    if (!node.dims.empty()) { // which of its merged dims it keeps: "keeps k f" for rows, "f k" for columns
        std::string pattern = "keeps";
        for (const DimId dim : domain_of(operand)) {
            const bool kept = std::ranges::binary_search(node.dims, dim);
            if (!pattern.ends_with(kept ? " k" : " f")) pattern += kept ? " k" : " f";
        }
        ++coverage[pattern];
        if (node.masked) ++coverage[pattern + " masked"];
    }
    if (!node.masked) return;
    if (node.otherwise) ++coverage["otherwise"];
    ++coverage["other mask"];
    ++coverage[fmt::format("reduce {} of {} masked", node.reduce->name, to_text(operand.type))];
    const Node& mask = graph.node(operands.back());
    if (mask.kind == NodeKind::constant)
        ++coverage[mask.bits != 0 ? "mask true" : "mask false"];
    else if (mask.dims.empty())
        ++coverage["mask a scalar"];
    else if (mask.dims.size() < operand.dims.size())
        ++coverage["mask of fewer dims"];
}

void count_input(const Case& test, const Node& node, Coverage& coverage) {
    ++coverage[fmt::format("input {}", to_text(node.type))];
    if (!std::ranges::is_sorted(node.dims)) ++coverage["input permuted"];
    if (node.dims.size() < test.extents.size()) ++coverage["input broadcast"];
    if (element_count(test, node) == 0) ++coverage["input empty"];
}

// Plans --------------------------------------------------------------------------------------------------------------

/// By value: true if it may be empty. linearize writes such a value as a read, or as a select with a constant operand:
/// for a reduction that accepted nothing, or for a map or cast (perhaps rounded) with an empty operand.
Table<ValueId, bool> maybe_empty_values(const Plan& plan, const Sweep& sweep) {
    Table<ValueId, bool> maybe_empty(sweep.code.size());
    const auto& code = sweep.code;
    const auto computed_from_empty = [&](ValueId v) {
        if (code[v].opcode == Opcode::round) v = code[v].operands[0];
        if (code[v].opcode == Opcode::read) return false;
        return std::ranges::any_of(code[v].operands, [&](ValueId o) { return o.valid() && maybe_empty[o]; });
    };
    for (const ValueId v : code.ids()) {
        const Instruction& i = code[v];
        if (i.opcode == Opcode::read) maybe_empty[v] = plan.scalars[i.scalar].may_be_empty;
        if (i.map != &map_op::select) continue;
        if (code[i.operands[2]].opcode == Opcode::constant && code[i.operands[1]].opcode == Opcode::finalize)
            maybe_empty[v] = !is_floating(i.type);
        if (code[i.operands[1]].opcode == Opcode::constant && computed_from_empty(i.operands[2])) maybe_empty[v] = true;
    }
    return maybe_empty;
}

void count_code(const Plan& plan, const Sweep& sweep, Coverage& coverage) {
    const Table<ValueId, bool> maybe_empty = maybe_empty_values(plan, sweep);
    for (const ValueId v : sweep.code.ids()) {
        const Instruction& i = sweep.code[v];
        const char* const section = is_once_before(i)          ? "prologue"
                                    : is_per_element(sweep, i) ? "body"
                                    : is_per_result(sweep, i)  ? "results"
                                                               : "epilogue";
        const std::string what = fmt::format("{} {}", section, name_of(i.opcode));
        ++coverage[what];
        if (i.opcode == Opcode::load)
            ++coverage[what + (is_flat(plan.arrays[i.array], sweep) ? " in order" : " by strides")];
        if (i.opcode == Opcode::index) ++coverage[what + (sweep.dims.size() > 1 ? " of several" : " of one")];
        if (i.opcode == Opcode::finalize)
            ++coverage[what + (i.reduce->on_empty == OnEmpty::undefined ? " what may be nothing" : " a value")];
        if (!maybe_empty[v]) continue;
        // The other operand of the select is the computed value.
        const bool of_reduction = i.opcode != Opcode::read && sweep.code[i.operands[1]].opcode == Opcode::finalize;
        const Instruction& made = i.opcode == Opcode::read ? i : sweep.code[i.operands[of_reduction ? 1 : 2]];
        ++coverage[fmt::format("{} {} {} maybe empty", section, name_of(made.opcode),
                               is_floating(i.type) ? "floating" : "integer")];
        for (std::size_t slot = 0; slot < 3; ++slot)
            if (made.map == &map_op::select && maybe_empty[made.operands[slot]])
                ++coverage[fmt::format("{} select of maybe empty {}", section, slot)];
    }
}

void count_folds(const Sweep& sweep, Coverage& coverage) {
    int steps = 0;
    for (const Fold& fold : sweep.folds) {
        ++coverage[fmt::format("fold {} {}", fold.monoid->name, !fold.mask.valid() ? "of all" : "masked")];
        steps += fold.monoid->traits(fold.element, fold.accumulator, fold.mask.valid()).in_steps ? 1 : 0;
        const auto once = [&](ValueId v) { return is_once_before(sweep.code[v]); };
        if (once(fold.value)) ++coverage["fold of a prologue value"];
        if (fold.mask.valid() && once(fold.mask)) ++coverage["fold masked by a prologue value"];
    }
    if (steps > 0) ++coverage[steps == static_cast<int>(sweep.folds.size()) ? "steps alone" : "steps beside others"];
}

void count_schedule(const Plan& plan, const Sweep& sweep, Coverage& coverage) {
    const cuda::Schedule schedule = cuda::choose_schedule(plan, sweep);
    ++coverage[fmt::format("schedule width {}", schedule.width)];
    const char* const flight = schedule.in_flight == 1   ? "1"
                               : schedule.in_flight < 4  ? "2 to 3"
                               : schedule.in_flight < 12 ? "4 to 11"
                                                         : "12 to 16";
    ++coverage[fmt::format("schedule in flight {}", flight)];
    int words = 0;
    for (const Fold& fold : sweep.folds) words += fold.monoid->state_words(fold.element, fold.accumulator);
    for (const int above : {0, 1, 6, 8, 16, 24})
        if (words > above) ++coverage[fmt::format("words above {}", above)];
    if (words % 2 == 1 && words > 1) ++coverage["words odd"];
    if (sweep.folds.empty())
        ++coverage[sweep.yields.empty() ? "sweep that stores" : "sweep that yields without folding"];
    if (sweep.folds.empty() && !sweep.yields.empty() && !sweep.stores.empty())
        ++coverage["sweep that stores and yields"];
    if (!sweep.folds.empty() && !sweep.stores.empty()) ++coverage["sweep that stores and folds"];
    if (sweep.stores.size() > 1) ++coverage["sweep of several stores"];
    if (sweep.dims.empty()) ++coverage["sweep of no dims"];
    std::set<ArrayId> loaded;
    bool in_order = !sweep.stores.empty();
    for (const Instruction& i : sweep.code) {
        if (i.opcode != Opcode::load) continue;
        const Array& array = plan.arrays[i.array];
        loaded.insert(i.array);
        in_order |= i.steps.empty() && is_flat(array, sweep);
    }
    if (!in_order) ++coverage["sweep without arrays in order"];
    ++coverage[fmt::format("sweep of {} arrays", loaded.size() > 8 ? "many" : std::to_string(loaded.size()))];
    for (const std::string_view reason :
         {"another domain", "other dims", "fit a GPU's registers", "most 64 arrays", "→"})
        if (sweep.reason.find(reason) != std::string::npos) ++coverage[fmt::format("sweep because of {}", reason)];
}

} // namespace

void count(const Case& test, Coverage& coverage) {
    const Graph& graph = test.graph;
    for (const NodeId n : live_nodes(graph)) {
        const Node& node = graph.node(n);
        const std::vector<NodeId> operands = graph.operands(n);
        switch (node.kind) {
        case NodeKind::input: count_input(test, node, coverage); break;
        case NodeKind::scalar: ++coverage[fmt::format("scalar {}", to_text(node.type))]; break;
        case NodeKind::constant:
            ++coverage["other constant"];
            ++coverage[fmt::format("constant {}", to_text(node.type))];
            ++coverage[fmt::format("constant {}", special_name(node.type, node.bits))];
            break;
        case NodeKind::index: ++coverage["other index"]; break;
        case NodeKind::extent: ++coverage["other extent"]; break;
        case NodeKind::map: count_map(graph, node, operands, coverage); break;
        case NodeKind::cast:
            ++coverage[fmt::format("cast to {}", to_text(node.type))];
            ++coverage[fmt::format("cast {} to {}", to_text(graph.node(operands[0]).type), to_text(node.type))];
            if (graph.node(operands[0]).kind == NodeKind::cast) ++coverage["cast of a cast"];
            break;
        case NodeKind::shift: {
            const NodeKind of = graph.node(operands[0]).kind;
            ++coverage[node.edge == EdgeKind::value   ? "shift with a number"
                       : node.edge == EdgeKind::clamp ? "shift that clamps"
                                                      : "shift that wraps"];
            if (of == NodeKind::shift) ++coverage["shift of a shift"];
            if (of == NodeKind::reduce) ++coverage["shift of results"];
            if (of == NodeKind::map) ++coverage["shift of a map"];
            break;
        }
        case NodeKind::reduce: count_reduce(graph, node, operands, coverage); break;
        }
    }
    std::set<NodeId> yielded;
    for (const auto& output : graph.outputs()) {
        const Node& node = graph.node(output.node);
        ++coverage[fmt::format("{} {}", node.dims.empty() ? "yield" : "store", to_text(node.type))];
        if (!output.order.empty()) ++coverage["output in an order of its own"];
        if (!yielded.insert(output.node).second) ++coverage["one value as two outputs"];
    }
    for (const auto& dim : graph.dims())
        if (dim.extent) ++coverage["dim fixed"];
    ++coverage[fmt::format("rank {}", test.extents.size())];
    ++coverage[fmt::format("outputs {}", graph.outputs().size())];
}

void count(const Plan& plan, Coverage& coverage) {
    for (const Output& output : plan.outputs)
        if (output.validity.valid()) {
            const auto stores = [&](const Sweep& sweep) {
                return std::ranges::any_of(sweep.stores, [&](const Store& s) { return s.array == output.validity; });
            };
            const bool is_folded = !std::ranges::find_if(plan.sweeps, stores)->folds.empty();
            ++coverage[is_folded ? "results that may be empty" : "maps that may be empty"];
        }
    int stages = 0;
    for (const Sweep& sweep : plan.sweeps) {
        count_code(plan, sweep, coverage);
        count_folds(sweep, coverage);
        count_schedule(plan, sweep, coverage);
        stages = std::max(stages, sweep.stage);
        for (const Yield& yield : sweep.yields) ++coverage[yield.empty.valid() ? "yield maybe empty" : "yield a value"];
    }
    ++coverage[fmt::format("stages {}", stages)];
    ++coverage[plan.sweeps.size() == 1  ? "plan of 1 sweep"
               : plan.sweeps.size() < 6 ? "plan of some sweeps"
                                        : "plan of many sweeps"];
}

std::vector<std::string> missing(const Coverage& coverage, const std::vector<std::string>& wanted, int at_least) {
    std::vector<std::string> lacking;
    for (const std::string& what : wanted) {
        const auto counted = coverage.find(what);
        const int times = counted == coverage.end() ? 0 : counted->second;
        if (times < at_least) lacking.push_back(fmt::format("{}: {} times", what, times));
    }
    return lacking;
}

std::string to_text(const Coverage& coverage) {
    std::string text;
    for (const auto& [what, times] : coverage) text += fmt::format("{:>8}  {}\n", times, what);
    return text;
}

} // namespace gf::oracle
