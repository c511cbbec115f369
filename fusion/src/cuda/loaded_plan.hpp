// A plan's kernels, compiled and loaded on one device: a LoadedPlan for each choice of schedules, shared by a build, its
// runners and captured graphs.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gridfold/core/device.hpp>
#include <gridfold/core/error.hpp>
#include <gridfold/core/module.hpp>
#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/plan.hpp>

#include "cuda/emit_cuda.hpp"

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
    bool was_cached = false;
};

/// Immutable; kernels in the order of Plan::sweeps.
struct LoadedPlan {
    std::shared_ptr<const Plan> plan;
    int device = 0;
    Problems problems = Problems::one; ///< the kernels' number of problems
    bool may_overlap = false;          ///< the device supports Launch::may_overlap
    Table<SweepId, LoadedKernel> kernels;
};

/// By Plan::sweeps.
using Schedules = std::vector<Schedule>;

/// Loads a plan on one device, once for each choice of schedules. Thread-safe.
class PlanLoader {
public:
    /// Throws DeviceError if no device has this number.
    PlanLoader(std::shared_ptr<const Plan> plan, int device, const BuildOptions& options);

    const Plan& plan() const noexcept { return *plan_; }
    int device() const noexcept { return device_; }
    Health& health() const noexcept { return health_; }

    /// The plan with these schedules. The first call emits, compiles (in parallel, through the cache) and loads; where
    /// a kernel spills registers, it is compiled again for fewer resident blocks. Throws DeviceError, CompileError.
    std::shared_ptr<const LoadedPlan> load(const Schedules& schedules) const;

private:
    std::shared_ptr<const LoadedPlan> load_anew(Schedules schedules) const;

    std::shared_ptr<const Plan> plan_;
    int device_;
    BuildOptions options_;
    mutable Health health_;
    mutable std::mutex mutex_;
    mutable std::vector<std::pair<Schedules, std::shared_ptr<const LoadedPlan>>> loaded_;
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
