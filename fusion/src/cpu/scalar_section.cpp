#include "cpu/scalar_section.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>

namespace gf::cpu {

namespace {

/// The type in memory of what `parameter` and `read` read.
DType stored_type(const Plan& plan, const Instruction& instruction) {
    const auto slot = static_cast<std::size_t>(instruction.slot);
    return instruction.opcode == Opcode::parameter ? plan.parameters[slot].type : plan.scalars[slot].type;
}

/// What an empty scalar holds.
std::uint64_t empty_bits(DType type) {
    if (type == DType::f64) return std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN());
    return type == DType::f32 ? std::bit_cast<std::uint32_t>(std::numeric_limits<float>::quiet_NaN()) : 0;
}

} // namespace

std::vector<ScalarStep> scalar_steps(const Plan& plan, const Sweep& sweep, int begin, int end) {
    std::vector<ScalarStep> steps;
    for (int value = begin; value < end; ++value) {
        const Instruction& instruction = sweep.code[static_cast<std::size_t>(value)];
        ScalarStep step{.value = value};
        bool found = true;
        switch (instruction.opcode) {
        case Opcode::constant: break;
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
        case Opcode::round: {
            const DType from = sweep.code[static_cast<std::size_t>(instruction.operands[0])].type;
            step.convert = instruction.opcode == Opcode::cast ? cast_kernel(from, instruction.type)
                                                              : round_kernel(from, instruction.round_to);
            found = step.convert != nullptr;
            break;
        }
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
              std::span<const ScalarResult> scalars, std::span<void* const> states, std::span<ScalarValue> values) {
    for (const ScalarStep& step : steps) {
        const Instruction& instruction = sweep.code[static_cast<std::size_t>(step.value)];
        const auto slot = static_cast<std::size_t>(instruction.slot);
        ScalarValue& value = values[static_cast<std::size_t>(step.value)];
        value = {};
        // An operand's value, or null where there is none.
        const auto operand = [&](std::size_t i) -> const ScalarValue* {
            const int number = instruction.operands[i];
            return number < 0 ? nullptr : &values[static_cast<std::size_t>(number)];
        };
        const auto bits = [&](std::size_t i) -> const void* { return operand(i) ? &operand(i)->bits : nullptr; };
        const auto is_empty = [&](std::size_t i) { return operand(i) && operand(i)->empty; };
        bool empty = is_empty(0) || is_empty(1) || is_empty(2);
        switch (instruction.opcode) {
        case Opcode::constant: value.bits = instruction.bits; break;
        case Opcode::parameter: step.convert(&value.bits, &parameters[slot], 1); break;
        case Opcode::read:
            step.convert(&value.bits, &scalars[slot].bits, 1);
            empty = scalars[slot].empty;
            break;
        case Opcode::map:
            step.map(&value.bits, bits(0), bits(1), bits(2), 1);
            if (instruction.map == &map_op::select) empty = is_empty(0) || is_empty(operand(0)->bits != 0 ? 1 : 2);
            break;
        case Opcode::cast:
        case Opcode::round: step.convert(&value.bits, bits(0), 1); break;
        case Opcode::finalize:
            empty = operand(0) && operand(0)->bits == 0;
            if (step.finalize)
                step.finalize(states[slot], instruction.ddof, &value.bits);
            else
                instruction.reduce->user_finalize(instruction.element, instruction.accumulator, states[slot],
                                                  instruction.ddof, &value.bits);
            if (empty) value.bits = empty_bits(instruction.type);
            break;
        case Opcode::load:
        case Opcode::index: break;
        }
        if (instruction.may_be_empty && empty) value = {empty_bits(instruction.type), true};
    }
}

} // namespace gf::cpu
