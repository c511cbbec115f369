#include "passes/linearize.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace gf::plan {

namespace {

std::size_t at(int number) { return static_cast<std::size_t>(number); }

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

/// Writes one sweep's code. `values` and `phases` are by node, valid for the nodes of the sweep's slice only.
///
/// A scalar that may be empty is two values: itself, with empty_bits() if it is empty, and a bool. A scalar yielded by
/// an earlier sweep is read as both. A reduction is empty if its mask accepted nothing; a map if an operand is empty;
/// select only if its condition or the chosen operand is. Floating reductions are NaN instead of empty.
class SweepWriter {
public:
    SweepWriter(const Graph& graph, const Placement& placement, const std::vector<int>& parameter_of,
                const std::vector<int>& scalar_of, const std::vector<Scalar>& scalars, std::vector<int>& values,
                std::vector<int>& phases)
        : graph_(graph), placement_(placement), parameter_of_(parameter_of), scalar_of_(scalar_of), scalars_(scalars),
          values_(values), phases_(phases) {}

    Sweep write(int number) {
        const PlacedSweep& placed = placement_.sweeps[at(number)];
        number_ = number;
        sweep_.dims = placed.dims;
        sweep_.stage = placed.stage;
        sweep_.after = placed.after;
        sweep_.reason = placed.reason;
        for (const int node : placed.nodes) phases_[at(node)] = phase_of(node);
        const auto write_nodes = [&](int phase) {
            for (const int node : placed.nodes)
                if (phases_[at(node)] == phase) values_[at(node)] = value_of(node);
        };
        write_nodes(0);
        for (const int reduce : placed.reduces) add_folds(reduce);
        write_nodes(1);
        for (const PlacedStore& store : placed.stores) sweep_.stores.push_back({values_[at(store.node)], store.array});
        for (const int node : placed.yields)
            sweep_.yields.push_back({values_[at(node)], scalar_of_[at(node)], empty_of(node)});
        sort_by_phase();
        return std::move(sweep_);
    }

private:
    struct Folded {
        int fold;
        int acceptance = -1; ///< the Any fold over the mask
    };

    int size() const { return static_cast<int>(sweep_.code.size()); }

    /// The phase of a node of the slice, called after its operands'. A sweep folds values of phase 0.
    int phase_of(int n) const {
        if (is_fetched(graph_, placement_, number_, n)) return 0;
        if (graph_.node(n).kind == NodeKind::reduce) return 1;
        int phase = 0;
        for (const int operand : graph_.operands(n)) phase = std::max(phase, phases_[at(operand)]);
        return phase;
    }

    /// Sorts the code by phase, within a phase values without dims first, otherwise stable.
    void sort_by_phase() {
        std::vector<int> order(sweep_.code.size());
        std::iota(order.begin(), order.end(), 0);
        const auto key = [&](int value) {
            const Instruction& instruction = sweep_.code[at(value)];
            return std::pair(instruction.phase, !instruction.domain.empty());
        };
        std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
        std::vector<Instruction> code;
        std::vector<int> number(order.size());
        for (const int value : order) {
            number[at(value)] = static_cast<int>(code.size());
            code.push_back(sweep_.code[at(value)]);
        }
        const auto renumber = [&](int& value) {
            if (value >= 0) value = number[at(value)];
        };
        for (Instruction& instruction : code)
            for (int& operand : instruction.operands) renumber(operand);
        for (Fold& fold : sweep_.folds) renumber(fold.value), renumber(fold.mask);
        for (Store& store : sweep_.stores) renumber(store.value);
        for (Yield& yield : sweep_.yields) renumber(yield.value), renumber(yield.empty);
        sweep_.code = std::move(code);
    }

    /// Appends an instruction. Adds its operands' domains to its own and raises its phase to theirs.
    int append(Instruction instruction) {
        for (const int operand : instruction.operands) {
            if (operand < 0) continue;
            instruction.domain |= sweep_.code[at(operand)].domain;
            instruction.phase = std::max(instruction.phase, sweep_.code[at(operand)].phase);
        }
        sweep_.code.push_back(instruction);
        return size() - 1;
    }

    int append_with_slot(Opcode opcode, DType type, int slot, std::span<const int> dims = {}) {
        Instruction instruction{};
        instruction.opcode = opcode;
        instruction.type = type;
        instruction.slot = slot;
        instruction.domain = dim_set(sweep_, dims);
        return append(instruction);
    }

    int append_constant(DType type, std::uint64_t bits) {
        Instruction instruction{};
        instruction.opcode = Opcode::constant;
        instruction.type = type;
        instruction.bits = bits;
        return append(instruction);
    }

    int append_map(const MapOp& map, DType type, DType compute, const std::vector<int>& operands) {
        Instruction instruction{};
        instruction.opcode = Opcode::map;
        instruction.type = type;
        instruction.map = &map;
        instruction.compute = compute;
        std::copy(operands.begin(), operands.end(), instruction.operands.begin());
        return append(instruction);
    }

    int append_conversion(Opcode opcode, int value, DType to) {
        Instruction instruction{};
        instruction.opcode = opcode;
        instruction.type = value_type(to);
        if (opcode == Opcode::round) instruction.round_to = to;
        instruction.operands[0] = value;
        return append(instruction);
    }

    /// The value, rounded to the node's type if that is a half.
    int rounded(int node, int value) {
        const DType type = graph_.node(node).type;
        return is_half(type) ? append_conversion(Opcode::round, value, type) : value;
    }

    // Emptiness ----------------------------------------------------------------------------------------------------

    /// The constant empty_bits() of the type as a value.
    int nothing(DType type) {
        const auto [known, is_new] = nothing_.try_emplace(type, -1);
        if (is_new) known->second = append_constant(type, empty_bits(type));
        return known->second;
    }

    /// The bool value that is true if a scalar of the slice is empty; −1 = it never is.
    int empty_of(int n) {
        const Node& node = graph_.node(n);
        const auto [known, is_new] = empty_.try_emplace(n, -1);
        if (!is_new || !node.dims.empty()) return known->second;
        if (is_fetched(graph_, placement_, number_, n)) {
            const int slot = scalar_of_[at(n)];
            if (scalars_[at(slot)].may_be_empty)
                known->second = append_with_slot(Opcode::is_empty, DType::boolean, slot);
        } else if (node.kind == NodeKind::reduce && needs_acceptance(node) && !is_floating(node.type)) {
            known->second = rejected_all(n);
        } else if (node.kind == NodeKind::cast) { // a cast that writes no code: maps have set theirs when written
            known->second = empty_of(graph_.operands(n)[0]);
        }
        return known->second;
    }

    int either(int a, int b) {
        if (a < 0 || a == b) return b;
        return b < 0 ? a : append_map(map_op::logical_or, DType::boolean, DType::boolean, {a, b});
    }

    /// The bool value that is true if a map or cast of scalars is empty; −1 = it never is.
    int empty_of_operands(int n) {
        const Node& node = graph_.node(n);
        const std::vector<int> operands = graph_.operands(n);
        int empty = empty_of(operands[0]);
        if (node.kind != NodeKind::map || node.map != &map_op::select) {
            for (const int operand : operands) empty = either(empty, empty_of(operand));
            return empty;
        }
        const int first = empty_of(operands[1]), second = empty_of(operands[2]);
        if (first < 0 && second < 0) return empty;
        const int never = first < 0 || second < 0 ? nothing(DType::boolean) : -1;
        return either(empty,
                      append_map(map_op::select, DType::boolean, DType::boolean,
                                 {values_[at(operands[0])], first < 0 ? never : first, second < 0 ? never : second}));
    }

    /// The value of a map or cast, or nothing() if the scalar is empty.
    int unless_empty(int n, int value) {
        if (!graph_.node(n).dims.empty()) return value;
        const int empty = empty_of_operands(n);
        empty_[n] = empty;
        if (empty < 0) return value;
        const DType type = value_type(graph_.node(n).type);
        return append_map(map_op::select, type, type, {empty, nothing(type), value});
    }

    // Nodes --------------------------------------------------------------------------------------------------------

    int value_of(int n) {
        const Node& node = graph_.node(n);
        const DType type = value_type(node.type);
        if (is_fetched(graph_, placement_, number_, n))
            return node.dims.empty() ? append_with_slot(Opcode::read, type, scalar_of_[at(n)])
                                     : append_with_slot(Opcode::load, type, placement_.array_of[at(n)], node.dims);
        switch (node.kind) {
        case NodeKind::input: break; // inputs are always fetched
        case NodeKind::scalar:
        case NodeKind::extent: return append_with_slot(Opcode::parameter, type, parameter_of_[at(n)]);
        case NodeKind::constant: return append_constant(type, held_bits(node.type, node.bits));
        case NodeKind::index: return append_with_slot(Opcode::index, type, node.dim, node.dims);
        case NodeKind::map: return map_of(n);
        case NodeKind::cast: return cast_of(n);
        case NodeKind::reduce: return finalized(n);
        }
        return -1;
    }

    int map_of(int n) {
        const Node& node = graph_.node(n);
        std::vector<int> operands = graph_.operands(n);
        for (int& operand : operands) operand = values_[at(operand)];
        const int value = append_map(*node.map, value_type(node.type), value_type(node.compute), operands);
        return unless_empty(n, rounded(n, value));
    }

    /// Rounds f64 to f16 and bf16 directly; converts other types to them through f32.
    int cast_of(int n) {
        const Node& node = graph_.node(n);
        const int source = graph_.operands(n)[0];
        const DType from = graph_.node(source).type;
        int value = values_[at(source)];
        const bool rounds_itself = is_half(node.type) && from == DType::f64;
        if (sweep_.code[at(value)].type != value_type(node.type) && !rounds_itself)
            value = append_conversion(Opcode::cast, value, node.type);
        if (node.type != from) value = rounded(n, value);
        return value == values_[at(source)] ? value : unless_empty(n, value);
    }

    int find_or_add(const Fold& fold) {
        const auto found = std::find(sweep_.folds.begin(), sweep_.folds.end(), fold);
        if (found != sweep_.folds.end()) return static_cast<int>(found - sweep_.folds.begin());
        sweep_.folds.push_back(fold);
        return static_cast<int>(sweep_.folds.size()) - 1;
    }

    void add_folds(int reduce) {
        const Node& node = graph_.node(reduce);
        const std::vector<int> operands = graph_.operands(reduce);
        const int value = values_[at(operands[0])];
        const int mask = node.masked ? values_[at(operands[1])] : -1;
        Folded folded{};
        folded.fold =
            find_or_add({node.reduce->monoid, sweep_.code[at(value)].type, value_type(node.accumulator), value, mask});
        if (needs_acceptance(node))
            folded.acceptance = find_or_add({reduce_op::any.monoid, DType::boolean, DType::boolean, mask, -1});
        folded_[reduce] = folded;
    }

    int append_finalize(const ReduceOp& row, int fold, DType type, int ddof) {
        Instruction instruction{};
        instruction.opcode = Opcode::finalize;
        instruction.type = type;
        instruction.slot = fold;
        instruction.reduce = &row;
        instruction.element = sweep_.folds[at(fold)].element;
        instruction.accumulator = sweep_.folds[at(fold)].accumulator;
        instruction.ddof = ddof;
        instruction.domain = sweep_.folds[at(fold)].kept;
        instruction.phase = sweep_.folds[at(fold)].phase + 1;
        return append(instruction);
    }

    /// The bool value that is true if a masked reduction accepted any element.
    int accepted(int reduce) {
        const int fold = folded_.at(reduce).acceptance;
        const auto [known, is_new] = accepted_.try_emplace(fold, -1);
        if (is_new) known->second = append_finalize(reduce_op::any, fold, DType::boolean, 0);
        return known->second;
    }

    int rejected_all(int reduce) {
        const int some = accepted(reduce);
        const auto [known, is_new] = rejected_.try_emplace(some, -1);
        if (is_new) known->second = append_map(map_op::logical_not, DType::boolean, DType::boolean, {some});
        return known->second;
    }

    int finalized(int n) {
        const Node& node = graph_.node(n);
        const DType type = value_type(node.type);
        if (!needs_acceptance(node))
            return rounded(n, append_finalize(*node.reduce, folded_.at(n).fold, type, node.ddof));
        const int accepted_some = accepted(n);
        const int value = append_finalize(*node.reduce, folded_.at(n).fold, type, node.ddof);
        return rounded(n, append_map(map_op::select, type, type, {accepted_some, value, nothing(type)}));
    }

    const Graph& graph_;
    const Placement& placement_;
    const std::vector<int>& parameter_of_;
    const std::vector<int>& scalar_of_;
    const std::vector<Scalar>& scalars_;
    std::vector<int>& values_;
    std::vector<int>& phases_;
    int number_ = -1;
    Sweep sweep_;
    std::map<int, Folded> folded_; ///< by reduce node
    std::map<int, int> accepted_;  ///< by Any fold: its finalised value
    std::map<int, int> rejected_;  ///< by value: its negation
    std::map<DType, int> nothing_;
    std::map<int, int> empty_; ///< by scalar node: the results of empty_of() so far
};

/// Marks the dims that must have elements, with the first reduction that needs them.
void mark_needed_dims(const Graph& graph, const Placement& placement, std::vector<PlanDim>& dims) {
    for (const PlacedSweep& sweep : placement.sweeps)
        for (const int reduce : sweep.reduces) {
            const Node& node = graph.node(reduce);
            if (!node.reduce->needs_elements) continue;
            const Node& operand = graph.node(graph.operands(reduce)[0]);
            for (const int dim : operand.dims) {
                if (std::exchange(dims[at(dim)].must_not_be_empty, true)) continue;
                dims[at(dim)].needs_elements_of = fmt::format(
                    "{}({})", node.reduce->name, operand.name.empty() ? operation_of(operand) : operand.name);
            }
        }
}

} // namespace

Plan linearize(const Graph& graph, const Placement& placement) {
    Plan plan;
    plan.name = graph.name();
    for (const Graph::DimInfo& dim : graph.dims()) plan.dims.push_back({dim.name, dim.extent, false, {}});
    mark_needed_dims(graph, placement, plan.dims);
    plan.arrays = placement.arrays;

    std::vector<int> parameter_of(at(graph.node_count()), -1);
    for (int n = 0; n < graph.node_count(); ++n) {
        const Node& node = graph.node(n);
        if (node.kind != NodeKind::scalar && node.kind != NodeKind::extent) continue;
        parameter_of[at(n)] = static_cast<int>(plan.parameters.size());
        if (node.kind == NodeKind::scalar)
            plan.parameters.push_back({node.name, node.type});
        else
            plan.parameters.push_back({fmt::format("extent({})", plan.dims[at(node.dim)].name), node.type, node.dim});
    }
    std::vector<int> scalar_of(at(graph.node_count()), -1);
    for (const PlacedSweep& sweep : placement.sweeps)
        for (const int node : sweep.yields) {
            scalar_of[at(node)] = static_cast<int>(plan.scalars.size());
            plan.scalars.push_back({graph.node(node).type, false});
        }

    std::vector<int> values(at(graph.node_count()), -1);
    std::vector<int> phases(at(graph.node_count()), 0);
    for (int s = 0; s < static_cast<int>(placement.sweeps.size()); ++s) {
        SweepWriter writer(graph, placement, parameter_of, scalar_of, plan.scalars, values, phases);
        plan.sweeps.push_back(writer.write(s));
        for (const Yield& yield : plan.sweeps.back().yields)
            plan.scalars[at(yield.scalar)].may_be_empty = yield.empty >= 0;
    }
    for (std::size_t o = 0; o < graph.outputs().size(); ++o) {
        const Graph::Output& output = graph.outputs()[o];
        const int array = placement.output_array[o];
        plan.outputs.push_back({output.name, array < 0 ? scalar_of[at(output.node)] : -1, array});
    }
    return plan;
}

} // namespace gf::plan
