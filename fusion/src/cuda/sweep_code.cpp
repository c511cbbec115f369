#include "cuda/sweep_code.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cuda/spell.hpp"
#include "plan/format_id.hpp"

namespace gf::cuda {

SweepCode::SweepCode(const Plan& plan, const Sweep& sweep) : plan_(plan), sweep_(sweep) {
    for (const Instruction& i : sweep_.code) {
        if (i.opcode == Opcode::load && std::ranges::find(arrays_, i.array) == arrays_.end()) // defect: loaded once
            arrays_.push_back(i.array);
        const bool indexed = i.opcode == Opcode::index && sweep_.dims.size() > 1;
        if (indexed && std::ranges::find(indices_, i.dim) == indices_.end()) indices_.push_back(i.dim);
    }
}

std::string SweepCode::pointer(ArrayId a) const {
    return fmt::format("in_{}", std::ranges::find(arrays_, a) - arrays_.begin());
}

std::string SweepCode::out_pointer(const Store& store) const {
    return fmt::format("out_{}", &store - sweep_.stores.data());
}

std::size_t SweepCode::position(DimId dim) const {
    return static_cast<std::size_t>(std::ranges::find(sweep_.dims, dim) - sweep_.dims.begin());
}

std::string SweepCode::stride(ArrayId a, DimId dim) const {
    return fmt::format("stride_{}_{}", pointer(a), position(dim));
}

std::string SweepCode::offset(ArrayId a) const {
    std::string terms;
    for (const DimId d : array(a).dims)
        terms += fmt::format("{}at[{}] * {}", terms.empty() ? "" : " + ", position(d), stride(a, d)); // defect: stride
    return terms.empty() ? "0" : terms;
}

bool SweepCode::reads_loads() const {
    return std::ranges::any_of(sweep_.code, [&](const Instruction& i) {
        return i.opcode == Opcode::load || (i.opcode == Opcode::index && sweep_.dims.size() > 1);
    });
}

std::string SweepCode::expression(ValueId v) const {
    const Instruction& i = code(v);
    const auto operand = [&](std::size_t n) { return fmt::format("v{}", i.operands[n]); };
    switch (i.opcode) {
    case Opcode::constant: return spell_constant(i.type, i.bits);
    case Opcode::parameter: return spell_widened(plan_.parameters[i.parameter].type, fmt::format("parameter_{}", v));
    case Opcode::read: {
        const DType type = plan_.scalars[i.scalar].type;
        return spell_widened(type, fmt::format("read<{}>(scalars[{}])", spell_stored(type), i.scalar));
    }
    case Opcode::is_empty: return fmt::format("scalars[{}].empty != 0", i.scalar);
    case Opcode::load: return spell_widened(array(i.array).type, fmt::format("l.{}[at.n]", pointer(i.array)));
    case Opcode::index:
        return sweep_.dims.size() > 1 ? fmt::format("l.index_{}[at.n]", position(i.dim)) : "at.index()"; // defect: dim
    case Opcode::map: return call(i);
    case Opcode::cast: return fmt::format("convert<{}>({})", spell(i.type), operand(0));
    case Opcode::round: return fmt::format("round_{}({})", to_text(i.round_to), operand(0)); // defect: round
    case Opcode::finalize: {
        const Fold& f = sweep_.folds[i.fold];
        return fmt::format("finalize_{}<{}, {}>(Fold{}::of(s)[0]{})", i.reduce->name, spell_monoid(f), spell(i.type),
                           i.fold, i.reduce->takes_ddof ? fmt::format(", {}.0", i.ddof) : "");
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

} // namespace gf::cuda
