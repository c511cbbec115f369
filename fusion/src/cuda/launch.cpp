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

Strides strides_on_device(const Plan& plan, const BoundProblem& problem, std::size_t array) {
    if (problem.strides.empty() || needs_memory(plan.arrays[array], problem.arrays[array])) return {}; // defect: host's
    return problem.strides[array];
}

bool is_output(const Plan& plan, ScalarId scalar) {
    return std::any_of(plan.outputs.begin(), plan.outputs.end(),
                       [&](const Output& output) { return output.scalar == scalar; });
}

namespace {

std::uint64_t as_value(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

/// Elements between neighbours along `dim` of an array.
std::int64_t stride_along(const Array& array, const Strides& strides, DimId dim,
                          std::span<const std::int64_t> extents) {
    const auto at = std::find(array.dims.begin(), array.dims.end(), dim);
    if (strides.rank() > 0) return strides[int(at - array.dims.begin())];                  // defect: bound stride
    return elements_of({at == array.dims.end() ? at : at + 1, array.dims.end()}, extents); // defect: stride
}

/// The coordinates of a slab along a merged dim, and the slabs side by side.
std::int64_t coordinates_of_slab(const FoldOrder& order, int d) {
    return d > order.outermost() ? order.extent[d] : d == order.outermost() ? order.chunk : 1;
}

std::int64_t chunks_of(const FoldOrder& order, int d) {
    return d > order.outermost() ? 1 : d == order.outermost() ? order.chunks() : order.extent[d]; // defect: chunks
}

} // namespace

std::vector<std::uint64_t> parameter_values(const Plan& plan, SweepId sweep, const Kernel& kernel,
                                            const BoundProblem& bound, std::span<void* const> arrays,
                                            const LaunchMemory& memory) {
    const std::int64_t elements = elements_of(plan.sweeps[sweep].dims, bound.extents);
    const FoldOrder order =
        folds_parts(kernel.schedule.course) ? fold_order(plan.sweeps[sweep], bound.extents) : FoldOrder();
    const Strips strips = kernel.schedule.course == Course::columns ? strips_of(kernel.schedule, order) : Strips();
    const auto of_box = [&](std::int64_t value) { return order.slabs == 0 ? 0 : static_cast<std::uint64_t>(value); };
    std::vector<std::uint64_t> values;
    values.reserve(kernel.parameters.size());
    for (const KernelParameter& parameter : kernel.parameters) {
        const auto value = [&]() -> std::uint64_t {
            switch (parameter.kind) {
            case ParameterKind::loaded:
            case ParameterKind::stored: return as_value(arrays[parameter.array.index()]);
            case ParameterKind::parameter:
                return bound.parameters[plan.sweeps[sweep].code[parameter.value].parameter.index()];
            case ParameterKind::elements:
                return static_cast<std::uint64_t>(is_of_rows(kernel.schedule.course) ? order.folded : elements);
            case ParameterKind::results: return static_cast<std::uint64_t>(order.results);
            case ParameterKind::parts: return static_cast<std::uint64_t>(order.parts);
            case ParameterKind::slabs: return static_cast<std::uint64_t>(order.slabs);
            case ParameterKind::part_blocks: return static_cast<std::uint64_t>(order.blocks);
            case ParameterKind::sharing:
                return static_cast<std::uint64_t>(
                    kernel.schedule.course == Course::columns ? strips.sharing : parts_of_tile(kernel, order));
            case ParameterKind::box_extent: return of_box(order.extent[parameter.merged]);
            case ParameterKind::box_size: return of_box(coordinates_of_slab(order, parameter.merged));
            case ParameterKind::box_chunks: return of_box(chunks_of(order, parameter.merged));
            case ParameterKind::rows: return of_box(order.extent[0]);
            case ParameterKind::columns: return of_box(order.extent[1]);
            case ParameterKind::slab_rows: return of_box(order.lanes);
            case ParameterKind::strip_packs: return static_cast<std::uint64_t>(strips.packs);
            case ParameterKind::strips: return static_cast<std::uint64_t>(strips.count);
            case ParameterKind::together: return static_cast<std::uint64_t>(strips.together);
            case ParameterKind::strip_blocks: return static_cast<std::uint64_t>(strips.blocks);
            case ParameterKind::row_extent:
            case ParameterKind::result_extent:
            case ParameterKind::extent: return static_cast<std::uint64_t>(bound.extents[parameter.dim.index()]);
            case ParameterKind::stride:
                // Not used, and a product of the other extents may overflow. (Folds of no elements have results.)
                if (elements == 0 && elements_of(plan.arrays[parameter.array].dims, bound.extents) == 0) return 0;
                return static_cast<std::uint64_t>(stride_along(plan.arrays[parameter.array],
                                                               strides_on_device(plan, bound, parameter.array.index()),
                                                               parameter.dim, bound.extents));
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
