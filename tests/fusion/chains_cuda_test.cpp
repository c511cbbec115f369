// Chains of folds and maps of rows on a CUDA device: the CPU's bits at every length of a row, and bindings whose rows
// registers hold, or not, in turn.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
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

class Chains : public gf::test::OnCuda {};

gf::Bindings inputs_of(const gf::Graph& graph, const std::vector<float>& x, const std::vector<float>& g,
                       std::int64_t rows, std::int64_t length) {
    gf::Bindings inputs{{"x", gf::view(x.data(), {rows, length})}};
    if (to_text(graph).find("g: f32") != std::string::npos) inputs.emplace_back("g", gf::view(g.data(), {length}));
    return inputs;
}

/// Compares a run of all results with the CPU's, by bits.
void expect_the_cpus_bits(const gf::Executable& device, const char* text, std::int64_t rows, std::int64_t length) {
    const gf::Graph graph = gf::parse(text);
    const gf::Executable cpu = gf::compile(graph, {.device = "cpu"});
    const std::vector<float> x = numbers(rows * length, std::uint32_t(length)), g = numbers(length, 7);
    const gf::Bindings inputs = inputs_of(graph, x, g, rows, length);
    const gf::Results expected = cpu.run(inputs), actual = device.run(inputs);
    EXPECT_EQ(expected.to_vector<float>("y"), actual.to_vector<float>("y")) << rows << " rows of " << length;
    if (text != norm) return;
    EXPECT_EQ(expected.to_vector<float>("m"), actual.to_vector<float>("m")) << rows << " rows of " << length;
    EXPECT_EQ(expected.to_vector<std::int64_t>("at"), actual.to_vector<std::int64_t>("at"));
}

TEST_F(Chains, have_the_cpus_bits_at_every_length) {
    for (const char* const text : {softmax, norm}) {
        const gf::Executable device = gf::compile(gf::parse(text), {.device = "cuda"});
        for (const std::int64_t length :
             {1, 2, 3, 31, 64, 100, 129, 513, 1'000, 2'047, 2'048, 2'049, 4'100, 9'999, 12'289})
            expect_the_cpus_bits(device, text, is_emulated() ? 3 : 200, length);
        // Clusters of thread blocks hold such rows.
        expect_the_cpus_bits(device, text, 2, 20'003);
        for (const std::int64_t length : {16'384, 32'768, 50'257, 70'000, 131'072, 262'144, 262'147, 600'000})
            if (!is_emulated()) expect_the_cpus_bits(device, text, 9, length);
    }
}

TEST_F(Chains, of_halves_have_the_cpus_bits) {
    const gf::Graph graph = gf::parse("f(x: bf16[i, k]) let z = f32(x); let e = exp(z - max(z over [k])); "
                                      "-> y = bf16(e / sum(e over [k]) * variance(z over [k]))");
    const gf::Executable cpu = gf::compile(graph, {.device = "cpu"}), device = gf::compile(graph, {.device = "cuda"}),
                         to_half = gf::compile(gf::parse("f(x: f32[n]) -> y = bf16(x)"), {.device = "cpu"});
    for (const std::int64_t length : {700, 1'025, 4'096, 33'000, 50'257, 262'144, 1'000'000}) {
        if (is_emulated() && length > 40'000) continue;
        const std::vector<float> x = numbers(3 * length, 11);
        const gf::Results halves = to_half.run({{"x", gf::view(x.data(), {3 * length})}});
        const gf::Bindings inputs{{"x", gf::view(halves.span<gf::bf16>("y").data(), {3, length})}};
        const auto expected = cpu.run(inputs).to_vector<gf::bf16>("y"),
                   actual = device.run(inputs).to_vector<gf::bf16>("y");
        ASSERT_EQ(expected.size(), actual.size());
        EXPECT_EQ(std::memcmp(expected.data(), actual.data(), expected.size() * sizeof(gf::bf16)), 0) << length;
    }
}

TEST_F(Chains, rows_need_no_clusters_that_the_device_has_no_room_for) {
    auto* const emulated = gf::emulator::emulated_device();
    if (emulated == nullptr) GTEST_SKIP() << "the device has room for every cluster";
    emulated->most_cluster = 2;
    const gf::Executable device = gf::compile(gf::parse(softmax), {.device = "cuda"});
    expect_the_cpus_bits(device, softmax, 2, 25'000);  // in a cluster of two
    expect_the_cpus_bits(device, softmax, 1, 140'000); // a cluster of two cannot hold them
    emulated->most_cluster = 1;
    expect_the_cpus_bits(gf::compile(gf::parse(softmax), {.device = "cuda"}), softmax, 2, 20'003);
}

/// Compares floating results by bits; any NaN equals any other.
template <class T> void expect_same(const gf::Results& expected, const gf::Results& actual, const char* name) {
    const std::vector<T> a = expected.to_vector<T>(name), b = actual.to_vector<T>(name);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
        ASSERT_TRUE(std::isnan(a[i]) ? std::isnan(b[i]) : std::memcmp(&a[i], &b[i], sizeof(T)) == 0)
            << name << "[" << i << "] is " << b[i] << ", not " << a[i];
}

/// e^x that is denormal, 0 or NaN, rows of the same infinity, and quotients that are not sure.
template <class T> void expect_the_cpus_bits_of_numbers_far_apart(const char* type, int scale) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    constexpr std::int64_t rows = 6, length = 1'000;
    std::vector<float> x(rows * length);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = -0.131F * static_cast<float>(i % length);
    x[2'000] = infinity;
    x[3'007] = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t i = 4'000; i < 5'000; ++i) x[i] = -infinity;
    for (std::size_t i = 5'003; i < 6'000; i += 3) x[i] = -infinity;
    const gf::Graph graph = gf::parse(fmt::format("f(x: f32[i, k]) let z = {0}(x) * {0}({1}); "
                                                  "let e = exp(z - max(z over [k])); "
                                                  "-> y = e / sum(e over [k]), e = e, l = logsumexp(z over [k])",
                                                  type, scale));
    const gf::Bindings inputs{{"x", gf::view(x.data(), {rows, length})}};
    const gf::Results expected = gf::compile(graph, {.device = "cpu"}).run(inputs),
                      actual = gf::compile(graph, {.device = "cuda"}).run(inputs);
    for (const char* const name : {"y", "e", "l"}) expect_same<T>(expected, actual, name);
}
TEST_F(Chains, of_numbers_far_apart_have_the_cpus_bits) {
    expect_the_cpus_bits_of_numbers_far_apart<float>("f32", 1);
    expect_the_cpus_bits_of_numbers_far_apart<double>("f64", 6);
}

TEST_F(Chains, rows_of_other_lengths_are_bound_in_turn) {
    const gf::Executable device = gf::compile(gf::parse(norm), {.device = "cuda"});
    const std::int64_t longest = is_emulated() ? 20'000 : 700'000;
    for (const std::int64_t length :
         {std::int64_t{100}, longest, std::int64_t{1'000}, std::int64_t{1}, longest, std::int64_t{100}})
        expect_the_cpus_bits(device, norm, 3, length);
}

TEST_F(Chains, rows_without_elements_and_no_rows) {
    const gf::Executable device =
        gf::compile(gf::parse("f(x: f32[i, k]) -> s = sum(x - sum(x over [k]) over [k])"), {.device = "cuda"});
    const std::vector<float> x(12, 1.0F);
    EXPECT_EQ(device.run({{"x", gf::view(x.data(), {3, 0})}}).to_vector<float>("s"), std::vector<float>(3, 0.0F));
    EXPECT_TRUE(device.run({{"x", gf::view(x.data(), {0, 4})}}).to_vector<float>("s").empty());
    EXPECT_EQ(device.run({{"x", gf::view(x.data(), {3, 4})}}).to_vector<float>("s"), std::vector<float>(3, -12.0F));
}

TEST_F(Chains, problems_of_different_lengths_have_the_bits_that_they_have_alone) {
    const gf::Graph graph = gf::parse(norm);
    const gf::Executable device = gf::compile(graph, {.device = "cuda"}), cpu = gf::compile(graph, {.device = "cpu"});
    std::vector<std::vector<float>> x, g;
    std::vector<gf::Bindings> problems;
    const std::vector<std::int64_t> lengths{23'000, 9'000, 70, 1, 2'100}; // the longest in a cluster
    for (const std::int64_t length : lengths) {
        x.push_back(numbers(3 * length, std::uint32_t(length)));
        g.push_back(numbers(length, 3));
        problems.push_back(inputs_of(graph, x.back(), g.back(), 3, length));
    }
    const std::vector<gf::Results> all = device.run_many(problems);
    for (std::size_t p = 0; p < problems.size(); ++p) {
        const gf::Results alone = cpu.run(problems[p]);
        EXPECT_EQ(alone.to_vector<float>("y"), all[p].to_vector<float>("y")) << lengths[p];
        EXPECT_EQ(alone.to_vector<std::int64_t>("at"), all[p].to_vector<std::int64_t>("at")) << lengths[p];
    }
}

/// Numbers of all sizes, and special ones.
std::vector<float> any_floats(std::int64_t n) {
    std::vector<float> values(static_cast<std::size_t>(n));
    std::uint32_t seed = 5;
    for (float& value : values) {
        seed = seed * 1664525u + 1013904223u;
        const std::uint32_t bits = seed ^ seed >> 13;
        std::memcpy(&value, &bits, sizeof value);
        if (seed % 64 == 0) value = seed % 128 == 0 ? -0.0F : 0.0F;
    }
    return values;
}

TEST_F(Chains, quotients_by_a_value_of_the_row_are_rounded_correctly) {
    const gf::Graph graph = gf::parse("f(x: f32[i, k], d: f32[i, k]) -> y = x / max(d over [k])");
    const gf::Executable device = gf::compile(graph, {.device = "cuda"}), cpu = gf::compile(graph, {.device = "cpu"});
    const std::int64_t rows = is_emulated() ? 20 : 20'000, length = is_emulated() ? 64 : 1'024;
    const std::vector<float> x = any_floats(rows * length);
    std::vector<float> d(x.size(), -std::numeric_limits<float>::infinity());
    for (std::int64_t row = 0; row < rows; ++row) { // of every size, but most near 1
        const float any = x[static_cast<std::size_t>((row + 7) % rows * length)];
        d[static_cast<std::size_t>(row * length)] = row % 4 == 0 ? any : 1.0F + static_cast<float>(row) / 77'777.0F;
    }
    const gf::Bindings inputs{{"x", gf::view(x.data(), {rows, length})}, {"d", gf::view(d.data(), {rows, length})}};
    const std::vector<float> expected = cpu.run(inputs).to_vector<float>("y"),
                             actual = device.run(inputs).to_vector<float>("y");
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const bool same = std::memcmp(&expected[i], &actual[i], sizeof(float)) == 0;
        if (!same && !(std::isnan(expected[i]) && std::isnan(actual[i])) && ++wrong == 1)
            ADD_FAILURE() << "element " << i << ": " << x[i] << " / "
                          << d[i / std::size_t(length) * std::size_t(length)] << " is " << expected[i] << ", not "
                          << actual[i];
    }
    EXPECT_EQ(wrong, 0);
}

// The first sweep reads neighbours in other rows, which the last one overwrites.
TEST_F(Chains, a_chain_in_place_reads_neighbouring_rows_before_they_are_written) {
    const gf::Graph graph =
        gf::parse("f(x: f32[i, k]) let s = sum(x * shift(x, i, 1, edge = wrap) over [k]); -> y = x / s");
    const std::vector<float> x = numbers(40 * 701);
    const DeviceArray in_place(x);
    const auto view = gf::device_view(in_place.pointer(), {40, 701});
    gf::compile(graph, {.device = "cuda"}).run({{"x", view}}, {{"y", view}});
    const gf::Executable cpu = gf::compile(graph, {.device = "cpu"});
    EXPECT_EQ(cpu.run({{"x", gf::view(x.data(), {40, 701})}}).to_vector<float>("y"),
              gf::test::to_host(in_place.view()));
}

// What the array of an output rounds is not what the elements of the rows take.
TEST_F(Chains, with_results_that_outputs_round_have_the_cpus_bits) {
    const std::vector<float> x = numbers(6 * 700);
    const gf::Bindings inputs{{"x", gf::view(x.data(), {6, 700})}};
    for (const char* const half : {"f16", "bf16"})
        for (const char* const m : {"mean(x over [k])", "sum(x over [k]) / 3", "max(x over [k]) + 0.1"}) {
            const std::string text = fmt::format("f(x: f32[i, k]) let m = {}({}); -> m = m, n = f32(m) * 3, z = x - "
                                                 "f32(m), s = sum(x * f32(m) over [k])",
                                                 half, m);
            const auto results = [&](const char* device) {
                const gf::Executable exe = gf::compile(gf::parse(text), {.device = device});
                const gf::Results r = exe.run(inputs);
                std::vector<std::vector<float>> all;
                for (const char* name : {"n", "z", "s"}) all.push_back(r.to_vector<float>(name));
                return all;
            };
            EXPECT_EQ(results("cpu"), results("cuda")) << text;
        }
}

// Rows of whole packs have kernels of their own, which need all arrays aligned.
TEST_F(Chains, of_whole_packs_beside_misaligned_arrays_have_the_cpus_bits) {
    const char* const text = "f(x: f32[i, k], g: f32[k], w: f32[i]) let m = mean(x over [k]); "
                             "-> y = (x - m) / sqrt(variance(x over [k]) + 0.1) * g + w";
    const gf::Executable device = gf::compile(gf::parse(text), {.device = "cuda"}),
                         cpu = gf::compile(gf::parse(text), {.device = "cpu"});
    constexpr std::int64_t rows = 5;
    for (const std::int64_t length : {64, 1'024, 8'192}) {
        const std::vector<float> x = numbers(rows * length), g = numbers(length + 1, 7), w = numbers(rows, 5);
        const DeviceArray dx(x), dg(g), dw(w), out(std::vector<float>(x.size() + 1));
        const auto expected = [&](int skipped) {
            return cpu
                .run({{"x", gf::view(x.data(), {rows, length})},
                      {"g", gf::view(g.data() + skipped, {length})},
                      {"w", gf::view(w.data(), {rows})}})
                .to_vector<float>("y");
        };
        for (const auto& [of_g, of_y] : {std::pair(0, 0), std::pair(1, 0), std::pair(0, 1)}) {
            device.run({{"x", gf::device_view(dx.pointer(), {rows, length})},
                        {"g", gf::device_view(dg.pointer() + of_g, {length})},
                        {"w", gf::device_view(dw.pointer(), {rows})}},
                       {{"y", gf::device_view(out.pointer() + of_y, {rows, length})}});
            std::vector<float> y = gf::test::to_host(out.view());
            y.erase(y.begin() + (of_y == 0 ? std::ssize(y) - 1 : 0));
            EXPECT_EQ(expected(of_g), y) << length << ", g from " << of_g << ", y from " << of_y;
        }
    }
}

// Weights have strides, or none, in turn; the moments of what is weighted begin with a row's first element.
TEST_F(Chains, of_whole_packs_and_weights_with_strides_have_the_cpus_bits) {
    constexpr std::int64_t rows = 9;
    for (const char* const text : {"f(x: f32[i, k], g: f32[k]) -> y = sum(x * g over [k])",
                                   "f(x: f32[i, k], g: f32[k]) -> y = variance(x * g over [k])",
                                   "f(x: f32[i, k], g: f32[k]) let z = x * g; -> y = (z - mean(z over [k])) / "
                                   "sqrt(variance(z over [k]) + 0.1)"}) {
        const gf::Executable device = gf::compile(gf::parse(text), {.device = "cuda"}),
                             cpu = gf::compile(gf::parse(text), {.device = "cpu"});
        for (const std::int64_t length : {16, 64, 512, 1'024, 4'096}) {
            const std::vector<float> x = numbers(rows * length), g = numbers(2 * length, 7);
            const DeviceArray dx(x), dg(g);
            for (const std::int64_t stride : {1, 2, 1, 0}) {
                const gf::Results expected = cpu.run(
                    {{"x", gf::view(x.data(), {rows, length})}, {"g", gf::host_view(g.data(), {length}, {stride})}});
                const gf::Results actual = device.run({{"x", gf::device_view(dx.pointer(), {rows, length})},
                                                       {"g", gf::device_view(dg.pointer(), {length}, {stride})}});
                EXPECT_EQ(expected.to_vector<float>("y"), actual.to_vector<float>("y"))
                    << text << " of " << length << ", strides of " << stride;
            }
        }
    }
}

TEST_F(Chains, a_prepared_chain_writes_bound_outputs) {
    const gf::Executable device = gf::compile(gf::parse(softmax), {.device = "cuda"});
    const std::vector<float> x = numbers(15'000);
    const DeviceArray on_device(x), out(std::vector<float>(x.size()));
    gf::Prepared prepared = device.prepare({{"x", gf::device_view(on_device.pointer(), {5, 3'000})}},
                                           {{"y", gf::device_view(out.pointer(), {5, 3'000})}});
    prepared.run();
    const gf::Executable cpu = gf::compile(gf::parse(softmax), {.device = "cpu"});
    EXPECT_EQ(cpu.run({{"x", gf::view(x.data(), {5, 3'000})}}).to_vector<float>("y"), gf::test::to_host(out.view()));
}

TEST_F(Chains, a_captured_chain_of_a_cluster_replays) {
    constexpr std::int64_t rows = 2, length = 20'003;
    const gf::Executable device = gf::compile(gf::parse(softmax), {.device = "cuda"});
    const std::vector<float> x = numbers(rows * length), other = numbers(rows * length, 7);
    const DeviceArray in(x), out(std::vector<float>(x.size()));
    gf::Prepared prepared = device.prepare({{"x", gf::device_view(in.pointer(), {rows, length})}},
                                           {{"y", gf::device_view(out.pointer(), {rows, length})}});
    const gf::CurrentDevice current(0);
    const gf::Stream stream(0, gf::StreamKind::independent);
    gf::test::UserGraph graph;
    gf::test::UserGraph::begin(stream);
    prepared.enqueue(stream);
    graph.end(stream);
    const gf::Executable cpu = gf::compile(gf::parse(softmax), {.device = "cpu"});
    for (const std::vector<float>* const now : {&x, &other}) {
        in.set(*now);
        graph.launch(stream);
        stream.wait();
        EXPECT_EQ(cpu.run({{"x", gf::view(now->data(), {rows, length})}}).to_vector<float>("y"),
                  gf::test::to_host(out.view()));
    }
}

} // namespace
