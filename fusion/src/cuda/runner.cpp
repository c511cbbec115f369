// Runs a loaded plan: one CUDA Graph with a node a sweep, launched again and again, its parameters updated in place.
//
// A launch is numbered; kernels count the same numbers in device memory, and tag with them what they write for the
// host. So the host knows a result of this launch from one of the last without clearing anything, and waits without
// asking CUDA.
//
// Host inputs are read when the run is started (page-locked ones when the stream gets there); host outputs are written
// when it is waited for.
#include <algorithm>
#include <chrono>
#include <optional>

#include <fmt/format.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <gridfold/core/capture.hpp>
#include <gridfold/core/device.hpp>
#include <gridfold/core/event.hpp>
#include <gridfold/core/graph_exec.hpp>

#include "cuda/host_words.hpp"
#include "cuda/loaded_plan.hpp"
#include "cuda/runner_rules.hpp"
#include "cuda/staging.hpp"
#include "cuda/workspace.hpp"

namespace gf::cuda {
namespace {

void pause() {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// The device side of one set of bindings: an address for every array, some in memory of the runner's own.
struct Arrays {
    std::vector<void*> addresses;    // by Plan::arrays, on the device
    std::vector<DeviceBuffer> owned; // likewise: temporaries, and device copies of host arrays
};

/// What a captured graph needs to run, and owns.
struct Captured {
    std::shared_ptr<const LoadedPlan> loaded;
    Workspace workspace;
    Arrays arrays;
    std::vector<std::shared_ptr<const void>> owners; // of outputs that the caller did not bind
};

/// Addresses for `bound`, in buffers of `old` where they are large enough. Those are named, not taken: the result's
/// `owned` holds only what had to be allocated.
Arrays place_arrays(const LoadedPlan& loaded, const Bound& bound, const Arrays& old) {
    const Plan& plan = *loaded.plan;
    Arrays arrays;
    arrays.owned.resize(plan.arrays.size());
    for (std::size_t i = 0; i < plan.arrays.size(); ++i) {
        void* address = bound.arrays[i].address;
        if (needs_memory(plan.arrays[i], bound.arrays[i])) {
            const std::size_t bytes = bytes_of(plan.arrays[i], bound);
            const bool fits = i < old.owned.size() && old.owned[i].bytes() >= bytes;
            if (!fits) arrays.owned[i] = DeviceBuffer(loaded.device, bytes);
            address = (fits ? old.owned[i] : arrays.owned[i]).address();
        }
        arrays.addresses.push_back(address);
    }
    return arrays;
}

GraphExec make_graph(const LoadedPlan& loaded, std::vector<SweepLaunch> launches) {
    std::vector<std::vector<void*>> addresses(launches.size());
    std::vector<KernelNode> nodes;
    for (std::size_t i = 0; i < launches.size(); ++i) {
        for (std::uint64_t& value : launches[i].values) addresses[i].push_back(&value);
        const LoadedKernel& kernel = loaded.kernels[i];
        nodes.push_back({{kernel.kernel, launches[i].blocks, static_cast<std::uint32_t>(kernel.emitted.threads),
                          addresses[i].data(), false},
                         loaded.plan->sweeps[i].after});
    }
    return {loaded.device, nodes};
}

class CudaRunner final : public Runner {
public:
    explicit CudaRunner(std::shared_ptr<const LoadedPlan> loaded);
    ~CudaRunner() override;

    void bind(std::span<const Bound> problems) override;
    void run(std::span<ScalarResult> scalars, StreamView stream) override;
    void enqueue(StreamView stream) override;
    void wait(std::span<ScalarResult> scalars) override;

private:
    template <class Work> void guarded(Work&& work);
    template <class Use> void for_each_host_array(ArrayRole role, Use&& use) const;
    void start(StreamView stream);
    void capture(StreamView stream);
    void finish(std::span<ScalarResult> scalars);
    void await_words() const;
    bool words_are_there() const;

    std::shared_ptr<const LoadedPlan> loaded_;
    std::vector<int> results_;   // the scalars that are outputs
    bool words_suffice_ = false; // when they are there, everything that the caller may look at or reuse is done
    Workspace workspace_;
    HostWords words_;
    Stream stream_; // for runs without the caller's, and for copies back
    Event done_;    // with the last launch

    Bound bound_;
    bool is_bound_ = false;
    Arrays arrays_;
    std::vector<bool> pinned_; // by array: host memory that needs no staging
    bool has_host_arrays_ = false, has_host_outputs_ = false;
    bool outputs_fetched_ = false; // of the last launch, to the host
    std::optional<Staging> staging_;
    std::vector<SweepLaunch> launches_;
    GraphExec graph_;
    std::uint64_t launch_count_ = 0;
    std::shared_ptr<Captured> captured_; // set while the last enqueue() was a captured one
};

/// Is the plan's whole effect seen in the scalars that the host polls? Not with arrays to be written, nor with a last
/// sweep that yields no result: it may still be reading its inputs.
bool scalars_tell_all(const Plan& plan) {
    if (std::any_of(plan.outputs.begin(), plan.outputs.end(), [](const Output& o) { return o.array >= 0; }))
        return false;
    for (std::size_t i = 0; i < plan.sweeps.size(); ++i) {
        const bool is_last = std::none_of(plan.sweeps.begin(), plan.sweeps.end(), [&](const Sweep& later) {
            return std::find(later.after.begin(), later.after.end(), static_cast<int>(i)) != later.after.end();
        });
        const auto& yields = plan.sweeps[i].yields;
        const bool tells =
            std::any_of(yields.begin(), yields.end(), [&](const Yield& y) { return is_output(plan, y.scalar); });
        if (is_last && !tells) return false;
    }
    return !plan.sweeps.empty();
}

CudaRunner::CudaRunner(std::shared_ptr<const LoadedPlan> loaded)
    : loaded_(std::move(loaded)), words_suffice_(scalars_tell_all(*loaded_->plan)), workspace_(*loaded_),
      words_(loaded_->device, loaded_->plan->scalars.size()),
      stream_(loaded_->device, StreamKind::ordered_with_default), done_(loaded_->device) {
    release_retired();
    arrays_.owned.resize(loaded_->plan->arrays.size());
    for (int i = 0; i < static_cast<int>(loaded_->plan->scalars.size()); ++i)
        if (is_output(*loaded_->plan, i)) results_.push_back(i);
}

CudaRunner::~CudaRunner() { wait_before_release(loaded_->device, done_); }

template <class Work> void CudaRunner::guarded(Work&& work) { on_device_of(*loaded_, work); }

void CudaRunner::bind(std::span<const Bound> problems) {
    const Bound& bound = problems.front(); // the only one
    if (is_bound_ && bound == bound_) return;
    guarded([&] {
        release_retired();
        const Plan& plan = *loaded_->plan;
        Bound next = bound;
        Arrays arrays = place_arrays(*loaded_, next, arrays_);
        std::vector<bool> pinned(plan.arrays.size());
        std::size_t largest = 0;
        bool has_host_arrays = false, has_host_outputs = false;
        for (std::size_t i = 0; i < plan.arrays.size(); ++i) {
            if (plan.arrays[i].role == ArrayRole::temporary || next.arrays[i].memory != Memory::host) continue;
            has_host_arrays = true;
            has_host_outputs = has_host_outputs || plan.arrays[i].role == ArrayRole::output;
            pinned[i] = pointer_info(next.arrays[i].address).pinned;
            if (!pinned[i]) largest = std::max(largest, bytes_of(plan.arrays[i], next));
        }
        const std::size_t chunk = std::min(largest, Staging::largest_chunk);
        std::optional<Staging> staging;
        if (chunk != 0 && (!staging_ || staging_->chunk_bytes() < chunk)) staging.emplace(loaded_->device, chunk);
        std::vector<SweepLaunch> launches =
            make_launches(*loaded_, next, arrays.addresses, workspace_, words_.device_address());
        const auto is_new = [](const DeviceBuffer& buffer) { return buffer.address() != nullptr; };
        if (!graph_ || staging || std::any_of(arrays.owned.begin(), arrays.owned.end(), is_new))
            done_.wait(); // what is replaced, or shared with an earlier graph, may be in use
        if (!graph_) {
            graph_ = make_graph(*loaded_, launches);
        } else {
            try {
                for (std::size_t i = 0; i < launches.size(); ++i)
                    if (launches[i] != launches_[i])
                        with_launch(*loaded_, i, launches[i],
                                    [&](const Launch& launch) { graph_.update(static_cast<int>(i), launch); });
            } catch (...) {
                graph_ = {}; // half old, half new: start() makes it again from the old ones
                throw;
            }
        }
        // From here on nothing throws.
        arrays_.addresses = std::move(arrays.addresses);
        for (std::size_t i = 0; i < plan.arrays.size(); ++i)
            if (is_new(arrays.owned[i])) arrays_.owned[i] = std::move(arrays.owned[i]);
        if (staging) staging_ = std::move(staging);
        pinned_ = std::move(pinned);
        has_host_arrays_ = has_host_arrays;
        has_host_outputs_ = has_host_outputs;
        launches_ = std::move(launches);
        bound_ = std::move(next);
        is_bound_ = true;
    });
}

/// Calls `use(array, bytes)` for each array of this role that is bound in host memory and has elements.
template <class Use> void CudaRunner::for_each_host_array(ArrayRole role, Use&& use) const {
    const Plan& plan = *loaded_->plan;
    for (std::size_t i = 0; i < plan.arrays.size(); ++i) {
        if (plan.arrays[i].role != role || bound_.arrays[i].memory != Memory::host) continue;
        if (const std::size_t bytes = bytes_of(plan.arrays[i], bound_); bytes != 0) use(i, bytes);
    }
}

void CudaRunner::start(StreamView stream) {
    if (!graph_) {
        done_.wait(); // the graph that this one replaces may be running, on the same memory
        graph_ = make_graph(*loaded_, launches_);
    }
    const StreamView target = stream ? stream : stream_;
    if (has_host_arrays_)
        done_.order_before(target); // the launch before may be in another stream, and read what is overwritten here
    try {
        for_each_host_array(ArrayRole::input, [&](std::size_t i, std::size_t bytes) {
            if (pinned_[i])
                copy_to_device(arrays_.addresses[i], bound_.arrays[i].address, bytes, target);
            else
                staging_->to_device(arrays_.addresses[i], bound_.arrays[i].address, bytes, target);
        });
        graph_.launch(target);
    } catch (...) {
        done_.record(target); // what was enqueued still writes the memory
        throw;
    }
    ++launch_count_;
    outputs_fetched_ = false;
    captured_.reset();
    done_.record(target);
}

void CudaRunner::run(std::span<ScalarResult> scalars, StreamView stream) {
    guarded([&] {
        refuse_captured_run(stream);
        start(stream);
        finish(scalars);
    });
}

void CudaRunner::enqueue(StreamView stream) {
    guarded([&] {
        if (stream && is_capturing(stream))
            capture(stream);
        else
            start(stream);
    });
}

void CudaRunner::wait(std::span<ScalarResult> scalars) {
    guarded([&] {
        if (captured_)
            captured_->workspace.read_scalars(results_, scalars);
        else
            finish(scalars);
    });
}

/// Launches each sweep into the capture, in stream order, on memory that the graph shall own.
void CudaRunner::capture(StreamView stream) {
    refuse_captured_host_arrays(has_host_arrays_);
    release_retired();
    Arrays arrays = place_arrays(*loaded_, bound_, {});
    auto captured =
        std::make_shared<Captured>(Captured{loaded_, Workspace(*loaded_), std::move(arrays), bound_.owners});
    const auto launches = make_launches(*loaded_, bound_, captured->arrays.addresses, captured->workspace, nullptr);
    give_to_captured_graph(stream, captured);
    for (std::size_t i = 0; i < launches.size(); ++i)
        with_launch(*loaded_, i, launches[i], [&](const Launch& what) { launch(what, stream); });
    captured_ = std::move(captured);
}

bool CudaRunner::words_are_there() const {
    const std::uint32_t tag = tag_of(launch_count_);
    return std::all_of(results_.begin(), results_.end(), [&](int scalar) { return words_.has(scalar, tag); });
}

/// Waits for the last launch's words: by looking at them alone for as long as a short kernel takes, then asking CUDA as
/// well (a kernel that faults writes none), then asleep.
void CudaRunner::await_words() const {
    using std::chrono::microseconds;
    constexpr auto spinning = microseconds(50), polling = microseconds(2000);
    constexpr int looks = 16; // between two looks at the clock
    const auto started = std::chrono::steady_clock::now();
    while (true) {
        for (int i = 0; i < looks; ++i) {
            if (words_are_there()) return;
            pause();
        }
        const auto waited = std::chrono::steady_clock::now() - started;
        if (waited < spinning) continue;
        if (waited > polling) done_.wait();
        if (done_.is_reached()) return;
    }
}

void CudaRunner::finish(std::span<ScalarResult> scalars) {
    if (words_suffice_)
        await_words();
    else
        done_.wait();
    if (has_host_outputs_ && !outputs_fetched_) {
        done_.order_before(stream_);
        for_each_host_array(ArrayRole::output, [&](std::size_t i, std::size_t bytes) {
            if (pinned_[i])
                copy_to_host(bound_.arrays[i].address, arrays_.addresses[i], bytes, stream_);
            else
                staging_->to_host(bound_.arrays[i].address, arrays_.addresses[i], bytes, stream_);
        });
        stream_.wait();
        outputs_fetched_ = true;
    }
    if (!words_are_there())
        throw InternalError(
            fmt::format("launch {} of a plan ended without its results: {}", launch_count_, loaded_->plan->graph_text));
    for (const int scalar : results_) scalars[static_cast<std::size_t>(scalar)] = words_.read(scalar);
}

} // namespace

std::unique_ptr<Runner> make_runner(std::shared_ptr<const LoadedPlan> loaded) {
    return std::make_unique<CudaRunner>(std::move(loaded));
}

} // namespace gf::cuda
