// Chains of whole arrays, and of rows that many thread blocks share, on a CUDA device: the CPU's bits at every length,
// launch after launch.
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <gridfold/core/device.hpp>
#include <gridfold/core/stream.hpp>
#include <gridfold/gridfold.hpp>

#include "emulator/device/emulated.hpp"
#include "fusion/chains.hpp"
#include "fusion/device_array.hpp"
#include "fusion/device_scale.hpp"
#include "fusion/on_cuda.hpp"
#include "fusion/user_graph.hpp"

namespace {

using gf::test::DeviceArray;
using gf::test::is_emulated;
using gf::test::norm;
using gf::test::numbers;
using gf::test::softmax;

constexpr auto standardised = "f(x: f32[n]) let m = mean(x); -> z = (x - m) / stddev(x), m = m, at = argmax(x)";
/// Scalars alone, in three phases; the last does not depend on an array.
constexpr auto scalars = "f(x: f32[n]) let m = mean(x); let v = sum((x - m) * (x - m)); "
                         "-> v = v, least = min(x where x > m), far = max(abs(x - m) / sqrt(v)), twice = 2.0 * v";

/// Two sweeps, since one has no registers for all folds; only a result waits for the other sweep.
constexpr auto split = "f(x: f32[n]) -> a = covariance(x, x * x) + covariance(x, -x) + covariance(-x, x * x), "
                       "b = covariance(x * x, -x)";

class Cooperating : public gf::test::OnCuda {
protected:
    gf::emulator::Control* const emulated_ = gf::emulator::emulated_device();
};

gf::Executable on(const char* device, const char* text) { return gf::compile(gf::parse(text), {.device = device}); }

/// The bits of each scalar, or "empty".
std::vector<std::string> scalars_of(const gf::Results& results) {
    std::vector<std::string> all;
    for (const gf::Results::Entry& entry : results.entries())
        if (!entry.is_array) all.push_back(entry.empty ? "empty" : std::to_string(entry.bits));
    return all;
}

TEST_F(Cooperating, whole_arrays_have_the_cpus_bits_at_every_length) {
    // On the emulated device z-scores cooperate from 96,000 elements on, on an H200 from 3,168,000.
    std::vector<std::int64_t> lengths{3, 2'047, 10'241, 12'289, 40'000, 98'304, 99'001};
    if (!is_emulated())
        lengths.insert(lengths.end(), {262'144, 1'000'003, 1 << 20, 1 << 22, 4'000'003, 6'000'001, 1 << 23});
    for (const char* const text : {standardised, scalars, split}) {
        const gf::Executable device = on("cuda", text), cpu = on("cpu", text);
        for (const std::int64_t length : lengths) {
            const std::vector<float> x = numbers(length, std::uint32_t(length));
            const gf::Bindings inputs{{"x", gf::view(x.data(), {length})}};
            const gf::Results expected = cpu.run(inputs);
            for (int launch = 0; launch < 3; ++launch) { // kernels count their launches
                const gf::Results actual = device.run(inputs);
                EXPECT_EQ(scalars_of(expected), scalars_of(actual)) << length;
                if (text == standardised) {
                    ASSERT_EQ(expected.to_vector<float>("z"), actual.to_vector<float>("z")) << length;
                }
            }
        }
    }
}

TEST_F(Cooperating, arrays_without_elements_and_unaligned_ones) {
    const gf::Executable device = on("cuda", standardised), cpu = on("cpu", standardised);
    const std::int64_t longest = is_emulated() ? 98'000 : 4'000'000;
    const std::vector<float> x = numbers(longest + 3);
    const DeviceArray on_device(x);
    for (const std::int64_t length : {longest, std::int64_t{700}}) {
        const gf::Results expected = cpu.run({{"x", gf::view(x.data() + 3, {length})}}),
                          actual = device.run({{"x", gf::device_view(on_device.pointer() + 3, {length})}});
        EXPECT_EQ(expected.to_vector<float>("z"), actual.to_vector<float>("z")) << length;
    }
    EXPECT_TRUE(on("cuda", "f(x: f32[n]) -> z = x - sum(x)")
                    .run({{"x", gf::view(x.data(), {0})}})
                    .to_vector<float>("z")
                    .empty());
}

TEST_F(Cooperating, arrays_of_every_kind_have_the_cpus_bits) {
    const std::int64_t rows = is_emulated() ? 280 : 2'000, columns = is_emulated() ? 351 : 2'001;
    const std::vector<float> x = numbers(rows * columns), w = numbers(columns, 3);
    std::vector<std::uint8_t> u(x.size());
    for (std::size_t i = 0; i < u.size(); ++i) u[i] = std::uint8_t(i * 37 % 251);
    const gf::Bindings all{{"x", gf::view(x.data(), {rows, columns})},
                           {"w", gf::view(w.data(), {columns})},
                           {"u", gf::view(u.data(), {rows, columns})}};
    for (const char* const text :
         {"f(x: f32[i, k], w: f32[k]) let d = x * w - mean(x); -> y = d / stddev(d), s = sum(d)",
          "f(x: f32[i, k]) let d = x - shift(x, k, -1, edge = 0); -> y = f16(d / max(abs(d)) + f32(index(i)))",
          "f(u: u8[i, k]) let lo = min(u); let hi = max(u); -> y = f32(u - lo) / f32(hi - lo), hi = hi",
          "f(x: f32[i, k], u: u8[i, k]) let m = mean(x where u > 200); -> y = x > m, n = count(x > m), at = argmin(x "
          "where x > m)",
          "f(u: u8[i, k]) let m = max(u where u > 253); -> y = i32(u) - i32(m), m = m",
          "f(x: f32[i, k]) let z = f64(x); let v = variance(z); let p = sum((z - v) * (z - v)); -> y = z / sqrt(p), v "
          "= v, p = p",
          "f(x: f32[i, k], u: u8[i, k]) let c = covariance(x, f32(u)); -> y = x * c, t = at_max(x * c, f32(u))"}) {
        const gf::Graph graph = gf::parse(text);
        gf::Bindings inputs;
        for (const gf::Binding& input : all)
            if (to_text(graph).find(input.name + ": ") != std::string::npos) inputs.push_back(input);
        const gf::Results expected = on("cpu", text).run(inputs), actual = on("cuda", text).run(inputs);
        EXPECT_EQ(scalars_of(expected), scalars_of(actual)) << text;
        const gf::View a = expected.array("y"), b = actual.array("y");
        EXPECT_EQ(std::memcmp(a.address, b.address, x.size() * size_of(a.type)), 0) << text;
        if (emulated_ != nullptr) {
            EXPECT_GT(emulated_->cooperative_launches, 0) << text;
            emulated_->cooperative_launches = 0;
        }
    }
}

// Nothing is held of such arrays: each phase reads, or computes, their elements.
TEST_F(Cooperating, arrays_with_strides_and_coordinates_alone) {
    const std::int64_t length = is_emulated() ? 98'000 : 4'000'000;
    const std::vector<float> x = numbers(2 * length);
    const DeviceArray on_device(x);
    const gf::View every_second = gf::device_view(on_device.pointer(), {length}, {2});
    EXPECT_EQ(on("cpu", standardised).run({{"x", gf::host_view(x.data(), {length}, {2})}}).to_vector<float>("z"),
              on("cuda", standardised).run({{"x", every_second}}).to_vector<float>("z"));
    const std::string text =
        fmt::format("f([n = {}], k: f32) let i = f32(index(n)) * k; -> z = (i - mean(i)) / stddev(i)", length);
    EXPECT_EQ(on("cpu", text.c_str()).run({{"k", 0.25F}}).to_vector<float>("z"),
              on("cuda", text.c_str()).run({{"k", 0.25F}}).to_vector<float>("z"));
}

TEST_F(Cooperating, rows_have_the_cpus_bits) {
    if (emulated_ != nullptr) emulated_->most_cluster = 1; // a row that a cluster holds is long for the emulator
    std::vector<std::int64_t> lengths{70'000, 68'003};
    if (!is_emulated()) lengths = {600'000, 1 << 20, 1'000'003, 3'000'000, 524'289};
    for (const char* const text : {softmax, norm}) {
        const gf::Executable device = on("cuda", text), cpu = on("cpu", text);
        for (const std::int64_t length : lengths) {
            const std::int64_t rows = is_emulated() ? 3 : 9; // more than run at a time
            const std::vector<float> x = numbers(rows * length, std::uint32_t(length)), g = numbers(length, 7);
            gf::Bindings inputs{{"x", gf::view(x.data(), {rows, length})}};
            if (text == norm) inputs.emplace_back("g", gf::view(g.data(), {length}));
            for (int launch = 0; launch < 2; ++launch)
                ASSERT_EQ(cpu.run(inputs).to_vector<float>("y"), device.run(inputs).to_vector<float>("y"))
                    << rows << " rows of " << length;
        }
    }
}

TEST_F(Cooperating, arrays_need_no_grid_that_the_device_has_no_room_for) {
    if (emulated_ == nullptr) GTEST_SKIP() << "the device has room for every grid";
    const std::vector<float> x = numbers(98'000);
    const gf::Bindings inputs{{"x", gf::view(x.data(), {98'000})}};
    const std::vector<float> expected = on("cpu", standardised).run(inputs).to_vector<float>("z");
    for (const int resident : {5, 6}) { // blocks of a multiprocessor
        emulated_->reset();
        emulated_->resident_blocks = resident;
        const gf::Executable device = on("cuda", standardised);
        EXPECT_EQ(device.run(inputs).to_vector<float>("z"), expected);
        EXPECT_EQ(emulated_->cooperative_launches, resident == 5 ? 0 : 1) << "24 blocks on four multiprocessors";
    }
}

TEST_F(Cooperating, a_chain_in_place_is_captured_and_replays) {
    const std::int64_t length = is_emulated() ? 98'003 : 4'000'003;
    const gf::Executable device = on("cuda", standardised), cpu = on("cpu", standardised);
    const std::vector<float> x = numbers(length), other = numbers(length, 7);
    const DeviceArray in_place(x);
    const auto view = gf::device_view(in_place.pointer(), {length});
    gf::Prepared prepared = device.prepare({{"x", view}}, {{"z", view}});
    const gf::CurrentDevice current(0);
    const gf::Stream stream(0, gf::StreamKind::independent);
    gf::test::UserGraph graph;
    gf::test::UserGraph::begin(stream);
    prepared.enqueue(stream);
    graph.end(stream);
    for (const std::vector<float>* const now : {&x, &other, &x}) {
        in_place.set(*now);
        graph.launch(stream);
        stream.wait();
        EXPECT_EQ(cpu.run({{"x", gf::view(now->data(), {length})}}).to_vector<float>("z"),
                  gf::test::to_host(in_place.view()));
    }
}

TEST_F(Cooperating, a_grid_runs_between_other_kernels) {
    const std::int64_t rows = is_emulated() ? 100 : 1'000, columns = is_emulated() ? 200 : 2'000;
    const std::vector<float> x = numbers(rows * columns);
    const gf::Bindings inputs{{"x", gf::view(x.data(), {rows, columns})}, {"w", gf::view(x.data(), {rows})}};
    constexpr auto text = "f(x: f32[i, k], w: f32[i]) let c = max(x over [i]); let e = exp(x - max(x) + c); "
                          "-> y = e / sum(e), q = w * sum(e)";
    const gf::Executable device = on("cuda", text), cpu = on("cpu", text);
    const gf::Results expected = cpu.run(inputs);
    for (int launch = 0; launch < 3; ++launch) {
        const gf::Results actual = device.run(inputs);
        EXPECT_EQ(expected.to_vector<float>("y"), actual.to_vector<float>("y"));
        EXPECT_EQ(expected.to_vector<float>("q"), actual.to_vector<float>("q"));
    }
    if (emulated_ != nullptr) {
        EXPECT_GT(emulated_->cooperative_launches, 0);
        EXPECT_EQ(emulated_->overlaps_of_cooperative, 0) << "a grid waits until all kernels before have ended";
    }
}

// They would need room for the thread blocks of all at a time.
TEST_F(Cooperating, many_problems_do_not) {
    if (emulated_ != nullptr) emulated_->most_cluster = 1;
    const std::vector<float> x = numbers(140'000);
    const auto expect_each_alone = [&](const char* text, const std::vector<gf::Extents>& all) {
        std::vector<gf::Bindings> problems;
        for (const gf::Extents& extents : all) problems.push_back({{"x", gf::host_view(x.data(), extents)}});
        const char* const name = text == softmax ? "y" : "z";
        const std::vector<gf::Results> results = on("cuda", text).run_many(problems);
        for (std::size_t p = 0; p < problems.size(); ++p)
            EXPECT_EQ(on("cpu", text).run(problems[p]).to_vector<float>(name), results[p].to_vector<float>(name)) << p;
    };
    expect_each_alone(standardised, {{98'000}, {98'000}, {50'000}, {700}});
    expect_each_alone(softmax, {{2, 70'000}, {1, 5'000}, {1, 20'000}});
}

// Of rows of the same blocks, one kernel has more groups than another: what lies behind the slots of the smaller must
// not be taken for tags.
TEST_F(Cooperating, launches_of_other_grids_begin_with_slots_that_are_zero) {
    if (emulated_ == nullptr) GTEST_SKIP() << "only the emulated device changes its room";
    emulated_->most_cluster = 1;
    const gf::Executable device = on("cuda", softmax), cpu = on("cpu", softmax);
    std::vector<float> longer = numbers(3 * 71'680), tags(3 * 70'000);
    for (std::size_t i = 0; i < tags.size(); ++i) {
        const std::uint32_t bits = 1 + i % 2;
        std::memcpy(&tags[i], &bits, sizeof bits);
    }
    const gf::Bindings three_groups{{"x", gf::view(longer.data(), {3, 71'680})}},
        one_group{{"x", gf::view(tags.data(), {3, 70'000})}};
    for (std::uint64_t seed = 1; seed <= 8; ++seed) { // a thread block must collect before others have published
        emulated_->seed = seed;
        emulated_->resident_blocks = 24;
        gf::Prepared prepared = device.prepare(three_groups);
        prepared.run();
        emulated_->resident_blocks = 5;
        prepared.rebind(one_group);
        EXPECT_EQ(prepared.run().to_vector<float>("y"), cpu.run(one_group).to_vector<float>("y"));
        emulated_->resident_blocks = 24;
        prepared.rebind(three_groups);
        EXPECT_EQ(prepared.run().to_vector<float>("y"), cpu.run(three_groups).to_vector<float>("y"));
    }
}

// If grids were started in part, each would hold the room that another waits for.
TEST_F(Cooperating, grids_of_several_threads_run_beside_each_other) {
    const std::int64_t length = is_emulated() ? 98'000 : 4'000'000;
    const std::vector<float> x = numbers(length);
    const gf::Bindings inputs{{"x", gf::view(x.data(), {length})}};
    const std::vector<float> expected = on("cpu", standardised).run(inputs).to_vector<float>("z");
    const gf::Executable device = on("cuda", standardised);
    std::vector<std::thread> threads;
    std::vector<int> wrong(4);
    for (std::size_t t = 0; t < wrong.size(); ++t)
        threads.emplace_back([&, t] {
            const DeviceArray in(x), out(std::vector<float>(x.size()));
            gf::Prepared prepared = device.prepare({{"x", gf::device_view(in.pointer(), {length})}},
                                                   {{"z", gf::device_view(out.pointer(), {length})}});
            const gf::CurrentDevice current(0);
            const gf::Stream stream(0, gf::StreamKind::independent);
            for (int i = 0; i < (is_emulated() ? 2 : 200); ++i) prepared.enqueue(stream);
            stream.wait();
            wrong[t] = gf::test::to_host(out.view()) != expected;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, std::vector<int>(4));
}

} // namespace
