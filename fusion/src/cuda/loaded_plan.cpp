#include "cuda/loaded_plan.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <string_view>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include <gridfold/core/cache.hpp>
#include <gridfold/core/device.hpp>

namespace gf::cuda {

void Health::check() const {
    if (!lost_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    throw DeviceError(fmt::format("this executable's device was lost to an earlier error; compile the graph again in a "
                                  "new process. The error was: {}",
                                  what_),
                      call_, code_);
}

void Health::note(const DeviceError& error) noexcept {
    if (!is_device_lost(error)) return;
    try {
        const std::lock_guard lock(mutex_);
        if (lost_.load(std::memory_order_relaxed)) return;
        what_ = error.what();
        call_ = error.call();
        code_ = error.code();
        lost_.store(true, std::memory_order_release);
    } catch (...) { // no memory for the message: the next call gets the same sticky error from CUDA
    }
}

namespace {

/// The images for all keys, compiled in parallel. Throws the first failure after all have ended.
std::vector<Image> images_for(const std::vector<KernelKey>& keys) {
    std::vector<Image> images(keys.size());
    std::vector<std::exception_ptr> failures(keys.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t i = next++; i < keys.size(); i = next++) {
            try {
                images[i] = image_for(keys[i]);
            } catch (...) {
                failures[i] = std::current_exception();
            }
        }
    };
    {
        const std::size_t wanted =
            std::min<std::size_t>(keys.size(), std::max(1u, std::thread::hardware_concurrency()));
        struct Joined {
            std::vector<std::thread> threads;
            ~Joined() {
                for (std::thread& thread : threads) thread.join();
            }
        } helpers;
        try {
            while (helpers.threads.size() + 1 < wanted) helpers.threads.emplace_back(work);
        } catch (const std::system_error&) { // no more threads: the existing ones do all the work
        }
        work();
    }
    for (const std::exception_ptr& failure : failures)
        if (failure) std::rethrow_exception(failure);
    return images;
}

/// Emits, compiles and loads the kernels of these sweeps. Sweeps of one text share a module.
void load_kernels(LoadedPlan& loaded, const Device& device, bool fast_math, const Schedules& schedules,
                  const std::vector<SweepId>& sweeps) {
    std::vector<KernelKey> keys; // distinct
    std::vector<std::size_t> key_of_sweep;
    std::map<std::string_view, std::size_t> known;
    for (const SweepId sweep : sweeps) {
        Kernel& emitted = loaded.kernels[sweep].emitted;
        emitted = emit_cuda(*loaded.plan, sweep, schedules[sweep.index()]);
        const auto [it, is_new] = known.try_emplace(emitted.source, keys.size());
        if (is_new)
            keys.push_back(
                {emitted.source, device.capability_major, device.capability_minor, compiler_options(fast_math)});
        key_of_sweep.push_back(it->second);
    }
    const std::vector<Image> images = images_for(keys);
    std::vector<std::shared_ptr<const Module>> modules;
    modules.reserve(images.size());
    for (const Image& image : images) modules.push_back(std::make_shared<const Module>(loaded.device, *image.bytes));
    for (std::size_t i = 0; i < sweeps.size(); ++i) {
        LoadedKernel& kernel = loaded.kernels[sweeps[i]];
        kernel.module = modules[key_of_sweep[i]];
        kernel.kernel = kernel.module->kernel("gridfold_sweep");
        kernel.facts = facts_of(kernel.kernel, loaded.device); // loads the kernel now, since a capture cannot
        kernel.was_cached = images[key_of_sweep[i]].was_cached;
    }
}

} // namespace

PlanLoader::PlanLoader(std::shared_ptr<const Plan> plan, int device, const BuildOptions& options)
    : plan_(std::move(plan)), device_(device), options_(options) {
    const CurrentDevice current(device); // throws if no device has that number
}

std::shared_ptr<const LoadedPlan> PlanLoader::load(const Schedules& schedules) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [known, loaded] : loaded_)
        if (known == schedules) return loaded;
    return loaded_.emplace_back(schedules, load_anew(schedules)).second;
}

std::shared_ptr<const LoadedPlan> PlanLoader::load_anew(Schedules schedules) const {
    const std::vector<Device> all = devices();
    const Device& properties = all[static_cast<std::size_t>(device_)];
    auto loaded = std::make_shared<LoadedPlan>();
    loaded->plan = plan_;
    loaded->device = device_;
    loaded->problems = schedules.empty() ? Problems::one : schedules[0].problems;
    loaded->may_overlap = kernels_may_overlap(properties);
    loaded->kernels.resize(plan_->sweeps.size());
    std::vector<SweepId> pending;
    for (const SweepId sweep : plan_->sweeps.ids()) pending.push_back(sweep);
    while (!pending.empty()) {
        load_kernels(*loaded, properties, options_.fast_math, schedules, pending);
        std::erase_if(pending, [&](SweepId sweep) {
            const KernelFacts& facts = loaded->kernels[sweep].facts;
            Schedule& schedule = schedules[sweep.index()];
            if (facts.local_bytes == 0 || schedule.resident == 1) return true;
            schedule = with_fewer_resident(schedule, facts.registers, facts.local_bytes);
            return false;
        });
    }
    return loaded;
}

} // namespace gf::cuda
