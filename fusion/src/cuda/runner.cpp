// Runs a loaded plan: one CUDA Graph with a node for each sweep, launched repeatedly; parameters are updated in place.
// Kernels for one problem have its bindings as parameters; kernels for many problems read them from a table.
//
// Launches for one problem are numbered. Kernels count the same numbers in device memory, and tag the words that they
// write for the host with them. The host therefore distinguishes a result of this launch from earlier ones without
// clearing memory, and waits without calling CUDA. The scalars of many problems are copied after the launch.
//
// Host inputs are read when the run is started (contiguous page-locked ones in stream order); host outputs are written
// when it is waited for. Inputs with strides are read in order from the host, and by their strides from device memory.
#include "cuda/runner.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <gridfold/core/capture.hpp>
#include <gridfold/core/device.hpp>
#include <gridfold/core/event.hpp>
#include <gridfold/core/graph_exec.hpp>
#include <gridfold/core/nvrtc.hpp>

#include "cuda/device_side.hpp"
#include "cuda/host_words.hpp"
#include "cuda/staging.hpp"

namespace gf::cuda {
namespace {

void pause() {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// The objects that a captured graph owns.
struct Captured {
    std::shared_ptr<const LoadedPlan> loaded;
    DeviceBuffer memory;
    std::vector<std::shared_ptr<const void>> owners; // owners of outputs that the caller did not bind
};

/// A non-empty array in host memory, which is copied.
struct HostArray {
    void* on_device;
    void* on_host;
    std::size_t bytes;
    bool pinned; ///< needs no staging
    std::size_t element_bytes;
    std::optional<Walk> walk{}; ///< of an input with strides
};
struct HostArrays {
    std::vector<HostArray> inputs, outputs;
    bool bound = false;           ///< any array is bound in host memory, even an empty one
    std::size_t staged_bytes = 0; ///< bytes of the largest array that is not pinned
};

/// Visits an array of these dims and strides in order.
Walk walk_of(std::span<const DimId> dims, const Strides& strides, std::span<const std::int64_t> extents) {
    Walk walk;
    for (std::size_t d = 0; d < dims.size(); ++d) walk.append(extents[dims[d].index()], strides[static_cast<int>(d)]);
    return walk;
}

HostArrays find_host_arrays(const Plan& plan, const Bound& problems, std::span<void* const> on_device) {
    HostArrays found;
    const PointerQuery pointer_info;
    for (std::size_t p = 0; p < problems.count; ++p) {
        const BoundProblem problem = problem_of(plan, problems, p);
        for (std::size_t a = 0; a < plan.arrays.size(); ++a) {
            const BoundArray& array = problem.arrays[a];
            if (plan.arrays[a].role == ArrayRole::temporary || array.memory != Memory::host) continue;
            found.bound = true;
            const std::size_t bytes = bytes_of(plan.arrays[a], problem.extents);
            if (bytes == 0) continue;
            const Strides strides = problem.strides_of(a);
            const bool pinned = strides.rank() == 0 && pointer_info(array.address).pinned;
            const std::size_t element_bytes = size_of(plan.arrays[a].type);
            std::optional<Walk> order;
            if (strides.rank() > 0) order = walk_of(plan.arrays[a].dims, strides, problem.extents);
            if (!pinned) found.staged_bytes = std::max(found.staged_bytes, bytes);
            (plan.arrays[a].role == ArrayRole::output ? found.outputs : found.inputs)
                .push_back({on_device[p * plan.arrays.size() + a], array.address, bytes, pinned, element_bytes, order});
        }
    }
    return found;
}

GraphExec make_graph(const LoadedPlan& loaded, std::vector<SweepLaunch> launches) {
    std::vector<std::vector<void*>> addresses(launches.size());
    std::vector<std::vector<int>> after(launches.size());
    std::vector<KernelNode> nodes;
    for (std::size_t i = 0; i < launches.size(); ++i) {
        for (std::uint64_t& value : launches[i].values) addresses[i].push_back(&value);
        for (const SweepId earlier : loaded.plan->sweeps[i].after) after[i].push_back(earlier.number());
        const LoadedKernel& kernel = *loaded.kernels[i];
        nodes.push_back(
            {{kernel.kernel, launches[i].blocks, static_cast<std::uint32_t>(kernel.emitted.schedule.threads),
              addresses[i].data(), overlaps(loaded, launches[i]),
              static_cast<std::uint32_t>(kernel.emitted.schedule.shared_bytes), kernel.emitted.schedule.cooperates},
             after[i]});
    }
    return {loaded.device, nodes};
}

/// True if the scalars that the host polls show that the plan is done: it writes no arrays, and every last sweep yields
/// a result (one that yields none may still be reading its inputs).
bool scalars_tell_all(const Plan& plan) {
    if (std::any_of(plan.outputs.begin(), plan.outputs.end(), [](const Output& o) { return o.array.valid(); }))
        return false;
    for (const SweepId i : plan.sweeps.ids()) {
        const bool is_last = std::none_of(plan.sweeps.begin(), plan.sweeps.end(), [&](const Sweep& later) {
            return std::find(later.after.begin(), later.after.end(), i) != later.after.end();
        });
        const auto& yields = plan.sweeps[i].yields;
        const bool tells =
            std::any_of(yields.begin(), yields.end(), [&](const Yield& y) { return is_output(plan, y.scalar); });
        if (is_last && !tells) return false;
    }
    return !plan.sweeps.empty();
}

class CudaRunner final : public Runner {
public:
    CudaRunner(std::shared_ptr<const PlanLoader> loader, Problems problems);
    ~CudaRunner() override;

    void bind(const Bound& problems) override;
    void run(std::span<ScalarResult> scalars, StreamView stream) override;
    void enqueue(StreamView stream) override;
    void wait(std::span<ScalarResult> scalars) override;

private:
    const Plan& plan() const { return loader_->plan(); }
    bool polls() const { return problems_ == Problems::one; }
    std::size_t answer_bytes() const { return bound_.count * plan().scalars.size() * sizeof(DeviceScalar); }
    bool same_edges(std::span<const SweepLaunch> launches) const;
    std::shared_ptr<const LoadedPlan> load_for(const Bound& bound);
    void fill(const DeviceBuffer& memory, const Layout& layout, const DeviceSide& side) const;
    void begin_anew();
    void start(StreamView stream);
    void capture(StreamView stream);
    void finish(std::span<ScalarResult> scalars);
    void fetch_outputs();
    void read_words(std::span<ScalarResult> scalars) const;
    void read_scalars(const DeviceScalar* from, std::span<ScalarResult> scalars) const;
    void await_words() const;
    bool words_are_there() const;

    std::shared_ptr<const PlanLoader> loader_;
    Problems problems_;
    std::vector<ScalarId> results_; // the scalars that are outputs of the graph
    bool words_suffice_ = false;    // scalars_tell_all(): after the words, nothing has to be waited for
    HostWords words_;               // polls(): the memory that sweeps write scalars to
    PinnedBuffer answer_;           // else: a copy of the DeviceScalars
    Stream stream_;                 // for runs without a caller's stream, and for copies to the host
    Event done_;                    // the end of the last launch

    std::shared_ptr<const LoadedPlan> loaded_; // with the schedules for what is bound
    Joins joins_ = Joins::all;                 // none: without a compiler
    Bound bound_{.extents = {}, .arrays = {}, .parameters = {}, .owners = {}, .count = 0};
    Layout layout_;
    DeviceBuffer memory_;
    DeviceSide side_;
    HostArrays host_arrays_;
    bool is_ready_ = false; // the memory is initialised for `side_`
    GraphExec graph_;
    std::optional<Staging> staging_;
    bool outputs_fetched_ = false; // the last launch's outputs are in host memory
    std::uint64_t launch_count_ = 0;
    std::shared_ptr<Captured> captured_; // set while the last enqueue() was a captured one
};

CudaRunner::CudaRunner(std::shared_ptr<const PlanLoader> loader, Problems problems)
    : loader_(std::move(loader)), problems_(problems), words_suffice_(polls() && scalars_tell_all(plan())),
      words_(polls() ? HostWords(loader_->device(), plan().scalars.size()) : HostWords()),
      stream_(loader_->device(), StreamKind::ordered_with_default), done_(loader_->device()) {
    release_retired();
    for (const ScalarId scalar : plan().scalars.ids())
        if (is_output(plan(), scalar)) results_.push_back(scalar);
}

/// Waits for the launch in progress, which uses the memory that is freed.
CudaRunner::~CudaRunner() {
    try {
        const CurrentDevice current(loader_->device());
        done_.wait(); // defect: last wait
    } catch (...) {   // the device is lost and runs nothing
    }
    release_retired();
}

/// True if a graph of these launches would have the same edges as the existing one.
bool CudaRunner::same_edges(std::span<const SweepLaunch> launches) const {
    for (std::size_t i = 0; i < launches.size(); ++i)
        if (!loaded_->plan->sweeps[i].after.empty() &&
            overlaps(*loaded_, launches[i]) != overlaps(*loaded_, side_.launches[i]))
            return false;
    return true;
}

std::shared_ptr<const LoadedPlan> CudaRunner::load_for(const Bound& bound) {
    const Schedules wanted = choose_schedules(*loader_, problems_, bound, joins_, loaded_.get());
    try {
        return loader_->load(problems_, wanted);
    } catch (const NoRoomForRow&) {
        return load_for(bound);
    } catch (const nvrtc::Unavailable&) { // the kernels of single sweeps may be there
        if (wanted.joined.empty()) throw;
        joins_ = Joins::none;
        return load_for(bound);
    }
}

void CudaRunner::fill(const DeviceBuffer& memory, const Layout& layout, const DeviceSide& side) const {
    if (polls()) // usually once; an independent stream does not wait for the default stream
        make_ready(memory, layout, side, Stream(loader_->device(), StreamKind::independent));
    else
        make_ready(memory, layout, side, stream_);
}

/// Resets the launch numbers of host and device: no launch has used this memory.
void CudaRunner::begin_anew() {
    is_ready_ = true;
    launch_count_ = 0; // defect: count from 0
    words_.clear();
}

void CudaRunner::bind(const Bound& problems) {
    if (problems == bound_) return;
    on_device_of(*loader_, [&] {
        release_retired();
        Bound bound = problems;
        auto loaded = loaded_; // one problem's kernels that realign serve aligned arrays as well
        if (!loaded || !polls() || !reads_fast(*loader_, *loaded, bound, joins_)) loaded = load_for(bound);
        Layout layout = lay_out(*loaded, bound);
        DeviceBuffer larger;
        if (memory_.bytes() < layout.bytes) larger = DeviceBuffer(loader_->device(), layout.bytes); // defect: larger
        const bool grows = larger.address() != nullptr;
        const DeviceBuffer& memory = grows ? larger : memory_;
        DeviceSide side = make_device_side(*loaded, bound, layout, memory, words_.device_address());
        HostArrays host_arrays = find_host_arrays(plan(), bound, side.arrays);
        const std::size_t chunk = std::min(host_arrays.staged_bytes, Staging::largest_chunk);
        std::optional<Staging> staging;
        if (chunk != 0 && (!staging_ || staging_->chunk_bytes() < chunk)) staging.emplace(loader_->device(), chunk);
        const std::size_t scalars = bound.count * plan().scalars.size();
        PinnedBuffer answer;
        if (!polls() && answer_.bytes() < scalars * sizeof(DeviceScalar))
            answer = PinnedBuffer(loader_->device(), scalars * sizeof(DeviceScalar));

        // One problem's workspaces keep their counts while they stay in place.
        const bool refills = grows || !polls() || layout.forms != layout_.forms; // defect: workspaces move
        const bool new_graph = !graph_ || loaded != loaded_ || !same_edges(side.launches);
        if (refills || new_graph || staging) done_.wait(); // replaced objects may be in use
        GraphExec graph;
        try {
            if (refills) {
                is_ready_ = is_ready_ && grows; // without new memory the old tables are overwritten // defect: tables
                fill(memory, layout, side);
            }
            if (new_graph) {
                graph = make_graph(*loaded, side.launches);
            } else {
                for (std::size_t i = 0; i < side.launches.size(); ++i)
                    if (side.launches[i] != side_.launches[i]) // defect: changed launch
                        with_launch(*loaded_, SweepId(i), side.launches[i],
                                    [&](const Launch& launch) { graph_.update(static_cast<int>(i), launch); });
            }
        } catch (...) {
            graph_ = {}; // partly updated: start() makes it again from the old bindings // defect: failed update
            throw;
        }
        // Nothing below throws.
        if (new_graph) graph_ = std::move(graph);
        if (grows) memory_ = std::move(larger);
        if (refills) begin_anew();
        if (staging) staging_ = std::move(staging);
        if (answer.address() != nullptr) answer_ = std::move(answer);
        loaded_ = std::move(loaded);
        bound_ = std::move(bound);
        layout_ = std::move(layout);
        side_ = std::move(side);
        host_arrays_ = std::move(host_arrays);
        captured_.reset();
    });
}

void CudaRunner::start(StreamView stream) {
    if (!graph_ || !is_ready_) {
        done_.wait(); // replaced objects may be in use
        if (!is_ready_) {
            fill(memory_, layout_, side_);
            begin_anew();
        }
        if (!graph_) graph_ = make_graph(*loaded_, side_.launches);
    }
    const StreamView target = stream ? stream : stream_;
    captured_.reset();
    outputs_fetched_ = false; // defect: unfetched
    // The previous launch may be in another stream, and use memory overwritten here.
    if (host_arrays_.bound || !polls()) done_.order_before(target); // defect: previous launch
    try {
        for (const HostArray& array : host_arrays_.inputs) {
            if (array.walk)
                staging_->gather_to_device(array.on_device, array.on_host, array.element_bytes, *array.walk,
                                           array.bytes / array.element_bytes, target);
            else if (array.pinned)
                copy_to_device(array.on_device, array.on_host, array.bytes, target);
            else
                staging_->to_device(array.on_device, array.on_host, array.bytes, target);
        }
        graph_.launch(target);
        ++launch_count_; // defect: count
        if (!polls()) copy_to_host(answer_.address(), memory_.address(), answer_bytes(), target);
    } catch (...) {
        done_.record(target); // the work enqueued so far uses the memory
        throw;
    }
    done_.record(target);
}

void CudaRunner::run(std::span<ScalarResult> scalars, StreamView stream) {
    on_device_of(*loader_, [&] {
        if (stream && is_capturing(stream))
            throw InvalidResult("run() was called with a stream that is being captured", "run() waits for its results",
                                "use enqueue()");
        start(stream);
        finish(scalars);
    });
}

void CudaRunner::enqueue(StreamView stream) {
    on_device_of(*loader_, [&] {
        if (stream && is_capturing(stream))
            capture(stream);
        else
            start(stream);
    });
}

void CudaRunner::wait(std::span<ScalarResult> scalars) {
    on_device_of(*loader_, [&] {
        if (!captured_) return finish(scalars);
        std::vector<DeviceScalar> copy(bound_.count * plan().scalars.size());
        copy_to_host(copy.data(), captured_->memory.address(), copy.size() * sizeof(DeviceScalar), stream_);
        stream_.wait();
        read_scalars(copy.data(), scalars);
    });
}

/// Launches each sweep into the capture, in stream order, on memory that the graph will own.
void CudaRunner::capture(StreamView stream) {
    if (host_arrays_.bound)
        throw InvalidBinding("a run with host arrays cannot be captured", "a graph would copy what they hold now",
                             "bind device arrays");
    release_retired();
    auto captured =
        std::make_shared<Captured>(Captured{loaded_, DeviceBuffer(loader_->device(), layout_.bytes), bound_.owners});
    const DeviceSide side = make_device_side(*loaded_, bound_, layout_, captured->memory, nullptr);
    make_ready(captured->memory, layout_, side, Stream(loader_->device(), StreamKind::independent));
    give_to_captured_graph(stream, captured);
    for (std::size_t i = 0; i < side.launches.size(); ++i)
        with_launch(*loaded_, SweepId(i), side.launches[i], [&](const Launch& what) { launch(what, stream); });
    captured_ = std::move(captured);
}

bool CudaRunner::words_are_there() const {
    const std::uint32_t tag = tag_of(launch_count_);
    return std::all_of(results_.begin(), results_.end(), [&](ScalarId scalar) { return words_.has(scalar, tag); });
}

/// Waits for the last launch's words: first by polling only them, for the time of a short kernel; then by querying
/// CUDA, too (a kernel that faults writes none); then blocked.
void CudaRunner::await_words() const {
    using std::chrono::microseconds;
    constexpr auto spinning = microseconds(50), polling = microseconds(2000);
    constexpr int looks = 16; // polls between two reads of the clock
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

void CudaRunner::fetch_outputs() {
    if (host_arrays_.outputs.empty() || outputs_fetched_) return;
    done_.order_before(stream_);
    for (const HostArray& array : host_arrays_.outputs) {
        if (array.pinned)
            copy_to_host(array.on_host, array.on_device, array.bytes, stream_);
        else
            staging_->to_host(array.on_host, array.on_device, array.bytes, stream_);
    }
    stream_.wait();
    outputs_fetched_ = true;
}

void CudaRunner::finish(std::span<ScalarResult> scalars) {
    if (words_suffice_)
        await_words();
    else
        done_.wait();
    fetch_outputs();
    if (polls())
        read_words(scalars);
    else
        read_scalars(static_cast<const DeviceScalar*>(answer_.address()), scalars);
}

void CudaRunner::read_words(std::span<ScalarResult> scalars) const {
    if (!words_are_there())
        throw InternalError(
            fmt::format("launch {} of a plan ended without its results: {}", launch_count_, plan().graph_text));
    for (const ScalarId scalar : results_) scalars[scalar.index()] = words_.read(scalar);
}

/// `from` and `scalars` hold one problem after the other.
void CudaRunner::read_scalars(const DeviceScalar* from, std::span<ScalarResult> scalars) const {
    for (std::size_t p = 0; p < bound_.count; ++p)
        for (const ScalarId result : results_) {
            const std::size_t i = p * plan().scalars.size() + result.index();
            const DeviceScalar& scalar = from[i];
            if (scalar.empty == DeviceScalar::never)
                throw DeviceError(
                    "the graph that this run was captured into has not run yet: launch it and synchronise its stream "
                    "before asking for the results");
            scalars[i] = {scalar.bits, scalar.empty != 0};
        }
}

} // namespace

std::unique_ptr<Runner> make_runner(std::shared_ptr<const PlanLoader> loader, Problems problems) {
    return std::make_unique<CudaRunner>(std::move(loader), problems);
}

} // namespace gf::cuda
