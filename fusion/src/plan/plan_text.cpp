#include "plan/plan_text.hpp"

#include <iterator>
#include <utility>

#include <fmt/format.h>

#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/text.hpp>
#include <gridfold/ops/type_rule.hpp>

namespace gf::plan {

namespace {

/// The name that `name_of_item` reads off an item of a table; "?" where the table has none of that id.
template <class I, class Item, class F> std::string name_in(const Table<I, Item>& items, I id, F&& name_of_item) {
    return items.holds(id) ? std::string(name_of_item(items[id])) : "?";
}

std::string array_name(const Plan& plan, ArrayId array) {
    return name_in(plan.arrays, array, [](const Array& a) { return a.name; });
}

std::string_view role_text(ArrayRole role) {
    switch (role) {
    case ArrayRole::input: return "input";
    case ArrayRole::output: return "output";
    case ArrayRole::temporary: return "temporary";
    }
    return "?";
}

/// An action with its operands.
std::string definition_of(const Plan& plan, const Instruction& instruction) {
    std::string operands;
    for (const ValueId operand : instruction.operands)
        if (operand.valid()) operands += fmt::format("{}%{}", operands.empty() ? " " : ", ", operand);
    return action_of(plan, instruction) + operands;
}

class Printer {
public:
    explicit Printer(const Plan& plan) : plan_(plan) {}

    std::string print() && {
        line("plan {}", plan_.name);
        for (const PlanDim& dim : plan_.dims)
            line("  dim {}{}{}", dim.name, dim.extent ? fmt::format(" = {}", *dim.extent) : "", needs_text(dim));
        for (const Array& array : plan_.arrays)
            line("  {} {}: {}{}", role_text(array.role), array.name, to_text(array.type),
                 domain_text(plan_, array.dims));
        for (const Parameter& parameter : plan_.parameters)
            line("  parameter {}: {}", parameter.name, to_text(parameter.type));
        for (const SweepId s : plan_.sweeps.ids()) print_sweep(s);
        for (const Output& output : plan_.outputs)
            line("output {} = {}{}", output.name,
                 output.array.valid() ? array_name(plan_, output.array) : fmt::format("scalar {}", output.scalar),
                 output.validity.valid() ? ", empty unless " + array_name(plan_, output.validity) : "");
        return std::move(text_);
    }

private:
    template <class... Arguments> void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
        text_ += '\n';
    }

    std::string needs_text(const PlanDim& dim) const {
        std::string text;
        for (const NeedsElements& need : dim.needs_elements)
            text += fmt::format(", not empty{}: {}",
                                need.kept.empty() ? "" : fmt::format(" unless {} is", domain_text(plan_, need.kept)),
                                need.reduction);
        return text;
    }

    void print_sweep(SweepId id) {
        const Sweep& sweep = plan_.sweeps[id];
        std::string after;
        for (const SweepId earlier : sweep.after)
            after += fmt::format("{}{}", after.empty() ? ", after " : " ", earlier);
        line("sweep {} over {}, stage {}{}{}", id, domain_text(plan_, sweep.dims), sweep.stage, after,
             sweep.reason.empty() ? "" : fmt::format(" ({})", sweep.reason));
        print_values("prologue", sweep, is_once_before);
        print_values("body", sweep, is_per_element);
        print_folds(sweep);
        print_values("epilogue", sweep, is_after_folds);
        print_values("results", sweep, is_per_result);
        for (const Store& store : sweep.stores) line("  store %{} to {}", store.value, array_name(plan_, store.array));
        for (const Yield& yield : sweep.yields) {
            const std::string type =
                name_in(plan_.scalars, yield.scalar, [](const Scalar& s) { return to_text(s.type); });
            line("  yield %{} as scalar {}: {}{}", yield.value, yield.scalar, type,
                 yield.empty.valid() ? fmt::format(", empty if %{}", yield.empty) : "");
        }
    }

    void print_folds(const Sweep& sweep) {
        for (const FoldId f : sweep.folds.ids()) {
            const Fold& fold = sweep.folds[f];
            line("  fold {}: {} of {}{}{}", f, monoid_of(fold), operands_of(fold),
                 fold.mask.valid() ? fmt::format(" where %{}", fold.mask) : "",
                 fold.kept.empty() ? "" : ", keeps " + domain_text(plan_, dims_of(sweep, fold.kept)));
        }
    }

    void print_values(std::string_view section, const Sweep& sweep, auto when) {
        const std::vector<ValueId> values = values_where(sweep, when);
        if (!values.empty()) line("  {}", section);
        for (const ValueId value : values) print_instruction(sweep, value, sweep.code[value]);
    }

    /// The domain of a value that varies along some but not all dims of the sweep, else "".
    std::string some_dims(const Sweep& sweep, DimSet domain) const {
        if (domain.empty() || domain == DimSet::first(sweep.dims.size())) return {};
        return ", over " + domain_text(plan_, dims_of(sweep, domain));
    }

    void print_instruction(const Sweep& sweep, ValueId value, const Instruction& instruction) {
        line("    %{}: {} = {}{}", value, to_text(instruction.type), definition_of(plan_, instruction),
             some_dims(sweep, instruction.domain));
    }

    const Plan& plan_;
    std::string text_;
};

} // namespace

std::string_view name_of(Opcode opcode) {
    switch (opcode) {
    case Opcode::constant: return "constant";
    case Opcode::parameter: return "parameter";
    case Opcode::read: return "read";
    case Opcode::is_empty: return "is_empty";
    case Opcode::load: return "load";
    case Opcode::index: return "index";
    case Opcode::map: return "map";
    case Opcode::cast: return "cast";
    case Opcode::round: return "round";
    case Opcode::payload: return "payload";
    case Opcode::finalize: return "finalize";
    }
    return "?";
}

std::string action_of(const Plan& plan, const Instruction& instruction) {
    const std::string_view name = name_of(instruction.opcode);
    switch (instruction.opcode) {
    case Opcode::constant: return constant_text(instruction.type, instruction.bits);
    case Opcode::parameter:
        return fmt::format("{} {}", name,
                           name_in(plan.parameters, instruction.parameter, [](const Parameter& p) { return p.name; }));
    case Opcode::read:
    case Opcode::is_empty: return fmt::format("{} scalar {}", name, instruction.scalar);
    case Opcode::load: {
        std::string text = fmt::format("{} {}", name, array_name(plan, instruction.array));
        for (const Step& step : instruction.steps)
            text += fmt::format(", {} {} {} {}", step.wraps ? "wrap" : "clamp",
                                name_in(plan.dims, step.dim, [](const PlanDim& d) { return d.name; }),
                                step.offset < 0 ? "-" : "+", std::abs(step.offset));
        return text;
    }
    case Opcode::index:
        return fmt::format("{} {}", name, name_in(plan.dims, instruction.dim, [](const PlanDim& d) { return d.name; }));
    case Opcode::map: return instruction.map ? std::string(instruction.map->name) : "map ?";
    case Opcode::cast:
    case Opcode::payload: return std::string(name);
    case Opcode::round: return fmt::format("{} to {}", name, to_text(instruction.round_to));
    case Opcode::finalize:
        return fmt::format("{} {}{} of fold {}", name, instruction.reduce ? instruction.reduce->name : "?",
                           instruction.argument
                               ? fmt::format(" ({} = {})", to_text(instruction.reduce->argument), instruction.argument)
                               : "",
                           instruction.fold);
    }
    return "?";
}

std::string instruction_text(const Plan& plan, ValueId value, const Instruction& instruction) {
    return fmt::format("%{} = {}", value, definition_of(plan, instruction));
}

std::string monoid_of(const Fold& fold) {
    return fmt::format("{}<{}, {}>", fold.monoid ? fold.monoid->name : "?", to_text(fold.element),
                       to_text(fold.accumulator));
}

std::string operands_of(const Fold& fold) {
    std::string text = fmt::format("%{}", fold.value);
    for (const ValueId other : fold.others)
        if (other.valid()) text += fmt::format(", %{}", other);
    return text;
}

std::string domain_text(const Plan& plan, const std::vector<DimId>& dims) {
    std::string text = "[";
    for (const DimId dim : dims) {
        if (text.size() > 1) text += ", ";
        text += name_in(plan.dims, dim, [](const PlanDim& d) { return d.name; });
    }
    return text + "]";
}

std::string to_text(const Plan& plan) { return Printer(plan).print(); }

} // namespace gf::plan
