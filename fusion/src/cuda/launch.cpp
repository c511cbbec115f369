#include "cuda/launch.hpp"

#include <algorithm>
#include <bit>

namespace gf::cuda {

static_assert(std::endian::native == std::endian::little, "parameters are passed by their low-order bytes");

std::int64_t elements_of(std::span<const int> dims, std::span<const std::int64_t> extents) {
    return element_count(dims, extents).value_or(0);
}

std::size_t bytes_of(const Array& array, std::span<const std::int64_t> extents) {
    return static_cast<std::size_t>(elements_of(array.dims, extents)) * size_of(array.type);
}

bool needs_memory(const Array& array, const BoundArray& bound) {
    return array.role == ArrayRole::temporary || bound.memory == Memory::host;
}

bool is_output(const Plan& plan, int scalar) {
    return std::any_of(plan.outputs.begin(), plan.outputs.end(),
                       [&](const Output& output) { return output.scalar == scalar; });
}

namespace {

std::uint64_t as_value(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

/// Elements between neighbours along `dim` of a row-major array.
std::int64_t stride_along(const Array& array, int dim, std::span<const std::int64_t> extents) {
    const auto at = std::find(array.dims.begin(), array.dims.end(), dim);
    return elements_of({at == array.dims.end() ? at : at + 1, array.dims.end()}, extents);
}

} // namespace

std::vector<std::uint64_t> parameter_values(const Plan& plan, std::size_t sweep, const Kernel& kernel,
                                            const BoundProblem& bound, std::span<void* const> arrays,
                                            const LaunchMemory& memory) {
    const std::int64_t elements = elements_of(plan.sweeps[sweep].dims, bound.extents);
    std::vector<std::uint64_t> values;
    values.reserve(kernel.parameters.size());
    for (const KernelParameter& parameter : kernel.parameters) {
        const auto number = static_cast<std::size_t>(parameter.number); // not used by kinds without a number
        const auto value = [&]() -> std::uint64_t {
            switch (parameter.kind) {
            case ParameterKind::array: return as_value(arrays[number]);
            case ParameterKind::parameter: return bound.parameters[number];
            case ParameterKind::elements: return static_cast<std::uint64_t>(elements);
            case ParameterKind::extent: return static_cast<std::uint64_t>(bound.extents[number]);
            case ParameterKind::stride:
                if (elements == 0) return 0; // not used, and a product of the other extents may overflow
                return static_cast<std::uint64_t>(stride_along(plan.arrays[number], parameter.dim, bound.extents));
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
