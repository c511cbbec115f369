#include "cpu/result_section.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>

#include "cpu/scalar_section.hpp"
#include "plan/format_id.hpp"

namespace gf::cpu {

ResultProgram result_program(const Plan& plan, const Sweep& sweep, InstructionSet set) {
    ResultProgram program;
    const auto fail = [&](ValueId value) {
        throw InternalError(
            fmt::format("the CPU backend cannot compute result %{} of a sweep of {}", value, plan.graph_text));
    };
    for (const ValueId value : values_where(sweep, is_per_result)) {
        const Instruction& instruction = sweep.code[value];
        ResultStep step{.value = value};
        bool found = false;
        if (instruction.opcode == Opcode::finalize) {
            step.finalize =
                finalize_kernel(*instruction.reduce, instruction.element, instruction.accumulator, instruction.type);
            found = step.finalize != nullptr || instruction.reduce->user_finalize != nullptr;
        } else if (instruction.opcode == Opcode::map) {
            step.map = map_kernel(*instruction.map, instruction.compute, set);
            found = step.map != nullptr;
        } else {
            const ValueId from = instruction.operands[0];
            step.convert = conversion_kernel(instruction, from.valid() ? sweep.code[from].type : DType::f32, set);
            found = step.convert != nullptr;
        }
        if (!found) fail(value);
        for (const ValueId operand : instruction.operands)
            if (operand.valid() && is_once_before(sweep.code[operand]) &&
                std::ranges::find(program.constants, operand) == program.constants.end())
                program.constants.push_back(operand);
        program.steps.push_back(step);
    }
    for (const Store& store : sweep.stores) {
        if (!is_per_result(sweep, sweep.code[store.value])) continue;
        const ConvertKernel convert = cast_kernel(sweep.code[store.value].type, plan.arrays[store.array].type, set);
        if (convert == nullptr) fail(store.value);
        program.stores.push_back({store, convert, is_flat(store, plan, sweep)});
    }
    return program;
}

ResultSection::ResultSection(const Plan& plan, const Sweep& sweep, const ResultProgram& program,
                             std::span<const std::size_t> state_bytes)
    : plan_(plan), sweep_(sweep), program_(program), state_bytes_(state_bytes.begin(), state_bytes.end()),
      results_(sweep.code.size()), dims_(dims_of(sweep, kept_dims(sweep))), walks_(program.stores.size()) {
    for (const std::size_t bytes : state_bytes_) states_.push_back(allocate(bytes * most));
    const auto reserve = [&](ValueId value) { results_[value] = allocate(size_of(sweep.code[value].type) * most); };
    for (const ResultStep& step : program.steps) reserve(step.value);
    for (const ValueId value : program.constants) reserve(value);
    if (!std::ranges::all_of(program.stores, &ResultProgram::OfStore::in_order))
        converted_ = allocate(sizeof(std::uint64_t) * most);
}

void ResultSection::fit(std::span<const std::int64_t> extents) {
    for (std::size_t s = 0; s < walks_.size(); ++s)
        if (!program_.stores[s].in_order)
            walks_[s] = walk(dims_, plan_.arrays[program_.stores[s].store.array].dims, extents);
}

void ResultSection::evaluate(const ResultStep& step) {
    const Instruction& instruction = sweep_.code[step.value];
    char* const out = results_[step.value].get();
    const auto operand = [&](std::size_t i) -> const void* {
        const ValueId read = instruction.operands[i];
        return read.valid() ? results_[read].get() : nullptr;
    };
    if (instruction.opcode == Opcode::finalize) {
        const std::size_t bytes = size_of(instruction.type), each = state_bytes_[instruction.fold.index()];
        const char* state = states_[instruction.fold.index()].get();
        if (step.finalize) return step.finalize(state, instruction.argument, out, pending_);
        for (std::size_t i = 0; i < pending_; ++i, state += each)
            instruction.reduce->user_finalize(instruction.element, instruction.accumulator, state, instruction.argument,
                                              out + i * bytes);
    } else if (step.map) {
        step.map(out, operand(0), operand(1), operand(2), pending_);
    } else {
        step.convert(out, operand(0), pending_);
    }
}

void ResultSection::flush(std::span<const std::uint64_t> values, std::span<char* const> arrays) {
    if (pending_ == 0) return;
    for (const ValueId value : program_.constants) {
        const std::size_t bytes = size_of(sweep_.code[value].type);
        for (std::size_t i = 0; i < pending_; ++i)
            std::memcpy(results_[value].get() + i * bytes, &values[value.index()], bytes);
    }
    for (const ResultStep& step : program_.steps) evaluate(step);
    for (std::size_t s = 0; s < program_.stores.size(); ++s) {
        const auto& [store, convert, in_order] = program_.stores[s];
        const std::size_t bytes = size_of(plan_.arrays[store.array].type);
        char* const array = arrays[store.array.index()];
        convert(in_order ? array + static_cast<std::size_t>(first_) * bytes : converted_.get(),
                results_[store.value].get(), pending_);
        if (!in_order) scatter(array, converted_.get(), bytes, walks_[s], first_, pending_);
    }
    pending_ = 0;
}

} // namespace gf::cpu
