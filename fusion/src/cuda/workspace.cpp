#include "cuda/workspace.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include <gridfold/core/device.hpp>

namespace gf::cuda {

static_assert(std::endian::native == std::endian::little, "parameters are passed by their low-order bytes");

Workspace::Workspace(const LoadedPlan& loaded) {
    constexpr std::size_t alignment = 256; // no two sweeps' words share a cache line
    const std::size_t scalar_bytes = sizeof(DeviceScalar) * loaded.plan->scalars.size();
    std::size_t bytes = (std::max<std::size_t>(scalar_bytes, 1) + alignment - 1) / alignment * alignment;
    const std::size_t scalars_end = bytes;
    for (const LoadedKernel& kernel : loaded.kernels) {
        offsets_.push_back(kernel.emitted.finishes ? bytes : 0);
        if (kernel.emitted.finishes) bytes += (workspace_bytes(kernel.emitted) + alignment - 1) / alignment * alignment;
    }
    memory_ = DeviceBuffer(loaded.device, bytes);
    const CurrentDevice current(loaded.device);
    const Stream stream(loaded.device, StreamKind::independent);
    auto* start = static_cast<std::byte*>(memory_.address());
    fill_bytes(start, 0xff, scalars_end, stream);
    fill_bytes(start + scalars_end, 0, bytes - scalars_end, stream);
    stream.wait();
}

DeviceError never_yielded() {
    return DeviceError(
        "the graph that this run was captured into has not run yet: launch it and synchronise its stream before asking "
        "for the results");
}

void* Workspace::of_sweep(std::size_t sweep) const noexcept {
    return offsets_[sweep] == 0 ? nullptr : static_cast<std::byte*>(memory_.address()) + offsets_[sweep];
}

void Workspace::read_scalars(std::span<const int> wanted, std::span<ScalarResult> results) const {
    if (wanted.empty()) return;
    std::vector<DeviceScalar> scalars(results.size());
    const Stream stream(memory_.device(), StreamKind::independent);
    copy_to_host(scalars.data(), memory_.address(), scalars.size() * sizeof(DeviceScalar), stream);
    stream.wait();
    for (const int scalar : wanted) {
        const DeviceScalar& from = scalars[static_cast<std::size_t>(scalar)];
        if (from.empty == DeviceScalar::never) throw never_yielded();
        results[static_cast<std::size_t>(scalar)] = {from.bits, from.empty != 0};
    }
}

std::int64_t elements_of(std::span<const int> dims, std::span<const std::int64_t> extents) {
    return element_count(dims, extents).value_or(0);
}

std::size_t bytes_of(const Array& array, const Bound& bound) {
    return static_cast<std::size_t>(elements_of(array.dims, bound.extents)) * size_of(array.type);
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
std::int64_t stride_along(const Array& array, int dim, const std::vector<std::int64_t>& extents) {
    const auto at = std::find(array.dims.begin(), array.dims.end(), dim);
    return elements_of({at == array.dims.end() ? at : at + 1, array.dims.end()}, extents);
}

} // namespace

SweepLaunch make_launch(const Plan& plan, std::size_t sweep, const Kernel& kernel, const Bound& bound,
                        std::span<void* const> arrays, const LaunchMemory& memory) {
    const std::int64_t elements = elements_of(plan.sweeps[sweep].dims, bound.extents);
    if (const std::string problem = too_many_elements(kernel, elements); !problem.empty()) throw InvalidGraph(problem);
    SweepLaunch launch;
    launch.blocks = static_cast<std::uint32_t>(grid(kernel, elements));
    launch.bytes = elements * kernel.loaded_bytes;
    for (const KernelParameter& parameter : kernel.parameters) {
        const auto number = static_cast<std::size_t>(parameter.number); // unused by the kinds that have none
        const auto value = [&]() -> std::uint64_t {
            switch (parameter.kind) {
            case ParameterKind::array: return as_value(arrays[number]);
            case ParameterKind::parameter: return bound.parameters[number];
            case ParameterKind::elements: return static_cast<std::uint64_t>(elements);
            case ParameterKind::extent: return static_cast<std::uint64_t>(bound.extents[number]);
            case ParameterKind::stride:
                if (elements == 0) return 0; // nothing is read, and a product of the other extents may not fit
                return static_cast<std::uint64_t>(stride_along(plan.arrays[number], parameter.dim, bound.extents));
            case ParameterKind::scalars: return as_value(memory.scalars);
            case ParameterKind::workspace: return as_value(memory.workspace);
            case ParameterKind::host: return as_value(memory.host);
            }
            __builtin_unreachable();
        };
        launch.values.push_back(value());
    }
    return launch;
}

std::vector<SweepLaunch> make_launches(const LoadedPlan& loaded, const Bound& bound, std::span<void* const> arrays,
                                       const Workspace& workspace, void* host) {
    const Plan& plan = *loaded.plan;
    std::vector<SweepLaunch> launches;
    for (std::size_t i = 0; i < plan.sweeps.size(); ++i) {
        const auto& yields = plan.sweeps[i].yields;
        const bool host_reads = std::any_of(yields.begin(), yields.end(),
                                            [&](const Yield& yield) { return is_output(plan, yield.scalar); });
        launches.push_back(make_launch(plan, i, loaded.kernels[i].emitted, bound, arrays,
                                       {workspace.scalars(), workspace.of_sweep(i), host_reads ? host : nullptr}));
    }
    return launches;
}

} // namespace gf::cuda
