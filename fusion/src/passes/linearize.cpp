#include "passes/linearize.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>

#include "plan/format_id.hpp"
#include "plan/order_code.hpp"

namespace gf::plan {

namespace {

/// The bits of a constant as a value of a sweep: f16 and bf16 as f32.
std::uint64_t held_bits(DType type, std::uint64_t bits) {
    const auto low = static_cast<std::uint16_t>(bits);
    if (type == DType::f16) return std::bit_cast<std::uint32_t>(device::f16_to_f32(low));
    if (type == DType::bf16) return std::bit_cast<std::uint32_t>(device::bf16_to_f32(low));
    return bits;
}

/// The bits of an empty scalar: 0, or NaN for floating types.
std::uint64_t empty_bits(DType type) {
    if (type == DType::f64) return std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN());
    return type == DType::f32 ? std::bit_cast<std::uint32_t>(std::numeric_limits<float>::quiet_NaN()) : 0;
}

bool selects(const MapOp& map) { return &map == &map_op::select || &map == &map_op::choose; }

/// Writes one sweep's code. `values` and `phases` are by node, valid for the nodes of the sweep's slice only.
///
/// What may be empty (emptiness.hpp) is two values: itself, empty_bits() where it is empty, and a bool. A scalar
/// yielded by an earlier sweep is read as both; of an array, an earlier sweep has also stored which elements are not
/// empty.
class SweepWriter {
public:
    SweepWriter(const Graph& graph, const Placement& placement, const Table<NodeId, ParameterId>& parameter_of,
                const Table<NodeId, ScalarId>& scalar_of, Table<NodeId, ValueId>& values, Table<NodeId, int>& phases)
        : graph_(graph), placement_(placement), parameter_of_(parameter_of), scalar_of_(scalar_of), values_(values),
          phases_(phases) {}

    Sweep write(SweepId number) {
        const PlacedSweep& placed = placement_.sweeps[number];
        number_ = number;
        sweep_.dims = placed.dims;
        sweep_.stage = placed.stage;
        sweep_.after = placed.after;
        sweep_.reason = placed.reason;
        for (const NodeId node : placed.nodes) phases_[node] = phase_of(node);
        const auto write_nodes = [&](int phase) {
            for (const NodeId node : placed.nodes)
                if (phases_[node] == phase) values_[node] = value_of(node);
        };
        write_nodes(0);
        for (const NodeId reduce : placed.reduces) add_folds(reduce);
        write_nodes(1);
        for (const PlacedStore& store : placed.stores)
            sweep_.stores.push_back({store.of_validity ? stored_validity(store.node) // defect: stored validity
                                                       : before_rounding(values_[store.node], store.array),
                                     store.array});
        for (const NodeId node : placed.yields)
            sweep_.yields.push_back({values_[node], scalar_of_[node], empty_of(node)});
        keep_values(sweep_, used_values(sweep_)); // without roundings that stores do themselves
        return std::move(sweep_);
    }

private:
    struct Folded {
        FoldId fold;
        FoldId acceptance = {}; ///< the fold over the mask: acceptance_of()
    };

    /// The phase of a node of the slice, called after its operands'. A sweep folds values of phase 0.
    int phase_of(NodeId n) const {
        if (is_fetched(graph_, placement_, number_, n)) return 0;
        if (graph_.node(n).kind == NodeKind::reduce) return 1;
        int phase = 0;
        for (const NodeId operand : graph_.operands(n)) phase = std::max(phase, phases_[operand]);
        return phase;
    }

    /// The f32 value that a value to be stored in a half array is rounded from, because storing it rounds it the same
    /// way; else the value.
    ValueId before_rounding(ValueId value, ArrayId array) const {
        const Instruction& i = sweep_.code[value];
        const bool rounds_again = i.opcode == Opcode::round && i.round_to == placement_.arrays[array].type &&
                                  sweep_.code[i.operands[0]].type == DType::f32; // defect: rounds again
        return rounds_again ? i.operands[0] : value;
    }

    /// Appends an instruction. Adds its operands' domains to its own and raises its phase to theirs.
    ValueId append(Instruction instruction) {
        for (const ValueId operand : instruction.operands) {
            if (!operand.valid()) continue;
            instruction.domain |= sweep_.code[operand].domain;
            instruction.phase = std::max(instruction.phase, sweep_.code[operand].phase);
        }
        return sweep_.code.add(instruction);
    }

    ValueId append_load(DType type, ArrayId array, std::span<const DimId> dims, std::vector<Step> steps = {}) {
        return append({.opcode = Opcode::load,
                       .type = type,
                       .array = array,
                       .steps = std::move(steps),
                       .domain = dim_set(sweep_, dims)});
    }

    /// What a shift in the slice loads: the first value below it that is fetched, and the steps to it.
    std::pair<NodeId, std::vector<Step>> source_of(NodeId n) const {
        std::vector<Step> steps;
        while (!is_fetched(graph_, placement_, number_, n) && graph_.node(n).kind == NodeKind::shift) {
            const Node& node = graph_.node(n);
            steps.push_back({node.dim, node.offset, node.edge == EdgeKind::wrap});
            n = graph_.operands(n)[0];
        }
        if (!is_fetched(graph_, placement_, number_, n))
            throw InternalError(fmt::format("linearize: node {} is shifted and not loaded", n));
        return {n, std::move(steps)};
    }

    ValueId append_index(DimId dim) {
        return append({.opcode = Opcode::index, .type = DType::i64, .dim = dim, .domain = dim_set(sweep_, {&dim, 1})});
    }

    ValueId append_parameter(DType type, ParameterId parameter) {
        return append({.opcode = Opcode::parameter, .type = type, .parameter = parameter, .domain = {}});
    }

    /// Opcode::read or Opcode::is_empty.
    ValueId append_of_scalar(Opcode opcode, DType type, ScalarId scalar) {
        return append({.opcode = opcode, .type = type, .scalar = scalar, .domain = {}});
    }

    ValueId append_constant(DType type, std::uint64_t bits) {
        return append({.opcode = Opcode::constant, .type = type, .bits = bits, .domain = {}});
    }

    ValueId append_map(const MapOp& map, DType type, DType compute, const std::vector<ValueId>& operands) {
        Instruction instruction{.opcode = Opcode::map, .type = type, .map = &map, .compute = compute, .domain = {}};
        std::copy(operands.begin(), operands.end(), instruction.operands.begin());
        return append(instruction);
    }

    ValueId append_cast(ValueId value, DType to) {
        return append({.opcode = Opcode::cast, .type = value_type(to), .operands = {value}, .domain = {}});
    }

    /// The value, rounded to the node's type if that is a half.
    ValueId rounded(NodeId node, ValueId value) {
        const DType type = graph_.node(node).type;
        if (!is_half(type)) return value;
        return append(
            {.opcode = Opcode::round, .type = value_type(type), .operands = {value}, .round_to = type, .domain = {}});
    }

    // Emptiness ----------------------------------------------------------------------------------------------------

    /// The constant empty_bits() of the type as a value.
    ValueId nothing(DType type) {
        const auto [known, is_new] = nothing_.try_emplace(type);
        if (is_new) known->second = append_constant(type, empty_bits(type));
        return known->second;
    }

    /// The bool value that is true where a value of the slice is empty; none: it never is.
    ValueId empty_of(NodeId n) {
        const Node& node = graph_.node(n);
        const auto [known, is_new] = empty_.try_emplace(n);
        if (!is_new || !placement_.may_be_empty[n]) return known->second;
        if (is_fetched(graph_, placement_, number_, n))
            known->second = node.dims.empty()
                                ? append_of_scalar(Opcode::is_empty, DType::boolean, scalar_of_[n])
                                : negated(append_load(DType::boolean, placement_.validity_of[n], node.dims));
        else if (node.kind == NodeKind::shift) {
            auto [source, steps] = source_of(n);
            known->second =
                negated(append_load(DType::boolean, placement_.validity_of[source], node.dims, std::move(steps)));
        } else if (node.kind == NodeKind::reduce)
            known->second = negated(accepted(n));
        else if (node.kind == NodeKind::cast) // a cast that writes no code: maps have set theirs when written
            known->second = empty_of(graph_.operands(n)[0]);
        return known->second;
    }

    /// The bool value that is true where a value of the slice that may be empty is not.
    ValueId valid_of(NodeId n) {
        const bool is_folded = folded_.contains(n);
        return is_folded ? accepted(n) : negated(empty_of(n));
    }

    /// valid_of() along all dims of the node: the operands of a `choose` pass emptiness on where they are broadcast.
    ValueId stored_validity(NodeId n) {
        ValueId valid = valid_of(n);
        for (const DimId dim : graph_.node(n).dims) {
            const DimSet own = dim_set(sweep_, {&dim, 1});
            if ((sweep_.code[valid].domain.bits() & own.bits()) != 0) continue;
            const ValueId here = append_map(map_op::greater_equal, DType::boolean, DType::i64,
                                            {append_index(dim), append_constant(DType::i64, 0)});
            valid = append_map(map_op::logical_and, DType::boolean, DType::boolean, {valid, here});
        }
        return valid;
    }

    ValueId negated(ValueId value) {
        const auto [known, is_new] = negations_.try_emplace(value);
        if (is_new) known->second = append_map(map_op::logical_not, DType::boolean, DType::boolean, {value});
        return known->second;
    }

    ValueId either(ValueId a, ValueId b) {
        if (!a.valid() || a == b) return b;
        return !b.valid() ? a : append_map(map_op::logical_or, DType::boolean, DType::boolean, {a, b}); // defect: or
    }

    /// The bool value that is true where a map or cast is empty; none: it never is.
    ValueId empty_of_operands(NodeId n) {
        const Node& node = graph_.node(n);
        const std::vector<NodeId> operands = graph_.operands(n);
        const auto passed_on = [&](NodeId operand) {
            return passes_emptiness(graph_, placement_.may_be_empty, n, operand) ? empty_of(operand) : ValueId();
        };
        ValueId empty = passed_on(operands[0]);
        if (node.kind != NodeKind::map || !selects(*node.map)) { // defect: select
            for (const NodeId operand : operands) empty = either(empty, passed_on(operand));
            return empty;
        }
        const ValueId first = passed_on(operands[1]), second = passed_on(operands[2]);
        if (!first.valid() && !second.valid()) return empty;
        const ValueId never = first.valid() && second.valid() ? ValueId() : nothing(DType::boolean);
        return either(empty, append_map(map_op::select, DType::boolean, DType::boolean,
                                        {values_[operands[0]], first.valid() ? first : never, // defect: choices
                                         second.valid() ? second : never}));                  // defect: choices
    }

    /// The value of a map or cast, or nothing() where it is empty.
    ValueId unless_empty(NodeId n, ValueId value) {
        if (!placement_.may_be_empty[n]) return value; // defect: elementwise
        const ValueId empty = empty_of_operands(n);
        empty_[n] = empty;
        const DType type = value_type(graph_.node(n).type);
        return append_map(map_op::select, type, type, {empty, nothing(type), value});
    }

    // Nodes --------------------------------------------------------------------------------------------------------

    ValueId value_of(NodeId n) {
        const Node& node = graph_.node(n);
        const DType type = value_type(node.type);
        if (is_fetched(graph_, placement_, number_, n))
            return node.dims.empty() ? append_of_scalar(Opcode::read, type, scalar_of_[n])
                                     : append_load(type, placement_.array_of[n], node.dims);
        switch (node.kind) {
        case NodeKind::input: break; // inputs are always fetched
        case NodeKind::scalar:
        case NodeKind::extent: return append_parameter(type, parameter_of_[n]);
        case NodeKind::constant: return append_constant(type, held_bits(node.type, node.bits));
        case NodeKind::index: return append_index(node.dim);
        case NodeKind::map: return map_of(n);
        case NodeKind::cast: return cast_of(n);
        case NodeKind::shift: {
            auto [source, steps] = source_of(n);
            return append_load(type, placement_.array_of[source], node.dims, std::move(steps));
        }
        case NodeKind::reduce: return finalized(n);
        }
        return {};
    }

    ValueId map_of(NodeId n) {
        const Node& node = graph_.node(n);
        std::vector<ValueId> operands;
        for (const NodeId operand : graph_.operands(n)) operands.push_back(values_[operand]);
        const ValueId value = append_map(*node.map, value_type(node.type), value_type(node.compute), operands);
        return unless_empty(n, rounded(n, value)); // defect: rounded
    }

    /// Rounds f64 to f16 and bf16 directly; converts other types to them through f32.
    ValueId cast_of(NodeId n) {
        const Node& node = graph_.node(n);
        const NodeId source = graph_.operands(n)[0];
        const DType from = graph_.node(source).type;
        ValueId value = values_[source];
        const bool rounds_itself = is_half(node.type) && from == DType::f64;
        if (sweep_.code[value].type != value_type(node.type) && !rounds_itself) value = append_cast(value, node.type);
        if (node.type != from) value = rounded(n, value);
        return value == values_[source] ? value : unless_empty(n, value);
    }

    FoldId find_or_add(const Fold& fold) {
        const auto found = std::find(sweep_.folds.begin(), sweep_.folds.end(), fold);
        if (found != sweep_.folds.end()) return FoldId(found - sweep_.folds.begin());
        return sweep_.folds.add(fold);
    }

    void add_folds(NodeId reduce) {
        const Node& node = graph_.node(reduce);
        const std::vector<NodeId> operands = graph_.operands(reduce);
        const MonoidOp& monoid = *node.reduce->monoid;
        std::vector<ValueId> values;
        for (const NodeId operand : folded_operands(node, operands)) values.push_back(values_[operand]);
        if (monoid.rule == OperandRule::payload) values.back() = payload_of(values.back());
        Fold fold{.monoid = &monoid,
                  .element = sweep_.code[values[0]].type,
                  .accumulator = value_type(node.accumulator),
                  .value = values[0],
                  .kept = dim_set(sweep_, node.dims)};
        std::copy(values.begin() + 1, values.end(), fold.others.begin());
        const NodeId mask = mask_operand(node, operands);
        if (mask.valid()) fold.mask = values_[mask]; // defect: mask
        Folded folded{};
        folded.fold = find_or_add(fold);
        if (is_undefined_over_nothing(node)) {
            Fold acceptance{.monoid = acceptance_of(node).monoid,
                            .element = DType::boolean,
                            .accumulator = DType::boolean,
                            .value = node.masked ? fold.mask : everywhere(),
                            .kept = fold.kept};
            folded.acceptance = find_or_add(acceptance); // defect: acceptance
        }
        folded_[reduce] = folded;
    }

    /// The constant that is true for each element.
    ValueId everywhere() {
        if (!everywhere_.valid()) everywhere_ = append_constant(DType::boolean, 1);
        return everywhere_;
    }

    ValueId payload_of(ValueId value) {
        const auto [known, is_new] = payloads_.try_emplace(value);
        if (is_new)
            known->second = append({.opcode = Opcode::payload, .type = DType::u64, .operands = {value}, .domain = {}});
        return known->second;
    }

    ValueId append_finalize(const ReduceOp& row, FoldId id, DType type, int argument) {
        const Fold& fold = sweep_.folds[id];
        return append({.opcode = Opcode::finalize,
                       .type = type,
                       .fold = id,
                       .reduce = &row,
                       .element = fold.element,
                       .accumulator = fold.accumulator,
                       .argument = argument,
                       .domain = fold.kept,
                       .phase = fold.phase + 1});
    }

    /// The bool value that is true if a reduction accepted enough elements: any, or more than its rank.
    ValueId accepted(NodeId reduce) {
        const FoldId fold = folded_.at(reduce).acceptance;
        const Node& node = graph_.node(reduce);
        const int rank = rank_of(node);
        const auto [known, is_new] = accepted_.try_emplace({fold, rank});
        if (!is_new) return known->second;
        if (&acceptance_of(node) == &reduce_op::any)
            return known->second = append_finalize(reduce_op::any, fold, DType::boolean, 0);
        const ValueId count = append_finalize(reduce_op::count, fold, DType::i64, 0);
        const ValueId before = append_constant(DType::i64, static_cast<std::uint64_t>(rank));
        return known->second = append_map(map_op::greater, DType::boolean, DType::i64, {count, before});
    }

    ValueId finalized(NodeId n) {
        const Node& node = graph_.node(n);
        const DType type = value_type(node.type);
        if (!is_undefined_over_nothing(node))
            return rounded(n, append_finalize(*node.reduce, folded_.at(n).fold, type, node.argument));
        const ValueId accepted_some = accepted(n);
        const ValueId value = append_finalize(*node.reduce, folded_.at(n).fold, type, node.argument);
        const ValueId instead = node.otherwise ? append_constant(type, held_bits(node.type, *node.otherwise))
                                               : nothing(type); // defect: instead
        return rounded(
            n, append_map(map_op::select, type, type, {accepted_some, value, instead})); // defect: accepted some
    }

    const Graph& graph_;
    const Placement& placement_;
    const Table<NodeId, ParameterId>& parameter_of_;
    const Table<NodeId, ScalarId>& scalar_of_;
    Table<NodeId, ValueId>& values_;
    Table<NodeId, int>& phases_;
    SweepId number_;
    Sweep sweep_;
    std::map<NodeId, Folded> folded_;                    ///< by reduce node
    std::map<std::pair<FoldId, int>, ValueId> accepted_; ///< by fold over the mask, and rank
    std::map<ValueId, ValueId> negations_;
    std::map<ValueId, ValueId> payloads_;
    ValueId everywhere_;
    std::map<DType, ValueId> nothing_;
    std::map<NodeId, ValueId> empty_; ///< the results of empty_of() so far
};

/// Lists the dims that must have elements, with the first reduction that needs them.
void list_needed_dims(const Graph& graph, const Placement& placement, Table<DimId, PlanDim>& dims) {
    for (const PlacedSweep& sweep : placement.sweeps)
        for (const NodeId reduce : sweep.reduces) {
            const Node& node = graph.node(reduce);
            if (!node.reduce->needs_elements || node.otherwise) continue; // defect: over no element
            const Node& operand = graph.node(graph.operands(reduce)[0]);
            for (const DimId dim : operand.dims) {
                if (std::binary_search(node.dims.begin(), node.dims.end(), dim)) continue;
                std::vector<NeedsElements>& needs = dims[dim].needs_elements;
                // One that is needed whatever else is empty says all.
                if (std::ranges::any_of(needs,
                                        [&](const NeedsElements& n) { return n.kept.empty() || n.kept == node.dims; }))
                    continue;
                if (node.dims.empty()) needs.clear();
                needs.push_back({fmt::format("{}({})", node.reduce->name,
                                             operand.name.empty() ? operation_of(operand) : operand.name),
                                 node.dims});
            }
        }
}

} // namespace

Plan linearize(const Graph& graph, const Placement& placement) {
    Plan plan;
    plan.name = graph.name();
    for (const Graph::DimInfo& dim : graph.dims()) plan.dims.push_back({dim.name, dim.extent, {}});
    list_needed_dims(graph, placement, plan.dims);
    plan.arrays = placement.arrays;

    const auto nodes = static_cast<std::size_t>(graph.node_count());
    Table<NodeId, ParameterId> parameter_of(nodes);
    for (const NodeId n : graph.nodes()) {
        const Node& node = graph.node(n);
        if (node.kind == NodeKind::scalar)
            parameter_of[n] = plan.parameters.add({node.name, node.type});
        else if (node.kind == NodeKind::extent)
            parameter_of[n] =
                plan.parameters.add({fmt::format("extent({})", plan.dims[node.dim].name), node.type, node.dim});
    }
    Table<NodeId, ScalarId> scalar_of(nodes);
    for (const PlacedSweep& sweep : placement.sweeps)
        for (const NodeId node : sweep.yields) {
            scalar_of[node] = plan.scalars.add({graph.node(node).type, false});
        }

    Table<NodeId, ValueId> values(nodes);
    Table<NodeId, int> phases(nodes);
    for (const SweepId s : placement.sweeps.ids()) {
        SweepWriter writer(graph, placement, parameter_of, scalar_of, values, phases);
        plan.sweeps.push_back(writer.write(s));
        for (const Yield& yield : plan.sweeps.back().yields)
            plan.scalars[yield.scalar].may_be_empty = yield.empty.valid();
    }
    for (std::size_t o = 0; o < graph.outputs().size(); ++o) {
        const Graph::Output& output = graph.outputs()[o];
        const ArrayId array = placement.output_array[o];
        plan.outputs.push_back(
            {output.name, array.valid() ? ScalarId() : scalar_of[output.node], array, placement.output_validity[o]});
    }
    return plan;
}

} // namespace gf::plan
