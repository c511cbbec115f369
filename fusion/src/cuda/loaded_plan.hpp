// A plan's kernels, compiled and loaded on one device: a LoadedPlan for each choice of schedules, shared by a build,
// its runners and captured graphs.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gridfold/core/device.hpp>
#include <gridfold/core/error.hpp>
#include <gridfold/core/module.hpp>
#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/plan.hpp>

#include "cuda/emit_cuda.hpp"
#include "plan/join_phases.hpp"

namespace gf::cuda {

/// Remembers a sticky error that lost the device: all later calls fail with the same message.
class Health {
public:
    /// Throws DeviceError if the device was lost.
    void check() const;
    /// Remembers an error that lost the device; ignores others.
    void note(const DeviceError& error) noexcept;

private:
    std::atomic<bool> lost_{false};
    mutable std::mutex mutex_;
    std::string what_, call_;
    int code_ = 0;
};

struct LoadedKernel {
    Kernel emitted;
    std::shared_ptr<const Module> module; ///< shared by sweeps of the same text
    KernelView kernel;
    KernelFacts facts;
    int most_cooperating = 0; ///< thread blocks on the device, if they cooperate
    bool was_cached = false;
};

/// Immutable.
struct LoadedPlan {
    std::shared_ptr<const Plan> plan; ///< of join_phases() if it has joined chains
    std::vector<Chain> joined;
    int device = 0;
    Problems problems = Problems::one;                           ///< the kernels' number of problems
    bool may_overlap = false;                                    ///< the device supports Launch::may_overlap
    Table<SweepId, std::shared_ptr<const LoadedKernel>> kernels; ///< shared by plans with the same schedule of a sweep
};

/// The chains that kernels run as one sweep each, and the schedules of the sweeps of join_phases().
struct Schedules {
    std::vector<Chain> joined;
    Table<SweepId, Schedule> of_sweeps;
    friend bool operator==(const Schedules&, const Schedules&) = default;
};

/// The device has no room for the thread blocks that share a row. PlanLoader::row_sharing() is lower from then on.
struct NoRoomForRow {};

/// Loads a plan on one device, once for each choice of schedules. Thread-safe.
class PlanLoader {
public:
    /// Throws DeviceError if no device has this number.
    PlanLoader(std::shared_ptr<const Plan> plan, int device, const BuildOptions& options);

    const Plan& plan() const noexcept { return *plan_; }
    /// The chains of the plan.
    const std::vector<Chain>& chains() const noexcept { return chains_; }
    /// The plan in which these chains are joined.
    std::shared_ptr<const Plan> plan_with(const std::vector<Chain>& joined) const;
    int device() const noexcept { return device_.ordinal; }
    /// The most shared memory of a thread block.
    int shared_bytes() const noexcept { return device_.shared_bytes; }
    /// The thread blocks that may share a row. load() throws NoRoomForRow if the device has no room for those of a
    /// schedule. There are fewer then, and the caller chooses schedules again.
    RowSharing row_sharing() const {
        const std::lock_guard lock(mutex_);
        return row_sharing_;
    }
    Health& health() const noexcept { return health_; }

    /// The plan with these schedules. The first call with a schedule emits, compiles (in parallel, through the cache)
    /// and loads; where a kernel spills registers, it is compiled again for fewer resident blocks. Calls for loaded
    /// plans do not wait for a compilation. Without a compiler the answer may be a loaded plan with other schedules
    /// that reads the same arrays by strides. Throws DeviceError, CompileError, NoRoomForRow.
    std::shared_ptr<const LoadedPlan> load(Problems problems, const Schedules& schedules) const;

private:
    struct Entry {
        Schedules schedules;
        std::shared_ptr<const LoadedPlan> plan;
        bool has_these; ///< its kernels have these schedules; else it takes the place of a plan that cannot be compiled
    };
    std::shared_ptr<const LoadedPlan> find(const Schedules& schedules) const;
    std::shared_ptr<const LoadedPlan> load_anew(Problems problems, const Schedules& schedules) const;
    std::shared_ptr<const LoadedKernel> with_most_resident(const Plan& plan, SweepId sweep, Schedule schedule,
                                                           std::shared_ptr<const LoadedKernel> kernel) const;
    std::vector<std::shared_ptr<const LoadedKernel>> load_kernels(const Plan& plan, std::span<const SweepId> sweeps,
                                                                  std::span<const Schedule> schedules) const;

    std::shared_ptr<const Plan> plan_;
    std::vector<Chain> chains_;
    Device device_;
    BuildOptions options_;
    mutable Health health_;
    mutable std::mutex compiling_; ///< held while plans are loaded; locked before mutex_
    mutable std::mutex mutex_;     ///< guards what follows
    mutable RowSharing row_sharing_;
    mutable std::vector<std::pair<std::vector<Chain>, std::shared_ptr<const Plan>>> plans_;
    mutable std::vector<Entry> loaded_;
};

/// Calls `work` with the plan's device current. Throws DeviceError if the device is lost, and remembers new losses.
template <class Work> auto on_device_of(const PlanLoader& loader, Work&& work) {
    loader.health().check();
    try {
        const CurrentDevice current(loader.device());
        return work();
    } catch (const DeviceError& error) {
        loader.health().note(error);
        throw;
    }
}

} // namespace gf::cuda
