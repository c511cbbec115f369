// The CUDA backend on a real device against the CPU backend, bit for bit: bindings of every kind of memory, rebinding,
// streams, capture, threads. Skipped, with the reason, if there is no device.
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/core/buffer.hpp>
#include <gridfold/core/capture.hpp>
#include <gridfold/core/device.hpp>
#include <gridfold/core/event.hpp>
#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/executable.hpp>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/text.hpp>

#include "fusion/device_scale.hpp"
#include "fusion/on_cuda.hpp"
#include "fusion/user_graph.hpp"

struct CUctx_st;

namespace gf {
namespace {

using namespace plan;

using test::is_emulated;
using test::scaled;
using test::UserGraph;

constexpr int device = 0;

std::int64_t extent_of(std::size_t n) { return static_cast<std::int64_t>(n); }

/// Small integers of any type: sums are exact, and each element differs from its neighbours.
template <class T> std::vector<T> digits(std::size_t n, std::uint32_t seed = 1) {
    std::vector<T> values(n);
    for (T& value : values) {
        seed = seed * 1664525u + 1013904223u;
        value = static_cast<T>(static_cast<int>(seed >> 24) % 10 - 3);
    }
    return values;
}

template <class T> DeviceBuffer upload(const std::vector<T>& values) {
    DeviceBuffer buffer(device, values.size() * sizeof(T));
    const CurrentDevice current(device);
    const Stream stream(device, StreamKind::independent);
    copy_to_device(buffer.address(), values.data(), buffer.bytes(), stream);
    stream.wait();
    return buffer;
}

template <class T> std::vector<T> download(const DeviceBuffer& buffer) {
    std::vector<T> values(buffer.bytes() / sizeof(T));
    const CurrentDevice current(device);
    const Stream stream(device, StreamKind::independent);
    copy_to_host(values.data(), buffer.address(), buffer.bytes(), stream);
    stream.wait();
    return values;
}

BoundArray on_device(const DeviceBuffer& buffer) { return {buffer.address(), Memory::device}; }
template <class T> BoundArray on_host(const std::vector<T>& values) {
    return {const_cast<T*>(values.data()), Memory::host};
}

bool same(const std::vector<ScalarResult>& a, const std::vector<ScalarResult>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (a[i].empty != b[i].empty || a[i].bits != b[i].bits) return false;
    return true;
}

class BackendCuda : public test::OnCuda {
protected:
    void build(const std::string& text) {
        plan = std::make_shared<const Plan>(fuse(parse(text)));
        cuda = build_cuda(plan, device, {});
        cpu = build_cpu(plan, {});
    }

    /// Bindings of the inputs and outputs, in the order of Plan::arrays without temporaries.
    Bound bound(std::vector<std::int64_t> extents, const std::vector<BoundArray>& arrays,
                std::vector<std::uint64_t> parameters = {}) const {
        Bound b;
        b.extents = std::move(extents);
        b.parameters = std::move(parameters);
        std::size_t next = 0;
        for (const Array& array : plan->arrays)
            b.arrays.push_back(array.role == ArrayRole::temporary ? BoundArray{} : arrays.at(next++));
        return b;
    }

    std::vector<ScalarResult> none() const { return std::vector<ScalarResult>(plan->scalars.size()); }
    std::vector<ScalarResult> run_on(const Build& build, const Bound& b) const {
        auto runner = build.runner();
        runner->bind(b);
        auto scalars = none();
        runner->run(scalars, {});
        return scalars;
    }

    std::shared_ptr<const Plan> plan;
    std::shared_ptr<const Build> cuda, cpu;
};

constexpr const char* three_results =
    "stats(x: f32[n]) -> cubes = sum(x * x * x), peak = max(abs(x)), odd = count(x > 2)";
constexpr const char* standardise = "z(x: f32[n]) -> z = (x - mean(x)) / stddev(x)";

TEST_F(BackendCuda, scalars_are_the_cpus_at_every_size) {
    build(three_results);
    for (const std::size_t n : {1u, 2u, 31u, 33u, 257u, 2047u, 2048u, 2049u, 8192u, 10240u, 10241u, 16384u, 16385u,
                                65536u, scaled(1000003u), scaled(5000000u)}) {
        const auto x = digits<float>(n);
        const DeviceBuffer there = upload(x);
        EXPECT_TRUE(same(run_on(*cuda, bound({extent_of(n)}, {on_device(there)})),
                         run_on(*cpu, bound({extent_of(n)}, {on_host(x)}))))
            << n << " elements";
    }
}

TEST_F(BackendCuda, host_arrays_are_staged_in_and_out) {
    build(standardise);
    for (const std::size_t n : {3u, 1000u, is_emulated() ? 1050001u : 3000001u}) { // the last is several chunks
        const auto x = digits<float>(n);
        std::vector<float> out(n, -1.0f), expected(n, -2.0f);
        run_on(*cuda, bound({extent_of(n)}, {on_host(x), on_host(out)}));
        run_on(*cpu, bound({extent_of(n)}, {on_host(x), on_host(expected)}));
        EXPECT_EQ(std::memcmp(out.data(), expected.data(), n * sizeof(float)), 0) << n;
    }
}

TEST_F(BackendCuda, page_locked_arrays_need_no_staging) {
    build(standardise);
    constexpr std::size_t n = 100'000;
    const auto x = digits<float>(n);
    const PinnedBuffer in(device, n * sizeof(float)), out(device, n * sizeof(float));
    std::memcpy(in.address(), x.data(), in.bytes());
    std::vector<float> expected(n);
    run_on(*cuda, bound({n}, {{in.address(), Memory::host}, {out.address(), Memory::host}}));
    run_on(*cpu, bound({n}, {on_host(x), on_host(expected)}));
    EXPECT_EQ(std::memcmp(out.address(), expected.data(), out.bytes()), 0);
}

TEST_F(BackendCuda, a_runner_follows_what_changes_at_the_same_address) {
    build(three_results);
    auto x = digits<float>(10'000);
    auto runner = cuda->runner();
    runner->bind(bound({10'000}, {on_host(x)}));
    for (int i = 0; i < 5; ++i) {
        x[static_cast<std::size_t>(i) * 2000] = 100.0f + static_cast<float>(i);
        auto scalars = none();
        runner->run(scalars, {});
        EXPECT_TRUE(same(scalars, run_on(*cpu, bound({10'000}, {on_host(x)}))));
    }
}

TEST_F(BackendCuda, rebinding_changes_arrays_and_extents_in_place) {
    build(standardise);
    auto runner = cuda->runner();
    for (const std::size_t n : {scaled(100'000u), scaled(1'000'000u), 5u, scaled(300'000u), scaled(300'000u)}) {
        const auto x = digits<float>(n, static_cast<std::uint32_t>(n));
        const DeviceBuffer in = upload(x), out(device, n * sizeof(float));
        std::vector<float> expected(n);
        runner->bind(bound({extent_of(n)}, {on_device(in), on_device(out)}));
        auto scalars = none();
        runner->run(scalars, {});
        run_on(*cpu, bound({extent_of(n)}, {on_host(x), on_host(expected)}));
        EXPECT_EQ(std::memcmp(download<float>(out).data(), expected.data(), n * sizeof(float)), 0) << n;
    }
}

TEST_F(BackendCuda, run_again_gives_the_same_bits) {
    build(three_results);
    const std::size_t n = scaled(1'000'000u);
    const DeviceBuffer x = upload(digits<float>(n));
    auto runner = cuda->runner();
    runner->bind(bound({extent_of(n)}, {on_device(x)}));
    auto first = none();
    runner->run(first, {});
    for (int i = 0; i < scaled(2000); ++i) {
        auto again = none();
        runner->run(again, {});
        ASSERT_TRUE(same(first, again)) << "run " << i;
    }
}

TEST_F(BackendCuda, run_time_scalars_reach_the_kernel) {
    build("scaled(x: i32[n], k: i64) -> total = sum(x * k)");
    const auto x = digits<std::int32_t>(5000);
    const DeviceBuffer there = upload(x);
    auto runner = cuda->runner();
    for (const std::int64_t k : {3, -7}) {
        const auto bits = static_cast<std::uint64_t>(k);
        runner->bind(bound({5000}, {on_device(there)}, {bits}));
        auto scalars = none();
        runner->run(scalars, {});
        EXPECT_TRUE(same(scalars, run_on(*cpu, bound({5000}, {on_host(x)}, {bits}))));
    }
}

TEST_F(BackendCuda, work_is_ordered_in_the_callers_stream) {
    build(three_results);
    const std::size_t n = scaled(400'000u);
    const auto x = digits<float>(n, 1), y = digits<float>(n, 2);
    const DeviceBuffer there = upload(x);
    const CurrentDevice current(device);
    const Stream stream(device, StreamKind::independent);
    const PinnedBuffer next(device, there.bytes());
    std::memcpy(next.address(), y.data(), next.bytes());
    auto runner = cuda->runner();
    runner->bind(bound({extent_of(n)}, {on_device(there)}));
    copy_to_device(there.address(), next.address(), next.bytes(), stream);
    auto scalars = none();
    runner->run(scalars, stream);
    EXPECT_TRUE(same(scalars, run_on(*cpu, bound({extent_of(n)}, {on_host(y)}))));
}

TEST_F(BackendCuda, enqueued_runs_are_waited_for_and_the_last_one_counts) {
    build(three_results);
    const std::size_t n = scaled(200'000u);
    const auto x = digits<float>(n, 1), y = digits<float>(n, 2);
    const DeviceBuffer a = upload(x), b = upload(y);
    const Stream one(device, StreamKind::independent), two(device, StreamKind::independent);
    auto runner = cuda->runner();
    for (int i = 0; i < scaled(50); ++i) {
        runner->bind(bound({extent_of(n)}, {on_device(a)}));
        runner->enqueue(one);
        runner->bind(bound({extent_of(n)}, {on_device(b)}));
        runner->enqueue(two);
    }
    auto scalars = none();
    runner->wait(scalars);
    EXPECT_TRUE(same(scalars, run_on(*cpu, bound({extent_of(n)}, {on_host(y)}))));
}

TEST_F(BackendCuda, a_captured_run_replays_with_what_memory_then_holds) {
    build("z(x: f32[n]) -> z = (x - mean(x)) / stddev(x), top = max(x)");
    const std::size_t n = scaled(300'000u);
    const auto x = digits<float>(n, 1), y = digits<float>(n, 2);
    const DeviceBuffer in = upload(x), out(device, n * sizeof(float));
    std::vector<float> expected(n);
    const auto expected_scalars = run_on(*cpu, bound({extent_of(n)}, {on_host(y), on_host(expected)}));
    const CurrentDevice current(device);
    const Stream stream(device, StreamKind::independent);
    UserGraph graph;
    auto runner = cuda->runner();
    runner->bind(bound({extent_of(n)}, {on_device(in), on_device(out)}));
    UserGraph::begin(stream);
    runner->enqueue(stream);
    graph.end(stream);
    auto scalars = none();
    EXPECT_THROW(runner->wait(scalars), DeviceError) << "nothing has run yet";
    for (int i = 0; i < 3; ++i) {
        graph.launch(stream);
        if (i == 0) copy_to_device(in.address(), y.data(), in.bytes(), stream);
    }
    stream.wait();
    runner->wait(scalars);
    for (const Output& output : plan->outputs) {
        if (!output.scalar.valid()) continue;
        const std::size_t i = output.scalar.index();
        EXPECT_EQ(scalars[i].bits, expected_scalars[i].bits) << output.name;
    }
    EXPECT_EQ(std::memcmp(download<float>(out).data(), expected.data(), out.bytes()), 0);

    runner->run(scalars, {}); // the graph's launches do not affect the runner's own
    runner.reset();
    cuda.reset();
    graph.launch(stream); // the graph owns what it needs
    stream.wait();
    EXPECT_EQ(std::memcmp(download<float>(out).data(), expected.data(), out.bytes()), 0);
}

TEST_F(BackendCuda, a_captured_graph_owns_the_results_that_nobody_bound) {
    const auto x = digits<float>(100'000);
    const DeviceBuffer in = upload(x);
    const CurrentDevice current(device);
    const Stream stream(device, StreamKind::independent);
    UserGraph graph;
    View y;
    {
        const Executable exe = compile(parse("twice(x: f32[n]) -> y = x * 2"), {.device = "cuda"});
        Prepared prepared = exe.prepare({{"x", in.view(DType::f32, {100'000})}});
        y = prepared.run().array("y");
        UserGraph::begin(stream);
        prepared.enqueue(stream);
        graph.end(stream);
    }
    fill_bytes(y.address, 0, in.bytes(), stream); // fails if the memory was freed
    graph.launch(stream);
    std::vector<float> twice(x.size());
    copy_to_host(twice.data(), y.address, in.bytes(), stream);
    stream.wait();
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(twice[i], 2 * x[i]) << i;
}

TEST_F(BackendCuda, everything_works_while_another_thread_captures) {
    build(three_results);
    const auto x = digits<float>(1000);
    const DeviceBuffer there = upload(x);
    const CurrentDevice current(device);
    const Stream stream(device, StreamKind::independent);
    auto captured_runner = cuda->runner();
    captured_runner->bind(bound({1000}, {on_device(there)}));
    UserGraph graph;
    UserGraph::begin(stream); // in CUDA's strictest mode: unsafe calls fail in every thread
    std::thread([&] {
        const DeviceBuffer own = upload(x);
        auto runner = cuda->runner();
        for (const BoundArray& array : {on_device(own), on_host(x)}) {
            runner->bind(bound({1000}, {array}));
            auto scalars = none();
            runner->run(scalars, {});
            runner->enqueue({});
            runner->wait(scalars);
            EXPECT_TRUE(same(scalars, run_on(*cpu, bound({1000}, {on_host(x)}))));
        }
        build_cuda(plan, device, {})->runner();
    }).join();
    captured_runner->enqueue(stream);
    graph.end(stream);
    graph.launch(stream);
    stream.wait();
    auto scalars = none();
    captured_runner->wait(scalars);
    EXPECT_TRUE(same(scalars, run_on(*cpu, bound({1000}, {on_host(x)}))));
}

TEST_F(BackendCuda, what_cannot_be_captured_is_refused_and_the_capture_goes_on) {
    build(three_results);
    const auto x = digits<float>(1000);
    const DeviceBuffer there = upload(x);
    const CurrentDevice current(device);
    const Stream stream(device, StreamKind::independent);
    auto on_device_runner = cuda->runner(), host_runner = cuda->runner();
    on_device_runner->bind(bound({1000}, {on_device(there)}));
    host_runner->bind(bound({1000}, {on_host(x)}));
    UserGraph graph;
    UserGraph::begin(stream);
    auto scalars = none();
    EXPECT_THROW(on_device_runner->run(scalars, stream), InvalidResult) << "it would wait";
    EXPECT_THROW(host_runner->enqueue(stream), InvalidBinding) << "host arrays";
    on_device_runner->enqueue(stream);
    graph.end(stream);
    graph.launch(stream);
    stream.wait();
    on_device_runner->wait(scalars);
    EXPECT_TRUE(same(scalars, run_on(*cpu, bound({1000}, {on_host(x)}))));
}

TEST_F(BackendCuda, many_threads_share_a_build) {
    build(three_results);
    const std::size_t n = scaled(500'000u);
    const auto x = digits<float>(n);
    const DeviceBuffer there = upload(x);
    const Bound b = bound({extent_of(n)}, {on_device(there)});
    const auto expected = run_on(*cpu, bound({extent_of(n)}, {on_host(x)}));
    std::vector<int> wrong(8, 0);
    {
        std::vector<std::thread> threads;
        for (int& count : wrong)
            threads.emplace_back([&] {
                auto runner = cuda->runner();
                runner->bind(b);
                for (int i = 0; i < scaled(200); ++i) {
                    auto scalars = none();
                    runner->run(scalars, {});
                    count += same(scalars, expected) ? 0 : 1;
                }
            });
        for (std::thread& thread : threads) thread.join();
    }
    EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

TEST_F(BackendCuda, the_callers_context_is_left_as_it_was) {
    build(three_results);
    const DeviceBuffer there = upload(digits<float>(1000));
    CUctx_st* before = nullptr;
    CUctx_st* after = nullptr;
    test::call("cuCtxGetCurrent", &before);
    run_on(*cuda, bound({1000}, {on_device(there)}));
    test::call("cuCtxGetCurrent", &after);
    EXPECT_EQ(before, after);
}

TEST_F(BackendCuda, facts_tell_registers_and_the_second_build_compiles_nothing) {
    build(three_results);
    const auto again = build_cuda(plan, device, {});
    for (const SweepFacts& facts : again->facts()) {
        EXPECT_TRUE(facts.cached);
        EXPECT_GT(facts.registers, 0);
        EXPECT_GT(facts.threads, 0);
        EXPECT_NE(facts.source.find("gridfold_sweep"), std::string::npos);
    }
    EXPECT_EQ(cuda->device().substr(0, 8), "cuda:0 (");
}

} // namespace
} // namespace gf
