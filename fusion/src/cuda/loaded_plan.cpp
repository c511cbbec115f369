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

} // namespace

std::shared_ptr<const LoadedPlan> load_plan(std::shared_ptr<const Plan> plan, int device, const BuildOptions& options,
                                            Problems problems, std::shared_ptr<Health> health) {
    const std::vector<Device> all = devices();
    const CurrentDevice current(device); // throws if no device has that number
    const Device& properties = all[static_cast<std::size_t>(device)];

    auto loaded = std::make_shared<LoadedPlan>();
    loaded->plan = std::move(plan);
    loaded->device = device;
    loaded->problems = problems;
    loaded->may_overlap = kernels_may_overlap(properties);
    loaded->health = std::move(health);
    loaded->kernels.resize(loaded->plan->sweeps.size());
    std::vector<KernelKey> keys; // distinct: sweeps of one text share a kernel
    std::vector<std::size_t> key_of_sweep;
    std::map<std::string_view, std::size_t> known;
    for (std::size_t i = 0; i < loaded->kernels.size(); ++i) {
        Kernel& emitted = loaded->kernels[i].emitted;
        emitted = emit_cuda(*loaded->plan, SweepId(i), problems);
        const auto [it, is_new] = known.try_emplace(emitted.source, keys.size());
        if (is_new)
            keys.push_back({emitted.source, properties.capability_major, properties.capability_minor,
                            compiler_options(options.fast_math)});
        key_of_sweep.push_back(it->second);
    }
    const std::vector<Image> images = images_for(keys);
    std::vector<std::shared_ptr<const Module>> modules;
    modules.reserve(images.size());
    for (const Image& image : images) modules.push_back(std::make_shared<const Module>(device, *image.bytes));
    for (std::size_t i = 0; i < loaded->kernels.size(); ++i) {
        LoadedKernel& kernel = loaded->kernels[i];
        kernel.module = modules[key_of_sweep[i]];
        kernel.kernel = kernel.module->kernel("gridfold_sweep");
        kernel.facts = facts_of(kernel.kernel, device); // loads the kernel now, since a capture cannot
        kernel.was_cached = images[key_of_sweep[i]].was_cached;
    }
    return loaded;
}

} // namespace gf::cuda
