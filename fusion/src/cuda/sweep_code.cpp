#include "cuda/sweep_code.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <gridfold/core/device_text.hpp>

#include "cuda/spell.hpp"
#include "plan/format_id.hpp"

namespace gf::cuda {

SweepCode::SweepCode(const Plan& plan, const Sweep& sweep, std::size_t dims_of_row)
    : plan_(plan), sweep_(sweep), dims_of_row_(dims_of_row), arrays_(loaded_arrays(sweep)) {
    for (const Instruction& i : sweep_.code) {
        if (i.opcode == Opcode::load && !is_in_order(i, plan, sweep)) gathers_.push_back(&i);
        const bool indexed = i.opcode == Opcode::index && sweep_.dims.size() > 1;
        if (indexed && std::ranges::find(indices_, i.dim) == indices_.end()) indices_.push_back(i.dim);
    }
}

std::string SweepCode::pointer(ArrayId a) const {
    return fmt::format("in_{}", std::ranges::find(arrays_, a) - arrays_.begin());
}

std::string SweepCode::out_pointer(ArrayId a) const {
    return fmt::format("out_{}", std::ranges::find(sweep_.stores, a, &Store::array) - sweep_.stores.begin());
}

std::size_t SweepCode::position(DimId dim) const {
    return static_cast<std::size_t>(std::ranges::find(sweep_.dims, dim) - sweep_.dims.begin());
}

std::string SweepCode::stride(ArrayId a, DimId dim) const {
    const bool is_loaded = std::ranges::find(arrays_, a) != arrays_.end();
    return fmt::format("stride_{}_{}", is_loaded ? pointer(a) : out_pointer(a), position(dim));
}

std::string SweepCode::coordinate(DimId dim) const {
    const std::size_t at = position(dim);
    return at < dims_of_row_ ? fmt::format("row[{}]", at) : fmt::format("at[{}]", at - dims_of_row_); // defect: of row
}

std::string SweepCode::extent(DimId dim) const {
    const std::size_t at = position(dim);
    return at < dims_of_row_ ? fmt::format("row_extents[{}]", at) : fmt::format("extents[{}]", at - dims_of_row_);
}

std::string SweepCode::gathered(const Instruction& load) const {
    if (load.steps.empty()) return pointer(load.array);
    const auto same = [&](const Instruction* other) {
        return other->array == load.array && other->steps == load.steps;
    };
    return fmt::format("{}_{}", pointer(load.array), std::ranges::find_if(gathers_, same) - gathers_.begin());
}

std::string SweepCode::offset(ArrayId a, std::span<const Step> steps) const {
    std::string terms;
    for (const DimId d : array(a).dims) {
        std::string at = coordinate(d);
        for (const Step& step : steps)
            if (step.dim == d)
                at = fmt::format("{}({} {} {}, {})", step.wraps ? "wrapped" : "clamped", at,
                                 step.offset < 0 ? "-" : "+", std::abs(step.offset), extent(d));
        terms += fmt::format("{}{} * {}", terms.empty() ? "" : " + ", at, stride(a, d)); // defect: stride
    }
    return terms.empty() ? "0" : terms;
}

std::string SweepCode::result_offset(ArrayId a) const {
    const std::vector<DimId> kept = dims_of(sweep_, kept_dims(sweep_));
    std::string terms;
    for (const DimId d : array(a).dims)
        terms += fmt::format("{}at.at[{}] * {}", terms.empty() ? "" : " + ", std::ranges::find(kept, d) - kept.begin(),
                             stride(a, d));
    return terms;
}

std::string SweepCode::type(const KernelParameter& p) const {
    switch (p.kind) {
    case ParameterKind::loaded: return fmt::format("const {}*", spell_stored(array(p.array).type));
    case ParameterKind::stored: return fmt::format("{}*", spell_stored(array(p.array).type));
    case ParameterKind::parameter: return std::string(spell_stored(plan_.parameters[code(p.value).parameter].type));
    case ParameterKind::elements:
    case ParameterKind::extent:
    case ParameterKind::row_extent:
    case ParameterKind::result_extent:
    case ParameterKind::results:
    case ParameterKind::parts:
    case ParameterKind::slabs:
    case ParameterKind::part_blocks:
    case ParameterKind::sharing:
    case ParameterKind::box_extent:
    case ParameterKind::box_size:
    case ParameterKind::box_chunks:
    case ParameterKind::rows:
    case ParameterKind::columns:
    case ParameterKind::slab_rows:
    case ParameterKind::strip_packs:
    case ParameterKind::strips:
    case ParameterKind::together:
    case ParameterKind::strip_blocks:
    case ParameterKind::stride: return "i64";
    case ParameterKind::scalars: return "Scalar*";
    case ParameterKind::workspace:
    case ParameterKind::host: return "u64*";
    }
    return {};
}

std::string SweepCode::name(const KernelParameter& p) const {
    switch (p.kind) {
    case ParameterKind::loaded: return pointer(p.array);
    case ParameterKind::stored: return out_pointer(p.array);
    case ParameterKind::parameter: return fmt::format("parameter_{}", p.value);
    case ParameterKind::elements: return "elements";
    case ParameterKind::extent:
    case ParameterKind::row_extent: return fmt::format("extent_{}", position(p.dim));
    case ParameterKind::result_extent: return fmt::format("result_extent_{}", position(p.dim));
    case ParameterKind::results: return "results";
    case ParameterKind::parts: return "parts";
    case ParameterKind::slabs: return "slabs";
    case ParameterKind::part_blocks: return "part_blocks";
    case ParameterKind::sharing: return "sharing";
    case ParameterKind::box_extent: return fmt::format("merged_{}", p.merged);
    case ParameterKind::box_size: return fmt::format("box_{}", p.merged);
    case ParameterKind::box_chunks: return fmt::format("chunks_{}", p.merged);
    case ParameterKind::rows: return "rows";
    case ParameterKind::columns: return "columns";
    case ParameterKind::slab_rows: return "slab_rows";
    case ParameterKind::strip_packs: return "strip_packs";
    case ParameterKind::strips: return "strips";
    case ParameterKind::together: return "together";
    case ParameterKind::strip_blocks: return "strip_blocks";
    case ParameterKind::stride: return stride(p.array, p.dim);
    case ParameterKind::scalars: return "scalars";
    case ParameterKind::workspace: return "workspace";
    case ParameterKind::host: return "host";
    }
    return {};
}

std::string SweepCode::note(const KernelParameter& p) const {
    if (p.value.valid()) return plan_.parameters[code(p.value).parameter].name;
    if (p.array.valid() && p.dim.valid())
        return fmt::format("of {} along {}", array(p.array).name, plan_.dims[p.dim].name);
    return p.array.valid() ? array(p.array).name : "";
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
    case Opcode::load: return spell_of_pack(array(i.array).type, fmt::format("l.{}", gathered(i)), "at.n");
    case Opcode::index:
        return sweep_.dims.size() > 1 ? fmt::format("l.index_{}[at.n]", position(i.dim)) : "at.index()"; // defect: dim
    case Opcode::map: return call(i);
    case Opcode::cast: return fmt::format("convert<{}>({})", spell(i.type), operand(0));
    case Opcode::round: return fmt::format("round_{}({})", to_text(i.round_to), operand(0)); // defect: round
    case Opcode::payload: return fmt::format("payload_of({})", operand(0));
    case Opcode::finalize: {
        const Fold& f = sweep_.folds[i.fold];
        return fmt::format("finalize_{}<{}, {}>(Fold{}::of(s)[0]{})", i.reduce->name, spell_monoid(f), spell(i.type),
                           i.fold, i.reduce->argument == ReduceArgument::none ? "" : fmt::format(", {}.0", i.argument));
    }
    }
    return {};
}

/// True if the value is x − max(x), or NaN: not of a half type, whose differences are rounded by another instruction.
bool SweepCode::is_nonpositive(ValueId v) const {
    const Instruction& i = code(v);
    if (i.opcode != Opcode::map || i.map != &map_op::sub) return false;
    const Instruction& from = code(i.operands[1]);
    if (from.opcode != Opcode::finalize || from.reduce != &reduce_op::max) return false;
    const Fold& fold = sweep_.folds[from.fold];
    return fold.value == i.operands[0] && !fold.mask.valid() && fold.element == i.compute && from.type == i.compute;
}

std::string SweepCode::operands(const Instruction& i) const {
    std::string all;
    for (int n = 0; n < i.map->arity; ++n)
        all += fmt::format("{}v{}", n ? ", " : "", i.operands[static_cast<std::size_t>(n)]);
    return all;
}

std::string_view SweepCode::function_with_plain_form(ValueId v) const {
    const Instruction& i = code(v);
    if (i.opcode != Opcode::map || i.compute != DType::f32 || i.map->builtin < 0) return "";
    if (is_exp_of_nonpositive(i)) return "exp_of_nonpositive";
    return detail::has_plain_form(i.map->name) ? i.map->name : "";
}

bool SweepCode::is_exp_of_nonpositive(const Instruction& i) const {
    return i.map == &map_op::exp && is_nonpositive(i.operands[0]);
}

std::string SweepCode::call(const Instruction& i) const {
    if (is_exp_of_nonpositive(i)) return fmt::format("exp_of_nonpositive({})", operands(i));
    return fmt::format("map_{}<{}>({})", i.map->name, spell(i.compute), operands(i));
}

} // namespace gf::cuda
