// Many problems on a GPU: arrays in device memory, the caller's streams and captures, threads and forks. Skipped if
// CUDA cannot be used.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/core/capture.hpp>
#include <gridfold/gridfold.hpp>

#include "emulator/device/emulated.hpp"
#include "error/refusal.hpp"
#include "fault/child.hpp"
#include "fusion/device_array.hpp"
#include "fusion/user_graph.hpp"

namespace {

using gf::test::DeviceArray;
using gf::test::expect_refused;
using gf::test::to_host;
using gf::test::UserGraph;

constexpr const char* text = "z(x: f32[n], k: f32) let m = mean(x); -> z = (x - m) * k, m = m, top = max(x)";
constexpr std::array<std::size_t, 4> lengths{1, 2049, 20'001, 7}; // one block, and several

std::vector<float> digits(std::size_t n, std::uint32_t seed) {
    std::vector<float> values(n);
    for (float& value : values) {
        seed = seed * 1664525u + 1013904223u;
        value = static_cast<float>(seed >> 20) / 16.0F;
    }
    return values;
}

class ManyOnDevice : public testing::Test {
protected:
    void SetUp() override {
        if (const std::string reason = gf::cuda_unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
        if (auto* const emulated = gf::emulator::emulated_device()) emulated->reset();
        exe = gf::compile(gf::parse(text), {.device = "cuda"});
        for (std::size_t i = 0; i < lengths.size(); ++i) {
            columns.push_back(digits(lengths[i], static_cast<std::uint32_t>(i)));
            x.emplace_back(columns.back());
            z.emplace_back(std::vector<float>(lengths[i], -1));
        }
    }
    /// Bindings in device memory, with k = the problem's number.
    std::vector<gf::Bindings> problems() const {
        std::vector<gf::Bindings> all;
        for (std::size_t i = 0; i < x.size(); ++i) all.push_back({{"x", x[i].view()}, {"k", static_cast<float>(i)}});
        return all;
    }
    std::vector<gf::Bindings> outputs() const {
        std::vector<gf::Bindings> all;
        for (const DeviceArray& one : z) all.push_back({{"z", one.view()}});
        return all;
    }
    /// Replaces the elements of the device's arrays and of the expected results.
    void change(std::uint32_t seed) {
        for (std::size_t i = 0; i < x.size(); ++i)
            x[i].set(columns[i] = digits(lengths[i], seed + 10 * static_cast<std::uint32_t>(i)));
    }
    void expect_scalars(const std::vector<gf::Results>& results) const {
        ASSERT_EQ(results.size(), columns.size());
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const gf::Results right = alone(i);
            EXPECT_EQ(results[i].get<float>("m"), right.get<float>("m")) << "problem " << i;
            EXPECT_EQ(results[i].get<float>("top"), right.get<float>("top")) << "problem " << i;
        }
    }
    /// `z_of(i)`: a view of problem i's array, in any memory.
    template <class ZOf> void expect_arrays(ZOf&& z_of) const {
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const auto right = alone(i).span<float>("z");
            const std::vector<float> got = to_host(z_of(i));
            EXPECT_TRUE(std::ranges::equal(got, right)) << "problem " << i;
        }
    }
    void expect_bound_arrays() const {
        expect_arrays([&](std::size_t i) { return z[i].view(); });
    }
    /// The results of problem i alone, on the CPU.
    gf::Results alone(std::size_t i) const { return on_cpu.run({{"x", columns[i]}, {"k", static_cast<float>(i)}}); }

    const gf::Executable on_cpu = gf::compile(gf::parse(text), {.device = "cpu"});
    std::optional<gf::Executable> exe;
    std::vector<std::vector<float>> columns;
    std::vector<DeviceArray> x, z;
};

TEST_F(ManyOnDevice, results_of_device_arrays_are_in_device_memory) {
    const std::vector<gf::Results> results = exe->run_many(problems());
    expect_scalars(results);
    for (const gf::Results& one : results) EXPECT_EQ(one.array("z").memory, gf::Memory::device);
    expect_arrays([&](std::size_t i) { return results[i].array("z"); });
    exe->run_many(problems(), outputs());
    expect_bound_arrays();
}

TEST_F(ManyOnDevice, some_problems_may_be_in_host_memory) {
    std::vector<gf::Bindings> mixed = problems();
    std::vector<gf::Bindings> to = outputs();
    std::vector<float> on_host(lengths[2]);
    mixed[2] = {{"x", columns[2]}, {"k", 2}};
    to[0].clear();
    to[2] = {{"z", on_host}};
    mixed[0] = {{"x", columns[0]}, {"k", 0}};
    const std::vector<gf::Results> results = exe->run_many(mixed, to);
    expect_scalars(results);
    EXPECT_EQ(results[0].array("z").memory, gf::Memory::host);
    EXPECT_EQ(results[1].array("z").memory, gf::Memory::device);
    EXPECT_TRUE(std::ranges::equal(on_host, alone(2).span<float>("z")));
}

TEST_F(ManyOnDevice, runs_are_ordered_in_the_callers_stream) {
    gf::PreparedMany many = exe->prepare_many(problems(), outputs());
    const gf::CurrentDevice current(0);
    const gf::Stream stream(0, gf::StreamKind::independent);
    std::vector<gf::PinnedBuffer> next;
    const auto copy_others = [&](std::uint32_t seed) {
        next.clear();
        for (std::size_t i = 0; i < x.size(); ++i) {
            columns[i] = digits(lengths[i], seed);
            next.emplace_back(0, lengths[i] * sizeof(float));
            std::memcpy(next[i].address(), columns[i].data(), next[i].bytes());
            gf::copy_to_device(x[i].pointer(), next[i].address(), next[i].bytes(), stream);
        }
    };
    copy_others(20);
    expect_scalars(many.run(stream));
    expect_bound_arrays();
    copy_others(30);
    many.enqueue(stream);
    expect_scalars(many.results());
    copy_others(40);
    expect_scalars(exe->run_many(problems(), outputs(), stream));
    expect_bound_arrays();
}

TEST_F(ManyOnDevice, runs_in_several_streams_come_one_after_the_other) {
    std::vector<float>& column = columns[2];
    gf::PreparedMany many = exe->prepare_many(std::vector<gf::Bindings>{{{"x", column}, {"k", 2}}});
    const gf::CurrentDevice current(0);
    const gf::Stream first(0, gf::StreamKind::independent), second(0, gf::StreamKind::independent);
    for (int round = 0; round < 20; ++round) {
        column[0] = static_cast<float>(300 + round);
        many.enqueue(first);
        column[0] = static_cast<float>(-round);
        many.enqueue(second); // the two runs must not mix their elements
        EXPECT_EQ(many.results()[0].get<float>("m"), alone(2).get<float>("m")) << round;
        EXPECT_EQ(many.results()[0].get<float>("top"), alone(2).get<float>("top")) << round;
    }
}

TEST_F(ManyOnDevice, a_captured_run_replays_with_what_memory_then_holds) {
    const gf::CurrentDevice current(0);
    const gf::Stream stream(0, gf::StreamKind::independent);
    UserGraph graph;
    {
        gf::PreparedMany many = exe->prepare_many(problems(), outputs());
        many.enqueue(stream); // a run whose results differ from the graph's
        UserGraph::begin(stream);
        many.enqueue(stream);
        graph.end(stream);
        expect_refused<gf::DeviceError>([&] { (void)many.results(); }, {"has not run yet", "launch it"});
        for (const std::uint32_t seed : {50u, 60u, 70u}) {
            change(seed);
            graph.launch(stream);
            stream.wait();
            expect_scalars(many.results());
            expect_bound_arrays();
        }
        change(80);
        expect_scalars(many.run()); // a run between launches of the graph
        expect_bound_arrays();
        change(90);
        graph.launch(stream);
        stream.wait();
        expect_bound_arrays();
    }
    exe.reset();
    change(100);
    graph.launch(stream); // the graph owns what it needs
    stream.wait();
    expect_bound_arrays();
}

TEST_F(ManyOnDevice, graphs_that_capture_it_one_after_the_other_all_replay) {
    gf::PreparedMany many = exe->prepare_many(problems(), outputs());
    const gf::CurrentDevice current(0);
    const gf::Stream stream(0, gf::StreamKind::independent);
    std::array<UserGraph, 2> graphs;
    for (UserGraph& graph : graphs) {
        UserGraph::begin(stream);
        many.enqueue(stream);
        many.enqueue(stream); // twice in one graph: in stream order
        graph.end(stream);
    }
    for (std::uint32_t round = 0; round < 4; ++round) {
        change(round);
        graphs[round % 2].launch(stream);
        stream.wait();
        expect_bound_arrays();
        if (round % 2 == 1) expect_scalars(many.results()); // the last capture's: each capture has its own memory
    }
    change(10);
    graphs[0].launch(stream);
    change(11); // a run between launches that are not waited for
    expect_scalars(many.run());
    stream.wait();
}

TEST_F(ManyOnDevice, a_captured_graph_owns_the_results_that_nobody_bound) {
    const gf::CurrentDevice current(0);
    const gf::Stream stream(0, gf::StreamKind::independent);
    UserGraph graph;
    std::vector<gf::View> views;
    {
        gf::PreparedMany many = exe->prepare_many(problems());
        for (const gf::Results& one : many.run()) views.push_back(one.array("z"));
        UserGraph::begin(stream);
        many.enqueue(stream);
        graph.end(stream);
    }
    exe.reset();
    change(110);
    graph.launch(stream);
    stream.wait();
    expect_arrays([&](std::size_t i) { return views[i]; });
}

TEST_F(ManyOnDevice, what_cannot_be_captured_is_refused_and_the_capture_goes_on) {
    gf::PreparedMany many = exe->prepare_many(problems(), outputs());
    gf::PreparedMany reads_host = exe->prepare_many(std::vector<gf::Bindings>{{{"x", columns[0]}, {"k", 1}}});
    std::vector<float> y(lengths[1]);
    gf::PreparedMany writes_host =
        exe->prepare_many(std::vector<gf::Bindings>{{{"x", x[0].view()}, {"k", 1}}, {{"x", x[1].view()}, {"k", 1}}},
                          std::vector<gf::Bindings>{{}, {{"z", y}}});
    const gf::CurrentDevice current(0);
    const gf::Stream stream(0, gf::StreamKind::independent);
    UserGraph graph;
    UserGraph::begin(stream);
    expect_refused<gf::InvalidResult>([&] { (void)many.run(stream); }, {"run() waits", "enqueue()"});
    expect_refused<gf::InvalidResult>([&] { (void)exe->run_many(problems(), outputs(), stream); }, {"run() waits"});
    for (gf::PreparedMany* const one : {&reads_host, &writes_host}) {
        expect_refused<gf::InvalidBinding>([&] { one->enqueue(stream); }, {"host arrays", "bind device arrays"});
        expect_refused<gf::InvalidResult>([&] { (void)one->results(); }, {"nothing was run"});
    }
    many.enqueue(stream);
    graph.end(stream);
    graph.launch(stream);
    stream.wait();
    expect_scalars(many.results());
    expect_bound_arrays();
    EXPECT_EQ(reads_host.run()[0].get<float>("top"), alone(0).get<float>("top"));
    EXPECT_EQ(writes_host.run()[1].get<float>("top"), alone(1).get<float>("top"));
}

TEST_F(ManyOnDevice, everything_works_while_another_thread_captures) {
    gf::PreparedMany captured = exe->prepare_many(problems(), outputs());
    const gf::CurrentDevice current(0);
    const gf::Stream stream(0, gf::StreamKind::independent);
    UserGraph graph;
    UserGraph::begin(stream); // in CUDA's strictest mode: unsafe calls fail in every thread
    std::thread([&] {
        gf::PreparedMany many = exe->prepare_many(problems());
        expect_scalars(many.run());
        many.enqueue({});
        expect_scalars(many.results());
        std::vector<gf::Bindings> on_host;
        for (std::size_t i = 0; i < columns.size(); ++i)
            on_host.push_back({{"x", columns[i]}, {"k", static_cast<float>(i)}});
        expect_scalars(exe->run_many(on_host));
        expect_scalars(gf::compile(gf::parse(text), {.device = "cuda"}).run_many(on_host));
    }).join();
    captured.enqueue(stream);
    graph.end(stream);
    graph.launch(stream);
    stream.wait();
    expect_scalars(captured.results());
}

TEST_F(ManyOnDevice, threads_share_an_executable) {
    constexpr int rounds = 5;
    std::atomic<int> wrong = 0;
    std::vector<float> tops;
    for (std::size_t i = 0; i < columns.size(); ++i) tops.push_back(alone(i).get<float>("top"));
    const auto check = [&](const std::vector<gf::Results>& results, std::size_t first) {
        for (std::size_t i = 0; i < results.size(); ++i) wrong += results[i].get<float>("top") != tops[first + i];
    };
    std::vector<std::thread> threads;
    for (std::size_t first = 0; first < columns.size(); ++first)
        threads.emplace_back([&, first] { // each with another number of problems
            const std::vector<gf::Bindings> all = problems();
            const std::span<const gf::Bindings> own = std::span(all).subspan(first);
            gf::PreparedMany many = exe->prepare_many(own);
            for (int round = 0; round < rounds; ++round) {
                check(many.run(), first);
                many.enqueue({});
                check(exe->run_many(own), first);
                check(many.results(), first);
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
}

TEST_F(ManyOnDevice, a_forked_child_gets_errors_and_the_parent_goes_on) {
    std::optional<gf::PreparedMany> many = exe->prepare_many(problems(), outputs());
    (void)many->run();
    gf::fault::expect_in_child([&] {
        int refused = 0;
        const auto count = [&](auto&& call) {
            try {
                call();
            } catch (const gf::DeviceError& error) {
                refused += std::string(error.what()).find("fork") != std::string::npos;
            }
        };
        count([&] { (void)many->run(); });
        count([&] { many->enqueue({}); });
        count([&] { (void)exe->run_many(problems()); });
        count([&] { (void)exe->prepare_many(problems()); });
        many.reset();
        const std::vector<gf::Bindings> on_host{{{"x", columns[1]}, {"k", 1}}};
        return refused == 4 && on_cpu.run_many(on_host)[0].get<float>("top") > 0;
    });
    change(120);
    expect_scalars(many->run());
    expect_bound_arrays();
}

} // namespace
