#include "passes/fold_constants.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "host_kernels/floating_mode.hpp"
#include "host_kernels/kernels.hpp"
#include "passes/rebuild.hpp"

namespace gf::plan {

namespace {

/// The value's bytes, zero-extended. Kernels read and write its first bytes.
using Bits = std::uint64_t;

/// The value converted by one conversion kernel, if there is one (f16 and bf16: only from and to f32).
std::optional<Bits> converted(DType from, DType to, Bits bits) {
    const cpu::ConvertKernel kernel = cpu::cast_kernel(from, to);
    if (kernel == nullptr) return {};
    Bits out = 0;
    kernel(&out, &bits, 1);
    return out;
}

/// A cast as linearize writes it: f64 is rounded to f16 and bf16 directly, other types through f32.
std::optional<Bits> cast_constant(DType from, DType to, Bits bits) {
    std::optional<Bits> held = converted(from, value_type(from), bits);
    if (!held || value_type(to) == to) return held ? converted(value_type(from), to, *held) : held;
    if (from == DType::f64) { // defect: f64
        const cpu::ConvertKernel round = cpu::round_kernel(from, to);
        if (round == nullptr) return {};
        Bits rounded = 0;
        round(&rounded, &*held, 1);
        held = rounded;
    } else {
        held = converted(value_type(from), DType::f32, *held);
    }
    return held ? converted(DType::f32, to, *held) : held;
}

std::optional<Bits> map_constants(const Graph& graph, const Node& node, const std::vector<NodeId>& operands) {
    const MapKernel kernel = cpu::map_kernel(*node.map, value_type(node.compute));
    if (kernel == nullptr) return {};
    std::array<Bits, max_arity> held{};
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const Node& operand = graph.node(operands[i]);
        const std::optional<Bits> value = converted(operand.type, value_type(operand.type), operand.bits);
        if (!value) return {};
        held[i] = *value;
    }
    Bits out = 0;
    kernel(&out, &held[0], &held[1], &held[2], 1);
    return converted(value_type(node.type), node.type, out);
}

} // namespace

Graph fold_constants(const Graph& graph, const FuseOptions&) {
    const cpu::FloatingMode mode;
    Rebuild rebuild(graph);
    for (const NodeId n : graph.nodes()) {
        const Node& node = graph.node(n);
        const std::vector<NodeId> operands = rebuild.operands(n);
        const Graph& made = rebuild.made();
        std::optional<Bits> bits;
        if (std::all_of(operands.begin(), operands.end(),
                        [&](NodeId operand) { return made.node(operand).kind == NodeKind::constant; })) {
            if (node.kind == NodeKind::map) bits = map_constants(made, node, operands);
            if (node.kind == NodeKind::cast)
                bits = cast_constant(made.node(operands[0]).type, node.type, made.node(operands[0]).bits);
        }
        if (!bits) {
            rebuild.keep(n);
            continue;
        }
        Node constant{};
        constant.kind = NodeKind::constant;
        constant.type = node.type;
        constant.name = node.name;
        constant.bits = *bits;
        rebuild.put(n, constant, {});
    }
    return std::move(rebuild).finish();
}

} // namespace gf::plan
