// The courses of folds that keep dims, which follow from the extents and addresses that are bound, on a CUDA device:
// rows and columns of all lengths have the CPU's bits.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <gridfold/core/buffer.hpp>
#include <gridfold/core/device.hpp>
#include <gridfold/core/stream.hpp>
#include <gridfold/gridfold.hpp>

#include "fusion/device_array.hpp"
#include "fusion/device_scale.hpp"
#include "fusion/numbers.hpp"
#include "fusion/on_cuda.hpp"

namespace {

using gf::test::DeviceArray;
using gf::test::halves_of;
using gf::test::is_emulated;
using gf::test::numbers;
using gf::test::product;
using I64s = std::vector<std::int64_t>;

class KeptCourses : public gf::test::OnCuda {};

/// Expects that such elements, folded over a dim of two, have the CPU's bits, wherever in memory they begin.
template <class T>
void expect_the_cpus_bits(const std::vector<T>& x, gf::DType type, const I64s& extents, const char* over) {
    const gf::CurrentDevice current(0);
    const gf::DeviceBuffer there(0, x.size() * sizeof(T));
    const gf::Stream stream(0, gf::StreamKind::ordered_with_default);
    gf::copy_to_device(there.address(), x.data(), there.bytes(), stream);
    stream.wait();
    struct Folded {
        const char *name, *fold;
    };
    for (const Folded& of : {Folded{"sum", "sum(x"},
                             {"max", "max(x"},
                             {"variance", "variance(x"},
                             {"at", "argmin(x"},
                             {"hot", "sum(x where x > 20"}}) {
        const gf::Graph graph =
            gf::parse(fmt::format("r(x: {0}[i, j]) -> {1} = f64({2} over [{3}])), n = count(x > 0 over [{3}])",
                                  gf::to_text(type), of.name, of.fold, over));
        const gf::Executable on_device = gf::compile(graph, {.device = "cuda"});
        const gf::Executable on_host = gf::compile(graph, {.device = "cpu"});
        for (const std::int64_t first : {0, 1}) {
            const auto results = [&](const gf::Executable& exe, const void* p, gf::Memory memory) {
                auto* const from = const_cast<T*>(static_cast<const T*>(p)) + first;
                const gf::Results r = exe.run({{"x", gf::View(from, type, gf::Extents(extents), memory, true)}});
                return std::pair(r.to_vector<double>(of.name), r.to_vector<std::int64_t>("n"));
            };
            EXPECT_EQ(results(on_device, there.address(), gf::Memory::device),
                      results(on_host, x.data(), gf::Memory::host))
                << of.name << " of " << extents[0] << " x " << extents[1] << " over " << over << " from " << first;
        }
    }
}

/// Expects that problems of one launch, with these extents, have the CPU's bits.
void expect_the_cpus_problems(const std::vector<I64s>& all, const char* over) {
    const gf::Graph graph =
        gf::parse(fmt::format("f(x: f32[i, j]) -> s = sum(x over [{0}]), n = count(x > 0 over [{0}])", over));
    const gf::Executable on_host = gf::compile(graph, {.device = "cpu"});
    std::vector<std::vector<float>> x;
    std::vector<gf::Bindings> problems;
    for (const I64s& extents : all) x.push_back(numbers(std::size_t(product(extents)), std::uint32_t(x.size())));
    for (std::size_t p = 0; p < all.size(); ++p)
        problems.push_back({{"x", gf::host_view(x[p].data(), {all[p][0], all[p][1]})}});
    const auto many = gf::compile(graph, {.device = "cuda"}).run_many(problems);
    for (std::size_t p = 0; p < all.size(); ++p) {
        const gf::Results expected = on_host.run(problems[p]);
        EXPECT_EQ(many[p].to_vector<float>("s"), expected.to_vector<float>("s")) << all[p][1];
        EXPECT_EQ(many[p].to_vector<std::int64_t>("n"), expected.to_vector<std::int64_t>("n")) << all[p][1];
    }
}

/// Expects that a prepared run has the CPU's bits, bound to these extents in turn, at two addresses.
void expect_the_cpus_bits_bound_anew(const std::vector<I64s>& all, const char* over) {
    const std::string text = fmt::format("f(x: f32[i, j]) -> s = sum(x over [{}])", over);
    const std::vector<float> x = numbers(6'000'001);
    const DeviceArray on_device(x);
    const gf::Executable on_host = gf::compile(gf::parse(text), {.device = "cpu"});
    const auto there = [&](const I64s& extents, std::int64_t first) {
        return gf::device_view(on_device.pointer() + first, {extents[0], extents[1]});
    };
    gf::Prepared prepared = gf::compile(gf::parse(text), {.device = "cuda"}).prepare({{"x", there(all[0], 0)}});
    for (const I64s& extents : all)
        for (const std::int64_t first : {0, 1}) {
            prepared.rebind("x", there(extents, first));
            EXPECT_EQ(
                prepared.run().to_vector<float>("s"),
                on_host.run({{"x", gf::host_view(x.data() + first, {extents[0], extents[1]})}}).to_vector<float>("s"))
                << extents[0] << " x " << extents[1] << " from " << first;
        }
}

// Warps and threads fold rows only if there are many.
TEST_F(KeptCourses, many_rows_have_the_cpus_bits) {
    for (const I64s& extents : std::vector<I64s>{{20'000, 3},
                                                 {20'000, 24},
                                                 {17'000, 64},
                                                 {17'000, 127},
                                                 {17'000, 300},
                                                 {5'000, 1'001},
                                                 {1'100, 5'001},
                                                 {1'100, 4'096},
                                                 {1'100, 8'192},
                                                 {1'030, 50'257}}) {
        if (is_emulated() && product(extents) > 100'000) continue;
        const std::vector<float> x = numbers(std::size_t(product(extents) + 1));
        expect_the_cpus_bits(x, gf::DType::f32, extents, "j");
        expect_the_cpus_bits(halves_of(x), gf::DType::bf16, extents, "j");
    }
}

TEST_F(KeptCourses, many_rows_of_several_problems_have_the_cpus_bits) {
    expect_the_cpus_problems({{17'000, 3}, {40, 129}, {3, 100}}, "j");
    if (!is_emulated()) expect_the_cpus_problems({{1'100, 5'001}, {30, 20'000}, {7, 700}}, "j");
}

TEST_F(KeptCourses, many_rows_are_bound_to_other_lengths_and_addresses_and_back) {
    if (is_emulated()) return; // millions of elements
    expect_the_cpus_bits_bound_anew({{20'000, 20}, {20'000, 129}, {1'100, 5'001}, {20'000, 20}}, "j");
}

// Their rows begin anywhere: with lanes of one and of two rows, of few blocks and of many.
TEST_F(KeptCourses, columns_of_odd_lengths_have_the_cpus_bits) {
    for (const I64s& extents : std::vector<I64s>{{37, 1'001},
                                                 {20, 2'051},
                                                 {9'000, 513},
                                                 {5'000, 1'001},
                                                 {3'000, 2'049},
                                                 {1'500, 5'001},
                                                 {200, 50'257},
                                                 {70, 131'071},
                                                 {5, 131'071}}) {
        if (is_emulated() && product(extents) > 100'000) continue;
        const std::vector<float> x = numbers(std::size_t(product(extents) + 1));
        expect_the_cpus_bits(x, gf::DType::f32, extents, "i");
        expect_the_cpus_bits(halves_of(x), gf::DType::bf16, extents, "i");
    }
}

// Even blocks of a channel have longer slabs than odd ones, and come first.
TEST_F(KeptCourses, channels_of_long_and_short_slabs_have_the_cpus_bits) {
    const gf::Graph graph = gf::parse("f(x: f32[i, c, k]) -> s = sum(x over [i, k]), v = variance(x over [i, k]), "
                                      "at = argmax(x over [i, k])");
    const gf::Executable on_device = gf::compile(graph, {.device = "cuda"});
    const gf::Executable on_host = gf::compile(graph, {.device = "cpu"});
    for (const I64s& extents : std::vector<I64s>{{16, 2, 2'100}, {100, 3, 3'136}, {260, 64, 3'136}}) {
        if (is_emulated() && product(extents) > 100'000) continue;
        const std::vector<float> x = numbers(std::size_t(product(extents)));
        const gf::Bindings inputs{{"x", gf::host_view(x.data(), gf::Extents(extents))}};
        for (int run = 0; run < 2; ++run) {
            const gf::Results results = on_device.run(inputs), expected = on_host.run(inputs);
            EXPECT_EQ(results.to_vector<float>("s"), expected.to_vector<float>("s")) << extents[2];
            EXPECT_EQ(results.to_vector<float>("v"), expected.to_vector<float>("v")) << extents[2];
            EXPECT_EQ(results.to_vector<std::int64_t>("at"), expected.to_vector<std::int64_t>("at")) << extents[2];
        }
    }
}

TEST_F(KeptCourses, columns_of_several_problems_have_the_cpus_bits) {
    expect_the_cpus_problems({{40, 1'001}, {7, 2'049}, {90, 600}}, "i");
    expect_the_cpus_problems({{160, 2'048}, {3'000, 64}, {300, 8}}, "i"); // slabs of 1, 32 and 256 rows
    expect_the_cpus_problems({{103, 644}, {2'305, 4}}, "i");
    if (!is_emulated()) expect_the_cpus_problems({{900, 3'001}, {500, 1'027}, {64, 8'191}}, "i");
}

TEST_F(KeptCourses, columns_are_bound_to_other_lengths_and_addresses_and_back) {
    if (is_emulated()) return; // millions of elements
    expect_the_cpus_bits_bound_anew({{5'000, 1'001}, {5'000, 1'004}, {1'500, 3'001}, {1'499, 3'001}, {5'000, 1'001}},
                                    "i");
}

} // namespace
