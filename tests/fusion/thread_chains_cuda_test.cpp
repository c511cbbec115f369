// Chains of many short rows on a CUDA device, each of which a thread holds, or a few threads: the CPU's bits wherever
// rows begin.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

#include "fusion/chains.hpp"
#include "fusion/device_array.hpp"
#include "fusion/device_scale.hpp"
#include "fusion/on_cuda.hpp"

namespace {

using gf::test::DeviceArray;
using gf::test::is_emulated;
using gf::test::numbers;

class ThreadChains : public gf::test::OnCuda {};

constexpr std::int64_t rows = 16'500; // fewer are held by warps

/// Lengths of rows, among them parts of a pack, and whole packs with one element more; 96, 200 and 300 are for a few
/// threads.
std::vector<std::int64_t> lengths() {
    if (is_emulated()) return {1, 19};
    return {1, 3, 15, 17, 31, 50, 96, 97, 127, 129, 145, 200, 222, 300};
}

/// Compares all outputs of a run with the CPU's, by bits. An input `h` has the numbers as bf16.
void expect_the_cpus_bits(const std::string& text, std::int64_t length) {
    const gf::Graph graph = gf::parse(text);
    const gf::Executable cpu = gf::compile(graph, {.device = "cpu"}), device = gf::compile(graph, {.device = "cuda"}),
                         to_half = gf::compile(gf::parse("f(x: f32[n]) -> h = bf16(x)"), {.device = "cpu"});
    const std::vector<float> x = numbers(rows * length, std::uint32_t(length)), g = numbers(length, 7);
    const gf::Results halves = to_half.run({{"x", gf::view(x.data(), {rows * length})}});
    gf::Bindings inputs;
    if (text.find("x: f32") != std::string::npos) inputs.emplace_back("x", gf::view(x.data(), {rows, length}));
    if (text.find("g: f32") != std::string::npos) inputs.emplace_back("g", gf::view(g.data(), {length}));
    if (text.find("h: bf16") != std::string::npos)
        inputs.emplace_back("h", gf::view(halves.span<gf::bf16>("h").data(), {rows, length}));
    const gf::Results expected = cpu.run(inputs), actual = device.run(inputs);
    if (text.find("y = bf16") != std::string::npos) {
        const auto a = expected.to_vector<gf::bf16>("y"), b = actual.to_vector<gf::bf16>("y");
        ASSERT_EQ(a.size(), b.size());
        EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(gf::bf16)), 0) << text << " of " << length;
    } else {
        EXPECT_EQ(expected.to_vector<float>("y"), actual.to_vector<float>("y")) << text << " of " << length;
    }
    if (text != gf::test::norm) return;
    EXPECT_EQ(expected.to_vector<float>("m"), actual.to_vector<float>("m")) << text << " of " << length;
    EXPECT_EQ(expected.to_vector<std::int64_t>("at"), actual.to_vector<std::int64_t>("at")) << text;
}

TEST_F(ThreadChains, have_the_cpus_bits) {
    for (const char* const text : {gf::test::softmax, gf::test::norm})
        for (const std::int64_t length : lengths()) expect_the_cpus_bits(text, length);
}

TEST_F(ThreadChains, of_halves_have_the_cpus_bits) {
    const std::string softmax = "f(h: bf16[i, k]) let z = f32(h); let e = exp(z - max(z over [k])); "
                                "-> y = bf16(e / sum(e over [k]))",
                      norm = "f(h: bf16[i, k], g: f32[k]) let z = f32(h); let d = z - mean(z over [k]); "
                             "-> y = bf16(d / sqrt(mean(d * d over [k]) + 0.01) * g)",
                      mixed = "f(x: f32[i, k], h: bf16[i, k]) let z = x * f32(h); "
                              "-> y = bf16(z - sum(z over [k]) / f32(max(h over [k])))";
    for (const std::string& text : {softmax, norm, mixed})
        for (const std::int64_t length : lengths()) expect_the_cpus_bits(text, length);
}

// Kernels read pieces of 16 bytes wherever the input begins, and write such pieces if the output begins alike.
TEST_F(ThreadChains, of_arrays_at_any_address_write_their_elements_alone) {
    const gf::Graph graph = gf::parse(gf::test::softmax);
    const gf::Executable cpu = gf::compile(graph, {.device = "cpu"}), device = gf::compile(graph, {.device = "cuda"});
    const std::int64_t length = is_emulated() ? 5 : 33, elements = rows * length;
    constexpr int room = 8;
    const std::vector<float> x = numbers(elements + room);
    const DeviceArray dx(x);
    for (const auto& [of_x, of_y] :
         {std::pair(0, 0), std::pair(1, 0), std::pair(0, 3), std::pair(1, 1), std::pair(3, 2)}) {
        const DeviceArray out(std::vector<float>(x.size(), 7.0F));
        std::vector<float> expected(x.size(), 7.0F);
        const std::vector<float> y = cpu.run({{"x", gf::view(x.data() + of_x, {rows, length})}}).to_vector<float>("y");
        std::copy(y.begin(), y.end(), expected.begin() + of_y);
        device.run({{"x", gf::device_view(dx.pointer() + of_x, {rows, length})}},
                   {{"y", gf::device_view(out.pointer() + of_y, {rows, length})}});
        EXPECT_EQ(expected, gf::test::to_host(out.view())) << "x from " << of_x << ", y from " << of_y;
    }
}

TEST_F(ThreadChains, in_place_have_the_cpus_bits) {
    const std::int64_t length = is_emulated() ? 7 : 129;
    const std::vector<float> x = numbers(rows * length);
    const DeviceArray in_place(x);
    const auto view = gf::device_view(in_place.pointer(), {rows, length});
    const gf::Graph graph = gf::parse(gf::test::softmax);
    gf::compile(graph, {.device = "cuda"}).run({{"x", view}}, {{"y", view}});
    const gf::Executable cpu = gf::compile(graph, {.device = "cpu"});
    EXPECT_EQ(cpu.run({{"x", gf::view(x.data(), {rows, length})}}).to_vector<float>("y"),
              gf::test::to_host(in_place.view()));
}

TEST_F(ThreadChains, of_problems_of_different_lengths_have_the_bits_that_they_have_alone) {
    const gf::Graph graph = gf::parse(gf::test::norm);
    const gf::Executable device = gf::compile(graph, {.device = "cuda"}), cpu = gf::compile(graph, {.device = "cpu"});
    const std::vector<float> x = numbers(rows * 99), g = numbers(99, 3);
    std::vector<gf::Bindings> problems;
    for (const std::int64_t length :
         is_emulated() ? std::vector<std::int64_t>{9, 1, 5} : std::vector<std::int64_t>{99, 1, 35, 18})
        problems.push_back({{"x", gf::view(x.data(), {rows, length})}, {"g", gf::view(g.data(), {length})}});
    const std::vector<gf::Results> all = device.run_many(problems);
    for (std::size_t p = 0; p < problems.size(); ++p) {
        const gf::Results alone = cpu.run(problems[p]);
        EXPECT_EQ(alone.to_vector<float>("y"), all[p].to_vector<float>("y")) << p;
        EXPECT_EQ(alone.to_vector<std::int64_t>("at"), all[p].to_vector<std::int64_t>("at")) << p;
    }
}

} // namespace
