// Names, their slots, and their descriptions for errors.
#include "front/signature.hpp"

#include <fmt/format.h>

#include <gridfold/ops/nearest.hpp>

#include "front/in_place.hpp"

namespace gf::detail {
namespace {

ArrayId find_array(const Plan& plan, std::string_view name, ArrayRole role) {
    for (const ArrayId a : plan.arrays.ids())
        if (plan.arrays[a].role == role && plan.arrays[a].name == name) return a;
    return {};
}

ParameterId find_parameter(const Plan& plan, std::string_view name) {
    for (const ParameterId p : plan.parameters.ids())
        if (plan.parameters[p].name == name) return p;
    return {};
}

bool can_name(Side side, SlotKind kind) {
    return side == Side::both || (side == Side::outputs) == (kind == SlotKind::output);
}

[[noreturn]] void throw_unknown(const Signature& signature, std::string_view name, Side side) {
    std::vector<std::string_view> names;
    for (const Slot& slot : signature.slots)
        if (can_name(side, slot.kind)) names.push_back(slot.name);
    for (const Output& output : signature.plan->outputs) // before the slots: a dim may have the same name
        if (output.name == name && !output.array.valid())
            throw InvalidBinding(fmt::format("output \"{}\" is a scalar", name), "only array outputs are bound",
                                 fmt::format("leave it out, and read it from the results with get(\"{}\")", name));
    for (const Slot& slot : signature.slots)
        if (slot.name == name) {
            const bool is_output = slot.kind == SlotKind::output;
            throw InvalidBinding(
                fmt::format("{} is bound as an {}", describe(signature, slot), is_output ? "input" : "output"),
                is_output ? "outputs are bound in the second list" : "inputs are bound in the first list",
                "bind it there, as in run(inputs, outputs)");
        }
    const std::string_view near = nearest(name, names);
    const char* what = side == Side::outputs ? "array output" : "input, run-time scalar or dim";
    throw InvalidBinding(
        fmt::format("\"{}\" is bound, but graph {} has no {} of that name", name, signature.plan->name, what),
        fmt::format("it has {}", names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))),
        near.empty() ? "leave the binding out" : fmt::format("did you mean \"{}\"?", near));
}

} // namespace

Signature make_signature(const Graph& graph, std::shared_ptr<const Plan> plan) {
    Signature signature;
    for (const NodeId n : graph.nodes()) {
        const Node& node = graph.node(n);
        if (node.kind == NodeKind::input)
            signature.slots.push_back({.kind = SlotKind::input,
                                       .name = node.name,
                                       .type = node.type,
                                       .dims = node.dims,
                                       .array = find_array(*plan, node.name, ArrayRole::input)});
        else if (node.kind == NodeKind::scalar)
            signature.slots.push_back({.kind = SlotKind::scalar,
                                       .name = node.name,
                                       .type = node.type,
                                       .dims = {},
                                       .parameter = find_parameter(*plan, node.name)});
    }
    for (const DimId d : plan->dims.ids())
        signature.slots.push_back({.kind = SlotKind::dim, .name = plan->dims[d].name, .dims = {}, .dim = d});
    for (const Output& output : plan->outputs) {
        if (!output.array.valid()) continue;
        const Array& array = plan->arrays[output.array];
        signature.slots.push_back({.kind = SlotKind::output,
                                   .name = output.name,
                                   .type = array.type,
                                   .dims = array.dims,
                                   .array = output.array});
    }
    signature.dim_is_used.resize(plan->dims.size());
    const auto use = [&](const std::vector<DimId>& dims) {
        for (const DimId dim : dims) signature.dim_is_used[dim] = true;
    };
    for (const Slot& slot : signature.slots) use(slot.dims);
    for (const Sweep& sweep : plan->sweeps) use(sweep.dims);
    for (const plan::Parameter& parameter : plan->parameters)
        if (parameter.dim.valid()) use({parameter.dim});
    signature.in_place = in_place_pairs(*plan);
    signature.plan = std::move(plan);
    return signature;
}

std::size_t find_slot(const Signature& signature, std::string_view name, Side side) {
    for (std::size_t i = 0; i < signature.slots.size(); ++i)
        if (signature.slots[i].name == name && can_name(side, signature.slots[i].kind)) return i;
    throw_unknown(signature, name, side);
}

std::string dim_names(const Signature& signature, const Slot& slot) {
    std::string dims;
    for (const DimId dim : slot.dims) dims += (dims.empty() ? "" : ", ") + signature.plan->dims[dim].name;
    return dims;
}

std::string describe(const Signature& signature, const Slot& slot) {
    switch (slot.kind) {
    case SlotKind::dim: return fmt::format("dim \"{}\"", slot.name);
    case SlotKind::scalar: return fmt::format("run-time scalar \"{}\" ({})", slot.name, to_text(slot.type));
    case SlotKind::input:
    case SlotKind::output: break;
    }
    return fmt::format("{} \"{}\" ({}[{}])", slot.kind == SlotKind::input ? "input" : "output", slot.name,
                       to_text(slot.type), dim_names(signature, slot));
}

} // namespace gf::detail
