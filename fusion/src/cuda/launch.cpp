#include "cuda/launch.hpp"

#include <algorithm>
#include <bit>

namespace gf::cuda {

static_assert(std::endian::native == std::endian::little, "parameters are passed by their low-order bytes");

std::int64_t elements_of(std::span<const DimId> dims, std::span<const std::int64_t> extents) {
    return element_count(dims, extents).value_or(0);
}

std::size_t bytes_of(const Array& array, std::span<const std::int64_t> extents) {
    return static_cast<std::size_t>(elements_of(array.dims, extents)) * size_of(array.type);
}

bool needs_memory(const Array& array, const BoundArray& bound) {
    return array.role == ArrayRole::temporary || bound.memory == Memory::host;
}

bool is_output(const Plan& plan, ScalarId scalar) {
    return std::any_of(plan.outputs.begin(), plan.outputs.end(),
                       [&](const Output& output) { return output.scalar == scalar; });
}

namespace {

std::uint64_t as_value(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

/// Elements between neighbours along `dim` of a row-major array.
std::int64_t stride_along(const Array& array, DimId dim, std::span<const std::int64_t> extents) {
    const auto at = std::find(array.dims.begin(), array.dims.end(), dim);
    return elements_of({at == array.dims.end() ? at : at + 1, array.dims.end()}, extents); // defect: stride
}

} // namespace

std::vector<std::uint64_t> parameter_values(const Plan& plan, SweepId sweep, const Kernel& kernel,
                                            const BoundProblem& bound, std::span<void* const> arrays,
                                            const LaunchMemory& memory) {
    const std::int64_t elements = elements_of(plan.sweeps[sweep].dims, bound.extents);
    std::vector<std::uint64_t> values;
    values.reserve(kernel.parameters.size());
    for (const KernelParameter& parameter : kernel.parameters) {
        const auto value = [&]() -> std::uint64_t {
            switch (parameter.kind) {
            case ParameterKind::loaded:
            case ParameterKind::stored: return as_value(arrays[parameter.array.index()]);
            case ParameterKind::parameter:
                return bound.parameters[plan.sweeps[sweep].code[parameter.value].parameter.index()];
            case ParameterKind::elements: return static_cast<std::uint64_t>(elements);
            case ParameterKind::extent: return static_cast<std::uint64_t>(bound.extents[parameter.dim.index()]);
            case ParameterKind::stride:
                if (elements == 0) return 0; // not used, and a product of the other extents may overflow
                return static_cast<std::uint64_t>(
                    stride_along(plan.arrays[parameter.array], parameter.dim, bound.extents));
            case ParameterKind::scalars: return as_value(memory.scalars);
            case ParameterKind::workspace: return as_value(memory.workspace);
            case ParameterKind::host: return as_value(memory.host);
            }
            __builtin_unreachable();
        };
        values.push_back(value());
    }
    return values;
}

} // namespace gf::cuda
