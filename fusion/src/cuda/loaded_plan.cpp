#include "cuda/loaded_plan.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <gridfold/core/cache.hpp>
#include <gridfold/core/device.hpp>
#include <gridfold/core/nvrtc.hpp>

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

Device device_of(int ordinal) {
    const CurrentDevice current(ordinal); // throws if no device has that number
    return devices()[static_cast<std::size_t>(ordinal)];
}

constexpr int largest_cluster = 16;   // of any device
constexpr int bytes_ahead = 33 << 17; // about what an H200's memory delivers within its latency (bench/NOTES.md)

} // namespace

PlanLoader::PlanLoader(std::shared_ptr<const Plan> plan, int device, const BuildOptions& options)
    : plan_(std::move(plan)), chains_(find_chains(*plan_, Folded::rows_or_all)), device_(device_of(device)),
      options_(options), row_sharing_{.cluster = device_.has_clusters ? largest_cluster : 1,
                                      .multiprocessors = device_.has_cooperative_launches ? device_.multiprocessors : 0,
                                      .shared_bytes = device_.shared_bytes,
                                      .warps = device_.threads / 32,
                                      .bytes_ahead = device_.has_clusters ? bytes_ahead : 0} {}

std::shared_ptr<const Plan> PlanLoader::plan_with(const std::vector<Chain>& joined) const {
    if (joined.empty()) return plan_;
    const std::lock_guard lock(mutex_);
    const auto known = std::ranges::find_if(plans_, [&](const auto& p) { return p.first == joined; });
    if (known != plans_.end()) return known->second;
    return plans_.emplace_back(joined, std::make_shared<const Plan>(join_phases(*plan_, joined))).second;
}

std::shared_ptr<const LoadedPlan> PlanLoader::find(const Schedules& schedules) const {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(loaded_, schedules, &Entry::schedules);
    return found == loaded_.end() ? nullptr : found->plan;
}

std::shared_ptr<const LoadedPlan> PlanLoader::load(Problems problems, const Schedules& schedules) const {
    if (auto found = find(schedules)) return found;
    const std::lock_guard compiling(compiling_);
    if (auto found = find(schedules)) return found; // another thread has loaded it
    try {
        auto loaded = load_anew(problems, schedules);
        const std::lock_guard lock(mutex_);
        return loaded_.emplace_back(Entry{schedules, std::move(loaded), true}).plan;
    } catch (const nvrtc::Unavailable&) {
        const std::lock_guard lock(mutex_);
        const auto strided = &Schedule::strided;
        const auto serves = [&](const Entry& e) {
            const bool serves_all = std::ranges::none_of(e.plan->kernels, [](const auto& k) {
                const Course course = k->emitted.schedule.course;
                return has_whole_rows(course) || course == Course::columns;
            });
            if (e.plan->problems != problems || !serves_all) return false; // defect: serves long rows
            return std::ranges::equal(e.schedules.of_sweeps, schedules.of_sweeps, {}, strided,
                                      strided); // defect: same strides
        };
        const auto other = std::ranges::find_if(loaded_, serves);
        if (other == loaded_.end()) throw;
        const std::shared_ptr<const LoadedPlan> instead = other->plan; // the rest of a schedule changes no bit
        return loaded_.emplace_back(Entry{schedules, instead, false}).plan;
    }
}

std::shared_ptr<const LoadedPlan> PlanLoader::load_anew(Problems problems, const Schedules& schedules) const {
    auto loaded = std::make_shared<LoadedPlan>();
    loaded->plan = plan_with(schedules.joined);
    loaded->joined = schedules.joined;
    const Plan& plan = *loaded->plan;
    loaded->device = device();
    loaded->problems = problems;
    loaded->may_overlap = kernels_may_overlap(device_);
    loaded->kernels.resize(plan.sweeps.size());
    std::vector<SweepId> missing;
    std::vector<Schedule> wanted;
    for (const SweepId sweep : plan.sweeps.ids()) {
        const std::lock_guard lock(mutex_);
        const auto same = std::ranges::find_if(loaded_, [&](const Entry& e) {
            return e.has_these && e.plan->plan == loaded->plan &&
                   e.schedules.of_sweeps[sweep] == schedules.of_sweeps[sweep];
        });
        if (same != loaded_.end()) {
            loaded->kernels[sweep] = same->plan->kernels[sweep];
        } else {
            missing.push_back(sweep);
            wanted.push_back(schedules.of_sweeps[sweep]);
        }
    }
    const auto kernels = load_kernels(plan, missing, wanted);
    for (std::size_t i = 0; i < missing.size(); ++i)
        loaded->kernels[missing[i]] = with_most_resident(plan, missing[i], wanted[i], kernels[i]);
    return loaded;
}

/// The kernel, or one with fewer resident blocks if that saves spills. Local memory that one resident block needs, too,
/// is no spill: the slow paths of functions such as sin have arrays.
std::shared_ptr<const LoadedKernel> PlanLoader::with_most_resident(const Plan& plan, SweepId sweep, Schedule schedule,
                                                                   std::shared_ptr<const LoadedKernel> kernel) const {
    if (kernel->facts.local_bytes <= spill_allowed(schedule) || schedule.resident == 1) return kernel;
    if (schedule.cooperates) return kernel; // with fewer resident blocks a row may have no room
    const auto load_one = [&] { return load_kernels(plan, {&sweep, 1}, {&schedule, 1})[0]; };
    const int most = std::exchange(schedule.resident, 1);
    const std::shared_ptr<const LoadedKernel> least = load_one();
    schedule.resident = most;
    const int allowed = packs_results(schedule.course) ? spill_allowed(schedule) : 0; // of others not measured
    while (kernel->facts.local_bytes > least->facts.local_bytes + allowed) {
        const int spilled = kernel->facts.local_bytes - least->facts.local_bytes;
        schedule = with_fewer_resident(schedule, kernel->facts.registers, spilled);
        kernel = schedule.resident == 1 ? least : load_one();
    }
    return kernel;
}

/// Emits, compiles and loads a kernel of each sweep. Sweeps of one text share a module.
std::vector<std::shared_ptr<const LoadedKernel>>
PlanLoader::load_kernels(const Plan& plan, std::span<const SweepId> sweeps, std::span<const Schedule> schedules) const {
    std::vector<std::shared_ptr<LoadedKernel>> kernels;
    std::vector<KernelKey> keys; // distinct
    std::vector<std::size_t> key_of_kernel;
    std::map<std::string_view, std::size_t> known;
    for (std::size_t i = 0; i < sweeps.size(); ++i) {
        kernels.push_back(std::make_shared<LoadedKernel>());
        kernels[i]->emitted = emit_cuda(plan, sweeps[i], schedules[i]);
        const std::string& source = kernels[i]->emitted.source;
        const auto [it, is_new] = known.try_emplace(source, keys.size());
        if (is_new)
            keys.push_back(
                {source, device_.capability_major, device_.capability_minor, compiler_options(options_.fast_math)});
        key_of_kernel.push_back(it->second);
    }
    const std::vector<Image> images = images_for(keys);
    std::vector<std::shared_ptr<const Module>> modules;
    modules.reserve(images.size());
    for (const Image& image : images) modules.push_back(std::make_shared<const Module>(device(), *image.bytes));
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        LoadedKernel& kernel = *kernels[i];
        kernel.module = modules[key_of_kernel[i]];
        kernel.kernel = kernel.module->kernel("gridfold_sweep");
        const Schedule& schedule = schedules[i];
        if (schedule.shared_bytes > 0) allow_shared_bytes(kernel.kernel, device(), schedule.shared_bytes);
        if (schedule.cooperates) {
            kernel.most_cooperating = device_.multiprocessors *
                                      resident_blocks(kernel.kernel, device(), schedule.threads, schedule.shared_bytes);
            if (kernel.most_cooperating < schedule.cluster) {
                const std::lock_guard lock(mutex_);
                row_sharing_.multiprocessors = 0;
                throw NoRoomForRow();
            }
        } else if (schedule.cluster > 1 &&
                   !allow_cluster(kernel.kernel, device(), schedule.cluster, schedule.threads, schedule.shared_bytes)) {
            const std::lock_guard lock(mutex_);
            row_sharing_.cluster = std::min(row_sharing_.cluster, schedule.cluster / 2);
            throw NoRoomForRow();
        }
        kernel.facts = facts_of(kernel.kernel, device()); // loads the kernel now, since a capture cannot
        kernel.was_cached = images[key_of_kernel[i]].was_cached;
    }
    return {kernels.begin(), kernels.end()};
}

} // namespace gf::cuda
