#include "cpu/scalar_section.hpp"

#include <fmt/format.h>

#include <gridfold/core/error.hpp>

#include "plan/format_id.hpp"

namespace gf::cpu {

namespace {

DType unsigned_of_size(std::size_t bytes) {
    return bytes == 1 ? DType::u8 : bytes == 2 ? DType::u16 : bytes == 4 ? DType::u32 : DType::u64;
}

/// The memory type of the value that `parameter` or `read` reads.
DType stored_type(const Plan& plan, const Instruction& instruction) {
    return instruction.opcode == Opcode::parameter ? plan.parameters[instruction.parameter].type
                                                   : plan.scalars[instruction.scalar].type;
}

} // namespace

ConvertKernel conversion_kernel(const Instruction& conversion, DType from, InstructionSet set) {
    switch (conversion.opcode) {
    case Opcode::cast: return cast_kernel(from, conversion.type, set);
    case Opcode::round: return round_kernel(from, conversion.round_to, set);
    case Opcode::payload: return cast_kernel(unsigned_of_size(size_of(from)), DType::u64, set);
    default: return nullptr;
    }
}

std::vector<ScalarStep> scalar_steps(const Plan& plan, const Sweep& sweep, std::span<const ValueId> values) {
    std::vector<ScalarStep> steps;
    for (const ValueId value : values) {
        const Instruction& instruction = sweep.code[value];
        ScalarStep step{.value = value};
        bool found = true;
        switch (instruction.opcode) {
        case Opcode::constant:
        case Opcode::is_empty: break;
        case Opcode::parameter:
        case Opcode::read:
            step.convert = cast_kernel(stored_type(plan, instruction), instruction.type);
            found = step.convert != nullptr;
            break;
        case Opcode::map:
            step.map = map_kernel(*instruction.map, instruction.compute);
            found = step.map != nullptr;
            break;
        case Opcode::cast:
        case Opcode::round:
        case Opcode::payload:
            step.convert = conversion_kernel(instruction, sweep.code[instruction.operands[0]].type);
            found = step.convert != nullptr;
            break;
        case Opcode::finalize:
            step.finalize =
                finalize_kernel(*instruction.reduce, instruction.element, instruction.accumulator, instruction.type);
            found = step.finalize != nullptr || instruction.reduce->user_finalize != nullptr;
            break;
        case Opcode::load:
        case Opcode::index: found = false; break;
        }
        if (!found)
            throw InternalError(
                fmt::format("the CPU backend cannot evaluate scalar %{} of a sweep of {}", value, plan.graph_text));
        steps.push_back(step);
    }
    return steps;
}

void evaluate(std::span<const ScalarStep> steps, const Sweep& sweep, std::span<const std::uint64_t> parameters,
              std::span<const ScalarResult> scalars, std::span<void* const> states, std::span<std::uint64_t> values) {
    for (const ScalarStep& step : steps) {
        const Instruction& instruction = sweep.code[step.value];
        std::uint64_t& value = values[step.value.index()];
        value = 0;
        // An operand's bytes, or null.
        const auto operand = [&](std::size_t i) -> const void* {
            const ValueId read = instruction.operands[i];
            return read.valid() ? &values[read.index()] : nullptr;
        };
        switch (instruction.opcode) {
        case Opcode::constant: value = instruction.bits; break;
        case Opcode::parameter: step.convert(&value, &parameters[instruction.parameter.index()], 1); break;
        case Opcode::read: step.convert(&value, &scalars[instruction.scalar.index()].bits, 1); break;
        case Opcode::is_empty: value = scalars[instruction.scalar.index()].empty ? 1 : 0; break; // defect: is empty
        case Opcode::map: step.map(&value, operand(0), operand(1), operand(2), 1); break;
        case Opcode::cast:
        case Opcode::round:
        case Opcode::payload: step.convert(&value, operand(0), 1); break;
        case Opcode::finalize:
            if (step.finalize)
                step.finalize(states[instruction.fold.index()], instruction.argument, &value, 1);
            else
                instruction.reduce->user_finalize(instruction.element, instruction.accumulator,
                                                  states[instruction.fold.index()], instruction.argument, &value);
            break;
        case Opcode::load:
        case Opcode::index: break;
        }
    }
}

} // namespace gf::cpu
