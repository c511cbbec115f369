// One sweep's launch: its grid and the values of its kernel's parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gridfold/core/module.hpp>
#include <gridfold/fusion/backend.hpp>

#include "cuda/loaded_plan.hpp"

namespace gf::cuda {

/// A scalar in device memory, as kernels write it.
struct DeviceScalar {
    static constexpr std::uint64_t never = ~std::uint64_t{0}; ///< as `empty`: no sweep has yielded it
    std::uint64_t bits;
    std::uint64_t empty;
};

/// The number of elements over these dims. It fits: the front end has checked the extents.
std::int64_t elements_of(std::span<const DimId> dims, std::span<const std::int64_t> extents);
std::size_t bytes_of(const Array& array, std::span<const std::int64_t> extents);
/// True if an array needs device memory of the runner: a temporary, or an array bound in host memory.
bool needs_memory(const Array& array, const BoundArray& bound);
/// The strides with which kernels read an array of a problem, by Plan::arrays; none if it is contiguous. Arrays in host
/// memory are contiguous where they are copied to.
Strides strides_on_device(const Plan& plan, const BoundProblem& problem, std::size_t array);
/// True if this scalar of the plan is a result of the graph.
bool is_output(const Plan& plan, ScalarId scalar);

/// One launch of one sweep.
struct SweepLaunch {
    std::uint32_t blocks = 1;
    std::vector<std::uint64_t> values; ///< the values of the kernel's parameters, each in its low-order bytes
    std::int64_t bytes = 0;            ///< the most bytes that it reads
    friend bool operator==(const SweepLaunch&, const SweepLaunch&) = default;
};

/// The memory of one sweep of one problem besides arrays.
struct LaunchMemory {
    void* scalars;   ///< DeviceScalar, one for each of Plan::scalars
    void* workspace; ///< this sweep's; null if it needs none
    void* host;      ///< mapped memory of 24 bytes for each of Plan::scalars, or null
};

/// The values of Kernel::parameters for one problem. `arrays` has the device address of each of Plan::arrays.
std::vector<std::uint64_t> parameter_values(const Plan& plan, SweepId sweep, const Kernel& kernel,
                                            const BoundProblem& bound, std::span<void* const> arrays,
                                            const LaunchMemory& memory);

/// Launch::may_overlap of a launch. Blocks that start while others end load the multiprocessors unevenly: for kernels
/// that read more than this, that takes more time than an early launch saves (bench/NOTES.md).
inline bool overlaps(const LoadedPlan& loaded, const SweepLaunch& launch) {
    return loaded.may_overlap && launch.bytes <= std::int64_t{1} << 26;
}

/// Calls `use(launch)` with a sweep's launch in the driver's form, which is valid during the call.
template <class Use> void with_launch(const LoadedPlan& loaded, SweepId sweep, const SweepLaunch& one, Use&& use) {
    const LoadedKernel& kernel = *loaded.kernels[sweep];
    std::vector<std::uint64_t> values = one.values; // kernelParams points to mutable memory
    std::vector<void*> addresses;
    addresses.reserve(values.size());
    for (std::uint64_t& value : values) addresses.push_back(&value);
    use(Launch{kernel.kernel, one.blocks, static_cast<std::uint32_t>(kernel.emitted.schedule.threads), addresses.data(),
               overlaps(loaded, one), static_cast<std::uint32_t>(kernel.emitted.schedule.shared_bytes),
               kernel.emitted.schedule.cooperates});
}

} // namespace gf::cuda
