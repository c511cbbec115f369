// Runs many problems of one loaded plan: one launch a sweep, in stream order, whose blocks find their problem in a
// table.
//
// All that the launches need beside the caller's arrays is in one device allocation: the problems' scalars, workspaces
// and tables, and the arrays that are not the caller's.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include <gridfold/core/capture.hpp>
#include <gridfold/core/event.hpp>

#include "cuda/loaded_plan.hpp"
#include "cuda/runner_rules.hpp"
#include "cuda/staging.hpp"
#include "cuda/workspace.hpp"

namespace gf::cuda {
namespace {

/// Hands out places in one allocation, before that is made.
class Layout {
public:
    std::size_t take(std::size_t bytes) {
        const std::size_t at = bytes_;
        bytes_ = (bytes_ + bytes + alignment - 1) / alignment * alignment;
        return at;
    }
    std::size_t bytes() const noexcept { return bytes_; }

private:
    static constexpr std::size_t alignment = 256; // no two problems' words share a cache line
    std::size_t bytes_ = 0;
};

/// One launch for all problems: its grid, and the record of each block (Problems::many).
struct ManyLaunch {
    std::uint32_t blocks = 0;
    std::vector<std::uint64_t> records;
    std::uint64_t table = 0; ///< their device address
    std::int64_t bytes = 0;  ///< that it reads
};

/// What launches use, and a graph that captured them owns.
struct Shared {
    std::shared_ptr<const LoadedPlan> loaded;
    DeviceBuffer memory;
    std::vector<std::shared_ptr<const void>> owners; // of outputs that the caller did not bind
};

class CudaManyRunner final : public Runner {
public:
    explicit CudaManyRunner(std::shared_ptr<const LoadedPlan> loaded)
        : loaded_(std::move(loaded)), stream_(loaded_->device, StreamKind::ordered_with_default),
          done_(loaded_->device) {}
    ~CudaManyRunner() override;

    void bind(std::span<const Bound> problems) override;
    void run(std::span<ScalarResult> scalars, StreamView stream) override;
    void enqueue(StreamView stream) override;
    void wait(std::span<ScalarResult> scalars) override;

private:
    void count_blocks();
    void place(Layout& layout);
    void reserve(std::size_t bytes);
    void append(std::size_t sweep, std::size_t problem, const SweepLaunch& one);
    void upload();
    void start(StreamView stream);
    void launch_all(StreamView stream);
    void finish(std::span<ScalarResult> scalars);
    template <class Use> void for_each_host_array(ArrayRole role, Use&& use) const;
    std::byte* at(std::size_t offset) const { return static_cast<std::byte*>(shared_->memory.address()) + offset; }
    std::size_t scalar_count() const { return problems_.size() * loaded_->plan->scalars.size(); }

    std::shared_ptr<const LoadedPlan> loaded_;
    Stream stream_;
    Event done_; // with the last launch
    std::vector<Bound> problems_;
    std::shared_ptr<Shared> shared_;
    std::vector<std::vector<std::uint32_t>> blocks_;   ///< by sweep, by problem
    std::size_t zeroed_ = 0, tables_ = 0;              ///< where the workspaces begin, and where they end
    std::vector<std::vector<std::size_t>> workspaces_; ///< by sweep, by problem: where it is
    std::vector<std::vector<std::size_t>> own_; ///< by problem, by array: where the memory is that is not the caller's
    std::vector<std::vector<void*>> addresses_; ///< by problem, by array
    std::vector<ManyLaunch> launches_;          ///< by sweep
    std::optional<Staging> staging_;
    PinnedBuffer results_;         // DeviceScalar, problem by problem
    bool captured_ = false;        // the last enqueue() was
    bool outputs_fetched_ = false; // of the last launch, to the host
};

CudaManyRunner::~CudaManyRunner() { wait_before_release(loaded_->device, done_); }

/// The blocks that each problem gets. Those that fold are given by the order; where a sweep only maps, they may loop.
/// Refuses what no launch can hold, before memory is asked for.
void CudaManyRunner::count_blocks() {
    constexpr std::int64_t most_that_map = 1024; // a table of a record a slab would be long
    const Plan& plan = *loaded_->plan;
    blocks_.assign(plan.sweeps.size(), {});
    for (std::size_t s = 0; s < plan.sweeps.size(); ++s) {
        const Kernel& kernel = loaded_->kernels[s].emitted;
        std::int64_t all = 0;
        for (std::size_t p = 0; p < problems_.size(); ++p) {
            const std::int64_t elements = elements_of(plan.sweeps[s].dims, problems_[p].extents);
            if (const std::string problem = too_many_elements(kernel, elements); !problem.empty())
                throw InvalidGraph(fmt::format("problem {} of {}: {}", p, problems_.size(), problem));
            const std::int64_t blocks =
                kernel.words > 0 ? grid(kernel, elements) : std::min(grid(kernel, elements), most_that_map);
            all += blocks;
            if (all > 0x7fffffff)
                throw InvalidGraph(
                    fmt::format("{} problems are too many for one launch: with problem {} they have more than "
                                "2^31 - 1 blocks; run them in several calls",
                                problems_.size(), p));
            blocks_[s].push_back(static_cast<std::uint32_t>(blocks));
        }
    }
}

void CudaManyRunner::place(Layout& layout) {
    const Plan& plan = *loaded_->plan;
    layout.take(scalar_count() * sizeof(DeviceScalar)); // at 0
    zeroed_ = layout.bytes();
    const std::size_t unused = layout.take(workspace_bytes(Kernel{})); // neither read nor written: no host waits
    workspaces_.assign(plan.sweeps.size(), std::vector<std::size_t>(problems_.size(), unused));
    for (std::size_t s = 0; s < plan.sweeps.size(); ++s) {
        const Kernel& kernel = loaded_->kernels[s].emitted;
        for (std::size_t p = 0; p < problems_.size() && kernel.words > 0; ++p)
            if (blocks_[s][p] > 1) workspaces_[s][p] = layout.take(workspace_bytes(kernel));
    }
    tables_ = layout.bytes();
    own_.assign(problems_.size(), std::vector<std::size_t>(plan.arrays.size(), 0));
    for (std::size_t p = 0; p < problems_.size(); ++p)
        for (std::size_t a = 0; a < plan.arrays.size(); ++a)
            if (needs_memory(plan.arrays[a], problems_[p].arrays[a]))
                own_[p][a] = layout.take(bytes_of(plan.arrays[a], problems_[p]));
}

/// Memory for that many bytes: what there is, unless it is too small or a captured graph may use it.
void CudaManyRunner::reserve(std::size_t bytes) {
    done_.wait();
    if (!shared_ || shared_.use_count() > 1 || shared_->memory.bytes() < bytes) {
        shared_.reset();
        shared_ = std::make_shared<Shared>(Shared{loaded_, DeviceBuffer(loaded_->device, bytes), {}});
    }
    shared_->owners.clear();
    for (const Bound& problem : problems_)
        shared_->owners.insert(shared_->owners.end(), problem.owners.begin(), problem.owners.end());
}

void CudaManyRunner::append(std::size_t sweep, std::size_t problem, const SweepLaunch& one) {
    ManyLaunch& launch = launches_[sweep];
    const std::uint32_t blocks = blocks_[sweep][problem];
    for (std::uint32_t block = 0; block < blocks; ++block) {
        launch.records.push_back(static_cast<std::uint64_t>(blocks) << 32 | block);
        launch.records.insert(launch.records.end(), one.values.begin(), one.values.end());
    }
    launch.blocks += blocks;
    launch.bytes += one.bytes;
}

void CudaManyRunner::bind(std::span<const Bound> problems) {
    on_device_of(*loaded_, [&] {
        release_retired();
        const Plan& plan = *loaded_->plan;
        problems_.assign(problems.begin(), problems.end());
        captured_ = false;
        count_blocks();
        Layout layout;
        place(layout);
        std::vector<std::size_t> tables;
        for (std::size_t s = 0; s < plan.sweeps.size(); ++s) {
            const std::size_t blocks = std::accumulate(blocks_[s].begin(), blocks_[s].end(), std::size_t{0});
            const std::size_t words = loaded_->kernels[s].emitted.parameters.size() + 1;
            tables.push_back(layout.take(blocks * words * sizeof(std::uint64_t)));
        }
        reserve(layout.bytes());

        addresses_.assign(problems_.size(), {});
        for (std::size_t p = 0; p < problems_.size(); ++p)
            for (std::size_t a = 0; a < plan.arrays.size(); ++a)
                addresses_[p].push_back(needs_memory(plan.arrays[a], problems_[p].arrays[a])
                                            ? at(own_[p][a])
                                            : problems_[p].arrays[a].address);
        launches_.assign(plan.sweeps.size(), {});
        for (std::size_t s = 0; s < plan.sweeps.size(); ++s) {
            launches_[s].table = reinterpret_cast<std::uintptr_t>(at(tables[s]));
            for (std::size_t p = 0; p < problems_.size(); ++p)
                append(
                    s, p,
                    make_launch(plan, s, loaded_->kernels[s].emitted, problems_[p], addresses_[p],
                                {at(p * plan.scalars.size() * sizeof(DeviceScalar)), at(workspaces_[s][p]), nullptr}));
        }
        if (results_.bytes() < scalar_count() * sizeof(DeviceScalar))
            results_ = PinnedBuffer(loaded_->device, scalar_count() * sizeof(DeviceScalar));
        upload();
    });
}

void CudaManyRunner::upload() {
    const Plan& plan = *loaded_->plan;
    fill_bytes(at(0), 0xff, zeroed_, stream_); // no scalar was yielded yet
    fill_bytes(at(zeroed_), 0, tables_ - zeroed_, stream_);
    for (const ManyLaunch& launch : launches_)
        copy_to_device(reinterpret_cast<void*>(launch.table), launch.records.data(),
                       launch.records.size() * sizeof(std::uint64_t), stream_);
    std::size_t largest = 0;
    for (const Bound& problem : problems_)
        for (std::size_t a = 0; a < plan.arrays.size(); ++a)
            if (plan.arrays[a].role != ArrayRole::temporary && problem.arrays[a].memory == Memory::host)
                largest = std::max(largest, bytes_of(plan.arrays[a], problem));
    const std::size_t chunk = std::min(largest, Staging::largest_chunk);
    if (chunk != 0 && (!staging_ || staging_->chunk_bytes() < chunk)) staging_.emplace(loaded_->device, chunk);
    stream_.wait();
    for (ManyLaunch& launch : launches_) launch.records = {};
}

/// Calls `use(device address, host address, bytes)` for each array of this role that is bound in host memory and has
/// elements.
template <class Use> void CudaManyRunner::for_each_host_array(ArrayRole role, Use&& use) const {
    const Plan& plan = *loaded_->plan;
    for (std::size_t p = 0; p < problems_.size(); ++p)
        for (std::size_t a = 0; a < plan.arrays.size(); ++a) {
            if (plan.arrays[a].role != role || problems_[p].arrays[a].memory != Memory::host) continue;
            if (const std::size_t bytes = bytes_of(plan.arrays[a], problems_[p]); bytes != 0)
                use(addresses_[p][a], problems_[p].arrays[a].address, bytes);
        }
}

void CudaManyRunner::launch_all(StreamView stream) {
    for (std::size_t s = 0; s < launches_.size(); ++s) {
        const LoadedKernel& kernel = loaded_->kernels[s];
        void* parameters[] = {&launches_[s].table};
        launch({kernel.kernel, launches_[s].blocks, static_cast<std::uint32_t>(kernel.emitted.threads), parameters,
                overlaps(*loaded_, launches_[s].bytes)},
               stream);
    }
}

void CudaManyRunner::start(StreamView stream) {
    const StreamView target = stream ? stream : stream_;
    captured_ = false;
    outputs_fetched_ = false;
    done_.order_before(target); // the launch before may be in another stream, and uses the same memory
    try {
        for_each_host_array(ArrayRole::input, [&](void* device, const void* host, std::size_t bytes) {
            staging_->to_device(device, host, bytes, target);
        });
        launch_all(target);
        if (scalar_count() != 0) copy_to_host(results_.address(), at(0), scalar_count() * sizeof(DeviceScalar), target);
    } catch (...) {
        done_.record(target); // what was enqueued uses the memory
        throw;
    }
    done_.record(target);
}

void CudaManyRunner::enqueue(StreamView stream) {
    on_device_of(*loaded_, [&] {
        if (!stream || !is_capturing(stream)) return start(stream);
        bool has_host_arrays = false;
        const auto note = [&](void*, const void*, std::size_t) { has_host_arrays = true; };
        for_each_host_array(ArrayRole::input, note);
        for_each_host_array(ArrayRole::output, note);
        refuse_captured_host_arrays(has_host_arrays);
        release_retired();
        done_.wait();
        fill_bytes(at(0), 0xff, zeroed_, stream_); // until the graph has run, no scalar was yielded
        stream_.wait();
        give_to_captured_graph(stream, shared_);
        launch_all(stream);
        captured_ = true;
    });
}

void CudaManyRunner::run(std::span<ScalarResult> scalars, StreamView stream) {
    on_device_of(*loaded_, [&] {
        refuse_captured_run(stream);
        start(stream);
        finish(scalars);
    });
}

void CudaManyRunner::wait(std::span<ScalarResult> scalars) {
    on_device_of(*loaded_, [&] {
        if (captured_ && scalar_count() != 0) {
            copy_to_host(results_.address(), at(0), scalar_count() * sizeof(DeviceScalar), stream_);
            stream_.wait();
        }
        finish(scalars);
    });
}

void CudaManyRunner::finish(std::span<ScalarResult> scalars) {
    if (!captured_) {
        done_.wait();
        if (!outputs_fetched_)
            for_each_host_array(ArrayRole::output, [&](const void* device, void* host, std::size_t bytes) {
                staging_->to_host(host, device, bytes, stream_);
            });
        stream_.wait();
        outputs_fetched_ = true;
    }
    const Plan& plan = *loaded_->plan;
    for (std::size_t i = 0; i < scalar_count(); ++i) {
        DeviceScalar scalar;
        std::memcpy(&scalar, static_cast<const std::byte*>(results_.address()) + i * sizeof scalar, sizeof scalar);
        if (scalar.empty == DeviceScalar::never && is_output(plan, static_cast<int>(i % plan.scalars.size())))
            throw never_yielded();
        scalars[i] = {scalar.bits, scalar.empty != 0};
    }
}

} // namespace

std::unique_ptr<Runner> make_many_runner(std::shared_ptr<const LoadedPlan> loaded) {
    const CurrentDevice current(loaded->device);
    return std::make_unique<CudaManyRunner>(std::move(loaded));
}

} // namespace gf::cuda
