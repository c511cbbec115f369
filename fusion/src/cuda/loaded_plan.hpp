// A plan's kernels, compiled and loaded on one device, shared by a build, its runners and captured graphs.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
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
    std::shared_ptr<Health> health; ///< shared by all loaded plans of one Executable
};

/// Calls `work` with the plan's device current. Throws DeviceError if the device is lost, and remembers new losses.
template <class Work> auto on_device_of(const LoadedPlan& loaded, Work&& work) {
    loaded.health->check();
    try {
        const CurrentDevice current(loaded.device);
        return work();
    } catch (const DeviceError& error) {
        loaded.health->note(error);
        throw;
    }
}

/// Emits, compiles (in parallel, through the cache) and loads. Throws DeviceError, CompileError.
std::shared_ptr<const LoadedPlan> load_plan(std::shared_ptr<const Plan> plan, int device, const BuildOptions& options,
                                            Problems problems = Problems::one,
                                            std::shared_ptr<Health> health = std::make_shared<Health>());

} // namespace gf::cuda
