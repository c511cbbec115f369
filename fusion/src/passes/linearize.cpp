#include "passes/linearize.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace gf::plan {

namespace {

std::size_t at(int number) { return static_cast<std::size_t>(number); }

/// The bits of a constant as its sweep holds it: f16 and bf16 as f32.
std::uint64_t held_bits(DType type, std::uint64_t bits) {
    const auto low = static_cast<std::uint16_t>(bits);
    if (type == DType::f16) return std::bit_cast<std::uint32_t>(device::f16_to_f32(low));
    if (type == DType::bf16) return std::bit_cast<std::uint32_t>(device::bf16_to_f32(low));
    return bits;
}

enum class Section : std::uint8_t { prologue, body, epilogue };

/// Writes one sweep's code. `values` and `sections` are by node, valid for the nodes of the sweep's slice only.
class SweepWriter {
public:
    SweepWriter(const Graph& graph, const Placement& placement, const std::vector<int>& parameter_of,
                const std::vector<int>& scalar_of, const std::vector<Scalar>& scalars, std::vector<int>& values,
                std::vector<Section>& sections)
        : graph_(graph), placement_(placement), parameter_of_(parameter_of), scalar_of_(scalar_of), scalars_(scalars),
          values_(values), sections_(sections) {}

    Sweep write(int number) {
        const PlacedSweep& placed = placement_.sweeps[at(number)];
        number_ = number;
        sweep_.dims = placed.dims;
        sweep_.stage = placed.stage;
        sweep_.after = placed.after;
        sweep_.reason = placed.reason;
        for (const int node : placed.nodes) sections_[at(node)] = section_of(node);
        write_section(placed, Section::prologue);
        sweep_.body = size();
        write_section(placed, Section::body);
        sweep_.epilogue = size();
        for (const int reduce : placed.reduces) add_folds(reduce);
        write_section(placed, Section::epilogue);
        for (const PlacedStore& store : placed.stores) sweep_.stores.push_back({values_[at(store.node)], store.array});
        for (const int node : placed.yields) sweep_.yields.push_back({values_[at(node)], scalar_of_[at(node)]});
        return std::move(sweep_);
    }

private:
    struct Folded {
        int fold;
        int acceptance = -1; ///< the Any fold over the mask
    };

    int size() const { return static_cast<int>(sweep_.code.size()); }

    Section section_of(int n) const {
        const Node& node = graph_.node(n);
        if (is_fetched(graph_, placement_, number_, n) || node.kind == NodeKind::index)
            return node.dims.empty() ? Section::prologue : Section::body;
        if (node.kind == NodeKind::reduce) return Section::epilogue;
        if (!node.dims.empty()) return Section::body;
        for (const int operand : graph_.operands(n))
            if (sections_[at(operand)] == Section::epilogue) return Section::epilogue;
        return Section::prologue;
    }

    void write_section(const PlacedSweep& placed, Section section) {
        for (const int node : placed.nodes)
            if (sections_[at(node)] == section) values_[at(node)] = write_node(node);
    }

    Instruction& append(Opcode opcode, DType type) {
        Instruction instruction{};
        instruction.opcode = opcode;
        instruction.type = type;
        return sweep_.code.emplace_back(instruction);
    }

    int append_with_slot(Opcode opcode, int node, int slot) {
        append(opcode, value_type(graph_.node(node).type)).slot = slot;
        return size() - 1;
    }

    /// Appends an instruction on operands; a scalar of it may be empty where one of them may.
    int append_on(Instruction instruction, std::span<const int> operands, int node) {
        for (std::size_t i = 0; i < operands.size(); ++i) {
            instruction.operands[i] = operands[i];
            if (graph_.node(node).dims.empty() && sweep_.code[at(operands[i])].may_be_empty)
                instruction.may_be_empty = true;
        }
        sweep_.code.push_back(instruction);
        return size() - 1;
    }

    int append_round(int value, DType type, int node) {
        Instruction instruction{};
        instruction.opcode = Opcode::round;
        instruction.type = DType::f32;
        instruction.round_to = type;
        return append_on(instruction, std::span(&value, 1), node);
    }

    int write_node(int n) {
        const Node& node = graph_.node(n);
        if (is_fetched(graph_, placement_, number_, n)) {
            if (!node.dims.empty()) return append_with_slot(Opcode::load, n, placement_.array_of[at(n)]);
            const int value = append_with_slot(Opcode::read, n, scalar_of_[at(n)]);
            sweep_.code.back().may_be_empty = scalars_[at(scalar_of_[at(n)])].may_be_empty;
            return value;
        }
        switch (node.kind) {
        case NodeKind::input: break; // always fetched
        case NodeKind::scalar: return append_with_slot(Opcode::parameter, n, parameter_of_[at(n)]);
        case NodeKind::constant:
            append(Opcode::constant, value_type(node.type)).bits = held_bits(node.type, node.bits);
            return size() - 1;
        case NodeKind::index: return append_with_slot(Opcode::index, n, node.dim);
        case NodeKind::map: return write_map(n);
        case NodeKind::cast: return write_cast(n);
        case NodeKind::reduce: return write_finalize(n);
        }
        return -1;
    }

    int write_map(int n) {
        const Node& node = graph_.node(n);
        std::vector<int> operands = graph_.operands(n);
        for (int& operand : operands) operand = values_[at(operand)];
        Instruction instruction{};
        instruction.opcode = Opcode::map;
        instruction.type = value_type(node.type);
        instruction.map = node.map;
        instruction.compute = value_type(node.compute);
        const int value = append_on(instruction, operands, n);
        return is_half(node.type) ? append_round(value, node.type, n) : value;
    }

    /// From f64 to f16 and bf16 rounds once; everything else goes to them by way of f32.
    int write_cast(int n) {
        const Node& node = graph_.node(n);
        const int source = graph_.operands(n)[0];
        const DType from = graph_.node(source).type;
        int value = values_[at(source)];
        if (node.type == from) return value;
        const bool rounds_itself = is_half(node.type) && from == DType::f64;
        if (sweep_.code[at(value)].type != value_type(node.type) && !rounds_itself) {
            Instruction instruction{};
            instruction.opcode = Opcode::cast;
            instruction.type = value_type(node.type);
            value = append_on(instruction, std::span(&value, 1), n);
        }
        return is_half(node.type) ? append_round(value, node.type, n) : value;
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

    int append_finalize(const ReduceOp& row, int fold, DType type) {
        Instruction& instruction = append(Opcode::finalize, type);
        instruction.slot = fold;
        instruction.reduce = &row;
        instruction.element = sweep_.folds[at(fold)].element;
        instruction.accumulator = sweep_.folds[at(fold)].accumulator;
        return size() - 1;
    }

    int write_finalize(int n) {
        const Node& node = graph_.node(n);
        const Folded folded = folded_.at(n);
        int accepted = -1;
        if (folded.acceptance >= 0) {
            const auto [known, is_new] = accepted_.try_emplace(folded.acceptance, -1);
            if (is_new) known->second = append_finalize(reduce_op::any, folded.acceptance, DType::boolean);
            accepted = known->second;
        }
        const int value = append_finalize(*node.reduce, folded.fold, value_type(node.type));
        Instruction& instruction = sweep_.code.back();
        instruction.ddof = node.ddof;
        instruction.operands[0] = accepted;
        instruction.may_be_empty = accepted >= 0 && !is_floating(node.type);
        return is_half(node.type) ? append_round(value, node.type, n) : value;
    }

    const Graph& graph_;
    const Placement& placement_;
    const std::vector<int>& parameter_of_;
    const std::vector<int>& scalar_of_;
    const std::vector<Scalar>& scalars_;
    std::vector<int>& values_;
    std::vector<Section>& sections_;
    int number_ = -1;
    Sweep sweep_;
    std::map<int, Folded> folded_; ///< by reduce node
    std::map<int, int> accepted_;  ///< by Any fold: its finalised value
};

/// Marks the dims that must have elements, with the reduction that wants it.
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
        if (graph.node(n).kind != NodeKind::scalar) continue;
        parameter_of[at(n)] = static_cast<int>(plan.parameters.size());
        plan.parameters.push_back({graph.node(n).name, graph.node(n).type});
    }
    std::vector<int> scalar_of(at(graph.node_count()), -1);
    for (const PlacedSweep& sweep : placement.sweeps)
        for (const int node : sweep.yields) {
            scalar_of[at(node)] = static_cast<int>(plan.scalars.size());
            plan.scalars.push_back({graph.node(node).type, false});
        }

    std::vector<int> values(at(graph.node_count()), -1);
    std::vector<Section> sections(at(graph.node_count()), Section::prologue);
    for (int s = 0; s < static_cast<int>(placement.sweeps.size()); ++s) {
        SweepWriter writer(graph, placement, parameter_of, scalar_of, plan.scalars, values, sections);
        plan.sweeps.push_back(writer.write(s));
        for (const Yield& yield : plan.sweeps.back().yields)
            plan.scalars[at(yield.scalar)].may_be_empty = plan.sweeps.back().code[at(yield.value)].may_be_empty;
    }
    for (std::size_t o = 0; o < graph.outputs().size(); ++o) {
        const Graph::Output& output = graph.outputs()[o];
        const int array = placement.output_array[o];
        plan.outputs.push_back({output.name, array < 0 ? scalar_of[at(output.node)] : -1, array});
    }
    return plan;
}

} // namespace gf::plan
