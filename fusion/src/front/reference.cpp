// Comparing a run with the unfused graph on the CPU.
#include "front/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include <gridfold/core/buffer.hpp>
#include <gridfold/core/device.hpp>
#include <gridfold/core/stream.hpp>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/text.hpp>

#include "front/number.hpp"

namespace gf::detail {
namespace {

constexpr double no_bound = std::numeric_limits<double>::infinity();

/// The distance from 1 to the next number, the greatest relative size of an ulp; 0 for exact types.
double epsilon_of(DType type) {
    switch (type) {
    case DType::f16: return 0x1p-10;
    case DType::bf16: return 0x1p-7;
    case DType::f32: return 0x1p-23;
    case DType::f64: return 0x1p-52;
    case DType::boolean:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64: return 0;
    }
    return 0;
}

double smallest_normal(DType type) {
    if (type == DType::f16) return 0x1p-14;
    return type == DType::f64 ? std::numeric_limits<double>::min() : double{std::numeric_limits<float>::min()};
}

double largest_finite(DType type) {
    switch (type) {
    case DType::f16: return 65504;
    case DType::bf16: return 0x1.FEp127;
    case DType::f32: return double{std::numeric_limits<float>::max()};
    default: return std::numeric_limits<double>::max();
    }
}

/// The relative error of a map, from those of its operands.
double map_tolerance(const Node& node, std::span<const double> operands) {
    const MapOp* const row = node.map;
    const double epsilon = epsilon_of(node.type);
    const double worst = operands.empty() ? 0 : *std::max_element(operands.begin(), operands.end());
    if (worst == 0) return row->facts.exact ? 0 : row->ulps * std::max(epsilon, epsilon_of(node.compute));
    if (row == &map_op::neg || row == &map_op::abs || row == &map_op::min || row == &map_op::max) return worst;
    if (row == &map_op::mul || row == &map_op::divide) return operands[0] + operands[1] + epsilon;
    if (row == &map_op::sqrt) return worst / 2 + epsilon;
    if (row == &map_op::select && operands[0] == 0) return worst;
    return no_bound;
}

double cast_tolerance(const Node& node, double operand) {
    if (operand == 0) return 0;
    return is_floating(node.type) ? operand + epsilon_of(node.type) : no_bound;
}

double reduce_tolerance(const Node& node, std::span<const double> operands) {
    const double worst = *std::max_element(operands.begin(), operands.end());
    if (worst == 0) return node.reduce->ulps * epsilon_of(node.type);
    const bool picks = node.reduce == &reduce_op::min || node.reduce == &reduce_op::max;
    const bool mask_is_exact = operands.size() == 1 || operands[1] == 0;
    return picks && mask_is_exact && is_floating(node.type) ? worst : no_bound;
}

/// Owns host copies of device arrays.
class HostCopies {
public:
    explicit HostCopies(Target target) : target_(target) {}
    /// The view itself, or a copy of it in host memory.
    View of(const View& view) {
        const std::size_t bytes = element_count(view.extents) * size_of(view.type);
        if (view.memory != Memory::device || bytes == 0) return view;
        copies_.emplace_back(bytes);
        const CurrentDevice current(target_.ordinal);
        const Stream stream(target_.ordinal, StreamKind::independent);
        copy_to_host(copies_.back().address(), view.address, bytes, stream);
        stream.wait();
        return copies_.back().view(view.type, view.extents);
    }

private:
    Target target_;
    std::vector<HostBuffer> copies_;
};

std::uint64_t element(const View& view, std::size_t index) {
    const std::size_t bytes = size_of(view.type);
    std::uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const char*>(view.address) + index * bytes, bytes);
    return bits;
}

/// The number of the first element that is not close; empty if all are.
std::optional<std::size_t> first_difference(const View& a, const View& b, double tolerance) {
    const std::size_t count = element_count(a.extents);
    if (count == 0 || std::memcmp(a.address, b.address, count * size_of(a.type)) == 0) return {};
    for (std::size_t i = 0; i < count; ++i)
        if (!is_close(a.type, element(a, i), element(b, i), tolerance)) return i;
    return {};
}

[[noreturn]] void throw_difference(const Plan& plan, const std::string& where, DType type, std::uint64_t got,
                                   std::uint64_t expected) {
    throw InternalError(
        fmt::format("verify: {} is {}, but the unfused graph gives {} on the cpu; please report this, with "
                    "the graph:\n{}",
                    where, constant_text(type, got), constant_text(type, expected), plan.graph_text));
}

} // namespace

std::vector<double> output_tolerances(const Graph& graph) {
    Table<NodeId, double> nodes;
    std::vector<double> operands;
    for (const NodeId n : graph.nodes()) {
        const Node& node = graph.node(n);
        operands.clear();
        for (const NodeId operand : graph.operands(n)) operands.push_back(nodes[operand]);
        switch (node.kind) {
        case NodeKind::input:
        case NodeKind::scalar:
        case NodeKind::constant:
        case NodeKind::index:
        case NodeKind::extent: nodes.push_back(0); break;
        case NodeKind::map: nodes.push_back(map_tolerance(node, operands)); break;
        case NodeKind::cast: nodes.push_back(cast_tolerance(node, operands[0])); break;
        case NodeKind::reduce: nodes.push_back(reduce_tolerance(node, operands)); break;
        }
    }
    std::vector<double> tolerances;
    for (const Graph::Output& output : graph.outputs()) tolerances.push_back(nodes[output.node]);
    return tolerances;
}

bool is_close(DType type, std::uint64_t a, std::uint64_t b, double tolerance) {
    if (a == b || tolerance == no_bound) return true;
    if (!is_floating(type)) return false;
    double x = to_double(type, a), y = to_double(type, b);
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
    if (tolerance == 0) return false;
    // Infinity counts as the largest number: an error may cause an overflow.
    x = std::clamp(x, -largest_finite(type), largest_finite(type));
    y = std::clamp(y, -largest_finite(type), largest_finite(type));
    return std::abs(x - y) <= tolerance * std::max({std::abs(x), std::abs(y), smallest_normal(type)});
}

Reference::Reference(const Graph& graph, Target target) : target_(target) {
    FuseOptions options;
    options.fuse = false;
    auto plan = std::make_shared<const Plan>(fuse(graph, options));
    build_ = build_cpu(plan, {});
    signature_ = make_signature(graph, std::move(plan));
    tolerances_ = target.is_cpu() ? std::vector<double>(graph.outputs().size(), 0.0) : output_tolerances(graph);
}

void Reference::check(const GivenSlots& given, std::span<const Results::Entry> entries) const {
    const Plan& plan = *signature_.plan;
    HostCopies copies(target_);
    GivenSlots inputs = given;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (signature_.slots[i].kind == SlotKind::output)
            inputs[i] = {};
        else if (signature_.slots[i].kind == SlotKind::input)
            inputs[i].array = copies.of(inputs[i].array);
    }
    for (std::size_t i = 0; i < entries.size(); ++i) // binds dims that only outputs have
        if (entries[i].is_array) {
            const Slot& slot = signature_.slots[find_slot(signature_, entries[i].name, Side::outputs)];
            for (std::size_t axis = 0; axis < slot.dims.size(); ++axis)
                for (std::size_t d = 0; d < inputs.size(); ++d)
                    if (signature_.slots[d].kind == SlotKind::dim && signature_.slots[d].dim == slot.dims[axis])
                        inputs[d] = {.bound = true, .extent = entries[i].array.extents[static_cast<int>(axis)]};
        }
    Bound bound{.extents = std::vector<std::int64_t>(plan.dims.size()),
                .arrays = std::vector<BoundArray>(plan.arrays.size()),
                .parameters = std::vector<std::uint64_t>(plan.parameters.size()),
                .owners = {}};
    resolve(signature_, inputs, {}, open_problem(plan, bound, 0));
    std::vector<HostBuffer> memory(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (!entries[i].is_array) continue;
        memory[i] = HostBuffer(element_count(entries[i].array.extents) * size_of(entries[i].type));
        bound.arrays[plan.outputs[i].array.index()] = {memory[i].address(), Memory::host};
    }
    const auto runner = build_->runner();
    std::vector<ScalarResult> scalars(plan.scalars.size());
    runner->bind(bound);
    runner->run(scalars, {});
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const Results::Entry& entry = entries[i];
        if (entry.is_array) {
            const View got = copies.of(entry.array), expected = memory[i].view(entry.type, entry.array.extents);
            if (const auto at = first_difference(got, expected, tolerances_[i]))
                throw_difference(plan, fmt::format("element {} of output \"{}\"", *at, entry.name), entry.type,
                                 element(got, *at), element(expected, *at));
            continue;
        }
        const ScalarResult& expected = scalars[plan.outputs[i].scalar.index()];
        const bool expected_empty = expected.empty && !is_floating(entry.type);
        if (entry.empty != expected_empty)
            throw InternalError(
                fmt::format("verify: output \"{}\" is {}empty, but the unfused graph's is {}empty on the cpu; "
                            "please report this, with the graph:\n{}",
                            entry.name, entry.empty ? "" : "not ", expected_empty ? "" : "not ", plan.graph_text));
        if (!entry.empty && !is_close(entry.type, entry.bits, expected.bits, tolerances_[i]))
            throw_difference(plan, fmt::format("output \"{}\"", entry.name), entry.type, entry.bits, expected.bits);
    }
}

std::string Reference::explain() const {
    std::string text = "verify: every run is compared with the unfused graph on the cpu:";
    for (std::size_t i = 0; i < tolerances_.size(); ++i) {
        const std::string& name = signature_.plan->outputs[i].name;
        if (tolerances_[i] == 0)
            text += fmt::format("{} {} by bits", i == 0 ? "" : ",", name);
        else if (tolerances_[i] == no_bound)
            text += fmt::format("{} {} not compared (an inexact map reaches an operation without a bound)",
                                i == 0 ? "" : ",", name);
        else
            text += fmt::format("{} {} within {:.2g} of its magnitude", i == 0 ? "" : ",", name, tolerances_[i]);
    }
    return text + "\n";
}

} // namespace gf::detail
