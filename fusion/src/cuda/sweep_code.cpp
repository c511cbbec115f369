#include "cuda/sweep_code.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cuda/spell.hpp"

namespace gf::cuda {

namespace {

/// What stands for a value that is empty.
std::string nothing(DType type) {
    return is_floating(type) ? fmt::format("quiet_nan<{}>()", spell(type)) : fmt::format("{}(0)", spell(type));
}

} // namespace

SweepCode::SweepCode(const Plan& plan, const Sweep& sweep) : plan_(plan), sweep_(sweep) {
    for (const Instruction& i : sweep_.code) {
        if (i.opcode == Opcode::load && std::ranges::find(arrays_, i.slot) == arrays_.end()) arrays_.push_back(i.slot);
        const bool indexed = i.opcode == Opcode::index && sweep_.dims.size() > 1;
        if (indexed && std::ranges::find(indices_, i.slot) == indices_.end()) indices_.push_back(i.slot);
    }
}

std::string SweepCode::pointer(int number) const {
    return fmt::format("in_{}", std::ranges::find(arrays_, number) - arrays_.begin());
}

std::string SweepCode::out_pointer(const Store& store) const {
    return fmt::format("out_{}", &store - sweep_.stores.data());
}

std::size_t SweepCode::position(int dim) const {
    return static_cast<std::size_t>(std::ranges::find(sweep_.dims, dim) - sweep_.dims.begin());
}

std::string SweepCode::stride(int number, int dim) const {
    return fmt::format("stride_{}_{}", pointer(number), position(dim));
}

std::string SweepCode::offset(int number) const {
    std::string terms;
    for (const int d : array(number).dims)
        terms += fmt::format("{}at.at[{}] * {}", terms.empty() ? "" : " + ", position(d), stride(number, d));
    return terms.empty() ? "0" : terms;
}

std::string SweepCode::definition(int v, std::string_view indent) const {
    const Instruction& i = code(v);
    std::string text;
    if (i.may_be_empty) text = fmt::format("{}const bool empty{} = {};\n", indent, v, emptiness(v));
    return text + fmt::format("{}const {} v{} = {};", indent, spell(i.type), v, value(v));
}

/// expression(), but nothing() where the value is empty.
std::string SweepCode::value(int v) const {
    const Instruction& i = code(v);
    // A yielded scalar holds nothing() already, and so does what a fold of nothing is finalised to.
    if (!i.may_be_empty || i.opcode == Opcode::read || i.opcode == Opcode::finalize) return expression(v);
    return fmt::format("empty{} ? {} : {}", v, nothing(i.type), expression(v));
}

std::string SweepCode::expression(int v) const {
    const Instruction& i = code(v);
    const auto operand = [&](std::size_t n) { return fmt::format("v{}", i.operands[n]); };
    switch (i.opcode) {
    case Opcode::constant: return spell_constant(i.type, i.bits);
    case Opcode::parameter:
        return spell_widened(plan_.parameters[static_cast<std::size_t>(i.slot)].type, fmt::format("parameter_{}", v));
    case Opcode::read: {
        const DType type = plan_.scalars[static_cast<std::size_t>(i.slot)].type;
        return spell_widened(type, fmt::format("read<{}>(scalars[{}])", spell_stored(type), i.slot));
    }
    case Opcode::load: return spell_widened(array(i.slot).type, fmt::format("l.{}.element[n]", pointer(i.slot)));
    case Opcode::index:
        return sweep_.dims.size() > 1 ? fmt::format("l.index_{}.element[n]", position(i.slot)) : "first + n";
    case Opcode::map: return call(i);
    case Opcode::cast: return fmt::format("convert<{}>({})", spell(i.type), operand(0));
    case Opcode::round: return fmt::format("round_{}({})", to_text(i.round_to), operand(0));
    case Opcode::finalize: {
        const Fold& f = sweep_.folds[static_cast<std::size_t>(i.slot)];
        std::string value = fmt::format("finalize_{}<{}, {}>(s.s{}[0], {}.0)", i.reduce->name, spell_monoid(f),
                                        spell(i.type), i.slot, i.ddof);
        if (i.operands[0] < 0) return value;
        return fmt::format("{} ? {} : {}", operand(0), value, nothing(i.type));
    }
    }
    return {};
}

std::string SweepCode::call(const Instruction& i) const {
    std::string text = fmt::format("map_{}<{}>(", i.map->name, spell(i.compute));
    for (int n = 0; n < i.map->arity; ++n)
        text += fmt::format("{}v{}", n ? ", " : "", i.operands[static_cast<std::size_t>(n)]);
    return text + ")";
}

std::string SweepCode::emptiness(int v) const {
    const Instruction& i = code(v);
    if (i.opcode == Opcode::read) return fmt::format("scalars[{}].empty != 0", i.slot);
    if (i.opcode == Opcode::finalize) return fmt::format("!v{}", i.operands[0]);
    const auto empty = [&](int operand) -> std::string {
        return code(operand).may_be_empty ? fmt::format("empty{}", operand) : "false";
    };
    if (i.opcode == Opcode::map && i.map == &map_op::select)
        return fmt::format("{} || (v{} ? {} : {})", empty(i.operands[0]), i.operands[0], empty(i.operands[1]),
                           empty(i.operands[2]));
    std::string any;
    for (const int operand : i.operands)
        if (operand >= 0 && code(operand).may_be_empty)
            any += fmt::format("{}{}", any.empty() ? "" : " || ", empty(operand));
    return any;
}

} // namespace gf::cuda
