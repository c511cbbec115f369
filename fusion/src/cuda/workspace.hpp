// The device memory that the sweeps of one plan share from launch to launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gridfold/core/buffer.hpp>

#include "cuda/loaded_plan.hpp"

namespace gf::cuda {

/// What a kernel keeps of a scalar in device memory.
struct DeviceScalar {
    static constexpr std::uint64_t never = ~std::uint64_t{0}; ///< as `empty`: no sweep has yielded it
    std::uint64_t bits;
    std::uint64_t empty;
};

/// What is thrown for a scalar that a captured graph has not yielded yet.
DeviceError never_yielded();

/// The plan's scalars and each sweep's own workspace: one allocation. Two launches of it must not overlap.
class Workspace {
public:
    /// Ready for a first launch when it returns: workspaces are zero, scalars are marked as never yielded.
    explicit Workspace(const LoadedPlan& loaded);

    void* scalars() const noexcept { return memory_.address(); }
    /// The workspace of a sweep; null for one that needs none.
    void* of_sweep(std::size_t sweep) const noexcept;
    /// Reads back what the scalars hold, for captured graphs. Throws DeviceError if one in `wanted` was never yielded.
    void read_scalars(std::span<const int> wanted, std::span<ScalarResult> results) const;

private:
    DeviceBuffer memory_;
    std::vector<std::size_t> offsets_; // by sweep; 0 = none
};

/// The number of elements over these dims. It fits: the front end has checked the extents.
std::int64_t elements_of(std::span<const int> dims, std::span<const std::int64_t> extents);

std::size_t bytes_of(const Array& array, const Bound& bound);
/// Has an array no device memory of the caller's? A temporary, or bound in host memory.
bool needs_memory(const Array& array, const BoundArray& bound);

/// Launch::may_overlap of a launch that reads so many bytes. Blocks that start while others end share the
/// multiprocessors out unevenly: where a kernel reads more, that costs more time than an early launch saves
/// (bench/NOTES.md).
inline bool overlaps(const LoadedPlan& loaded, std::int64_t bytes) {
    return loaded.may_overlap && bytes <= std::int64_t{1} << 26;
}

/// One launch of one sweep: its grid and the values of its parameters, each in its low-order bytes.
struct SweepLaunch {
    std::uint32_t blocks = 1;
    std::vector<std::uint64_t> values;
    std::int64_t bytes = 0; ///< that it reads, at most
    friend bool operator==(const SweepLaunch&, const SweepLaunch&) = default;
};

/// What one sweep's launch finds beside arrays.
struct LaunchMemory {
    void* scalars;   ///< DeviceScalar, one for each of Plan::scalars
    void* workspace; ///< this sweep's; null for one that needs none
    void* host;      ///< mapped memory of 24 bytes for each of Plan::scalars, or null
};

/// The launch of one sweep. `arrays` has the device address of each of Plan::arrays.
SweepLaunch make_launch(const Plan& plan, std::size_t sweep, const Kernel& kernel, const Bound& bound,
                        std::span<void* const> arrays, const LaunchMemory& memory);

/// The launches of all sweeps. `arrays` has the device address of each of Plan::arrays. Sweeps that yield a result also
/// write it to `host`, mapped memory of 24 bytes a scalar, unless that is null.
std::vector<SweepLaunch> make_launches(const LoadedPlan& loaded, const Bound& bound, std::span<void* const> arrays,
                                       const Workspace& workspace, void* host);

/// Calls `use(launch)` with a sweep's launch as the driver takes it; it is valid during the call.
template <class Use> void with_launch(const LoadedPlan& loaded, std::size_t sweep, const SweepLaunch& one, Use&& use) {
    const LoadedKernel& kernel = loaded.kernels[sweep];
    std::vector<std::uint64_t> values = one.values; // kernelParams points to mutable memory
    std::vector<void*> addresses;
    addresses.reserve(values.size());
    for (std::uint64_t& value : values) addresses.push_back(&value);
    use(Launch{kernel.kernel, one.blocks, static_cast<std::uint32_t>(kernel.emitted.threads), addresses.data(),
               overlaps(loaded, one.bytes)});
}

/// Is this scalar of the plan a result of the graph?
bool is_output(const Plan& plan, int scalar);

} // namespace gf::cuda
