// A sweep's prologue or epilogue: instructions on scalars, evaluated once a run with the kernels of the body, n = 1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/plan.hpp>

#include "host_kernels/kernels.hpp"

namespace gf::cpu {

using namespace plan;

/// One instruction with the kernels that run it.
struct ScalarStep {
    ValueId value;
    MapKernel map = nullptr;
    ConvertKernel convert = nullptr; ///< cast, round, payload; parameter and read: widens and normalises
    FinalizeKernel finalize = nullptr;
};

/// The kernel of a cast, round or payload whose operand has type `from`; null for other instructions.
ConvertKernel conversion_kernel(const Instruction& conversion, DType from,
                                InstructionSet set = InstructionSet::baseline);

/// The steps of these instructions. Throws InternalError if one has dims or no kernel.
std::vector<ScalarStep> scalar_steps(const Plan& plan, const Sweep& sweep, std::span<const ValueId> values);

/// Evaluates the steps into values[position]: a value's bytes, zero-extended. `states[f]` is the final State of fold f.
void evaluate(std::span<const ScalarStep> steps, const Sweep& sweep, std::span<const std::uint64_t> parameters,
              std::span<const ScalarResult> scalars, std::span<void* const> states, std::span<std::uint64_t> values);

} // namespace gf::cpu
