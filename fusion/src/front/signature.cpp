// Names, their slots, and their descriptions for errors.
#include "front/signature.hpp"

#include <fmt/format.h>

#include <gridfold/ops/nearest.hpp>

#include "front/in_place.hpp"

namespace gf::detail {
namespace {

int number_of_array(const Plan& plan, std::string_view name, ArrayRole role) {
    for (std::size_t i = 0; i < plan.arrays.size(); ++i)
        if (plan.arrays[i].role == role && plan.arrays[i].name == name) return static_cast<int>(i);
    return -1;
}

int number_of_parameter(const Plan& plan, std::string_view name) {
    for (std::size_t i = 0; i < plan.parameters.size(); ++i)
        if (plan.parameters[i].name == name) return static_cast<int>(i);
    return -1;
}

bool can_name(Side side, SlotKind kind) {
    return side == Side::both || (side == Side::outputs) == (kind == SlotKind::output);
}

[[noreturn]] void throw_unknown(const Signature& signature, std::string_view name, Side side) {
    std::vector<std::string_view> names;
    for (const Slot& slot : signature.slots)
        if (can_name(side, slot.kind)) names.push_back(slot.name);
    if (side == Side::outputs)
        for (const Output& output : signature.plan->outputs)
            if (output.name == name)
                throw InvalidBinding(fmt::format("output \"{}\" is a scalar", name), "only array outputs are bound",
                                     fmt::format("leave it out, and read it from the results with get(\"{}\")", name));
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
    for (int i = 0; i < graph.node_count(); ++i) {
        const Node& node = graph.node(i);
        if (node.kind == NodeKind::input)
            signature.slots.push_back({SlotKind::input, node.name, node.type, node.dims,
                                       number_of_array(*plan, node.name, ArrayRole::input)});
        else if (node.kind == NodeKind::scalar)
            signature.slots.push_back(
                {SlotKind::scalar, node.name, node.type, {}, number_of_parameter(*plan, node.name)});
    }
    for (std::size_t i = 0; i < plan->dims.size(); ++i)
        signature.slots.push_back({SlotKind::dim, plan->dims[i].name, DType::i64, {}, static_cast<int>(i)});
    for (const Output& output : plan->outputs) {
        if (output.array < 0) continue;
        const Array& array = plan->arrays[static_cast<std::size_t>(output.array)];
        signature.slots.push_back({SlotKind::output, output.name, array.type, array.dims, output.array});
    }
    signature.dim_is_used.resize(plan->dims.size());
    const auto use = [&](const std::vector<int>& dims) {
        for (const int dim : dims) signature.dim_is_used[static_cast<std::size_t>(dim)] = true;
    };
    for (const Slot& slot : signature.slots) use(slot.dims);
    for (const Sweep& sweep : plan->sweeps) use(sweep.dims);
    for (const plan::Parameter& parameter : plan->parameters)
        if (parameter.dim >= 0) use({parameter.dim});
    signature.in_place = in_place_pairs(*plan);
    signature.plan = std::move(plan);
    return signature;
}

std::size_t find_slot(const Signature& signature, std::string_view name, Side side) {
    for (std::size_t i = 0; i < signature.slots.size(); ++i)
        if (signature.slots[i].name == name && can_name(side, signature.slots[i].kind)) return i;
    throw_unknown(signature, name, side);
}

std::string describe(const Signature& signature, const Slot& slot) {
    switch (slot.kind) {
    case SlotKind::dim: return fmt::format("dim \"{}\"", slot.name);
    case SlotKind::scalar: return fmt::format("run-time scalar \"{}\" ({})", slot.name, to_text(slot.type));
    case SlotKind::input:
    case SlotKind::output: break;
    }
    std::string dims;
    for (const int dim : slot.dims)
        dims += (dims.empty() ? "" : ", ") + signature.plan->dims[static_cast<std::size_t>(dim)].name;
    return fmt::format("{} \"{}\" ({}[{}])", slot.kind == SlotKind::input ? "input" : "output", slot.name,
                       to_text(slot.type), dims);
}

} // namespace gf::detail
