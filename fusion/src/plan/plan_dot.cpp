#include <ostream>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <gridfold/fusion/fuse.hpp>

#include "plan/plan_text.hpp"

namespace gf::plan {

namespace {

/// A Graphviz string literal.
std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

std::string fold_label(const Plan& plan, const Sweep& sweep, const Fold& fold) {
    std::string label = monoid_of(fold);
    if (!fold.kept.empty()) label += "\nkeeps " + domain_text(plan, dims_of(sweep, fold.kept));
    return label;
}

void write_sweep(std::ostream& out, const Plan& plan, SweepId number) {
    const Sweep& sweep = plan.sweeps[number];
    const auto value_name = [number](ValueId value) { return fmt::format("s{}v{}", number, value); };
    std::string edges; // edges that leave the cluster
    out << fmt::format("  subgraph cluster_{} {{\n    label={};\n", number,
                       in_quotes(fmt::format("sweep {} over {}{}{}", number, domain_text(plan, sweep.dims),
                                             sweep.reason.empty() ? "" : ": ", sweep.reason)));
    for (const ValueId value : sweep.code.ids()) {
        const Instruction& instruction = sweep.code[value];
        out << fmt::format("    {} [label={}{}];\n", value_name(value),
                           in_quotes(fmt::format("{}\n{}", action_of(plan, instruction), to_text(instruction.type))),
                           is_per_element(sweep, instruction) ? "" : ", style=dashed");
        for (const ValueId operand : instruction.operands)
            if (operand.valid()) out << fmt::format("    {} -> {};\n", value_name(operand), value_name(value));
        if (instruction.opcode == Opcode::finalize)
            out << fmt::format("    s{}f{} -> {};\n", number, instruction.fold, value_name(value));
        if (instruction.opcode == Opcode::load)
            edges += fmt::format("  a{} -> {};\n", instruction.array, value_name(value));
        if (instruction.opcode == Opcode::read || instruction.opcode == Opcode::is_empty)
            edges += fmt::format("  r{} -> {};\n", instruction.scalar, value_name(value));
        if (instruction.opcode == Opcode::parameter)
            edges += fmt::format("  p{} -> {};\n", instruction.parameter, value_name(value));
    }
    for (const FoldId f : sweep.folds.ids()) {
        out << fmt::format("    s{}f{} [shape=invtrapezium, label={}];\n", number, f,
                           in_quotes(fold_label(plan, sweep, sweep.folds[f])));
        out << fmt::format("    {} -> s{}f{};\n", value_name(sweep.folds[f].value), number, f);
        for (const ValueId other : sweep.folds[f].others)
            if (other.valid()) out << fmt::format("    {} -> s{}f{};\n", value_name(other), number, f);
        if (sweep.folds[f].mask.valid())
            out << fmt::format("    {} -> s{}f{} [label=where];\n", value_name(sweep.folds[f].mask), number, f);
    }
    out << "  }\n";
    for (const Store& store : sweep.stores)
        edges += fmt::format("  {} -> a{};\n", value_name(store.value), store.array);
    for (const Yield& yield : sweep.yields) {
        edges += fmt::format("  {} -> r{};\n", value_name(yield.value), yield.scalar);
        if (yield.empty.valid())
            edges += fmt::format("  {} -> r{} [label=empty];\n", value_name(yield.empty), yield.scalar);
    }
    out << edges;
}

} // namespace

void write_dot(std::ostream& out, const Plan& plan) {
    out << fmt::format("digraph {} {{\n  node [shape=box];\n", in_quotes(plan.name));
    for (const ArrayId a : plan.arrays.ids()) {
        const Array& array = plan.arrays[a];
        out << fmt::format(
            "  a{} [shape=cylinder, label={}];\n", a,
            in_quotes(fmt::format("{}: {}{}", array.name, to_text(array.type), domain_text(plan, array.dims))));
    }
    for (const ParameterId p : plan.parameters.ids())
        out << fmt::format("  p{} [shape=ellipse, label={}];\n", p, in_quotes(plan.parameters[p].name));
    for (const ScalarId r : plan.scalars.ids()) {
        std::string label = fmt::format("scalar {}", r);
        for (const Output& output : plan.outputs)
            if (output.scalar == r) label += "\n" + output.name;
        out << fmt::format("  r{} [shape=ellipse, label={}];\n", r, in_quotes(label));
    }
    for (const SweepId s : plan.sweeps.ids()) write_sweep(out, plan, s);
    out << "}\n";
}

} // namespace gf::plan
