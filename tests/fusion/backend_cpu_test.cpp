// The CPU backend: numbers of threads, layouts of arrays, and the state of the caller's thread after a run. The order
// of reductions is tested by backend_order_cpu_test.cpp.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "fusion/cpu_run.hpp"
#include "fusion/own_reductions.hpp"

namespace {

using gf::test::BoundPlan;
using gf::test::canonical;
using gf::test::ChosenSet;
using gf::test::Elements;
using gf::test::ThreadCount;

/// A dozen statistics in one sweep, with folds of every kind.
gf::Graph dozen() {
    gf::Graph g;
    const gf::Value x = g.input<float>("x", {g.dim("n")});
    g.output("sum", gf::sum(x));
    g.output("cubes", gf::sum(x * x * x));
    g.output("l2", gf::l2_norm(x));
    g.output("stddev", gf::stddev(x));
    g.output("mean_of_some", gf::mean(x, {.where = x > 1}));
    g.output("min", gf::min(x));
    g.output("argmax", gf::argmax(x));
    g.output("count", gf::count(x > 0));
    g.output("product", gf::product(x));
    g.output("ordered", gf::ordered(x));
    return g;
}

TEST(BackendCpu, gives_the_same_bits_on_any_number_of_threads) {
    const std::int64_t n = (1 << 21) + 77;
    const Elements<float> x(static_cast<std::size_t>(n));
    std::vector<std::uint64_t> first;
    for (const int threads : {1, 2, 3, 7}) {
        const ThreadCount count(threads);
        BoundPlan run(dozen());
        run.extent("n", n).array("x", x.data()).now();
        std::vector<std::uint64_t> bits;
        for (const gf::plan::Output& output : run.plan().outputs) bits.push_back(run.scalar(output.name).bits);
        if (first.empty()) first = bits;
        EXPECT_EQ(bits, first) << threads << " threads";
    }
}

TEST(BackendCpu, folds_the_same_bits_beside_other_folds_as_alone) {
    const std::int64_t n = 300'001;
    const Elements<float> x(static_cast<std::size_t>(n));
    BoundPlan together(dozen());
    together.extent("n", n).array("x", x.data()).now();
    gf::Graph alone;
    const gf::Value value = alone.input<float>("x", {alone.dim("n")});
    alone.output("cubes", gf::sum(value * value * value));
    BoundPlan one(alone);
    EXPECT_EQ(one.extent("n", n).array("x", x.data()).now().get<float>("cubes"), together.get<float>("cubes"));
}

TEST(BackendCpu, keeps_the_factors_of_a_summed_product_for_the_fold) {
    gf::Graph g;
    const gf::Value x = g.input<float>("x", {g.dim("n")});
    const gf::Value a = x + 1, b = x + 2;
    g.output("products", gf::sum(a * b));
    g.output("others", gf::sum(a - 3)); // the last reader of `a` except the fold
    const std::vector<float> data{1, 2, 3, 4};
    BoundPlan run(g);
    run.extent("n", 4).array("x", data.data()).now();
    EXPECT_EQ(run.get<float>("products"), 6 + 12 + 20 + 30);
    EXPECT_EQ(run.get<float>("others"), -1 + 0 + 1 + 2);
}

TEST(BackendCpu, reads_broadcast_and_permuted_arrays) {
    const std::int64_t rows = 37, columns = 211, planes = 5;
    gf::Graph g;
    const gf::Dim i = g.dim("i"), j = g.dim("j"), k = g.dim("k");
    const gf::Value flat = g.input<float>("flat", {i, j, k}), row = g.input<double>("row", {k}),
                    column = g.input<std::int16_t>("column", {i}), permuted = g.input<float>("permuted", {k, i, j}),
                    middle = g.input<std::uint8_t>("middle", {j}), keep = g.input<bool>("keep", {k, j});
    g.output("r", gf::sum(flat * row + column * permuted - middle, {.where = keep}));
    const auto count = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    const Elements<float> a(count(rows * columns * planes)), d(count(rows * columns * planes), 2);
    const Elements<double> b(count(planes), 3);
    const Elements<std::int16_t> c(count(rows), 4);
    const Elements<std::uint8_t> m(count(columns), 5);
    const Elements<bool> w(count(planes * columns), 6);
    std::vector<double> terms;
    const auto accepted = std::make_unique<bool[]>(count(rows * columns * planes));
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t q = 0; q < columns; ++q)
            for (std::int64_t p = 0; p < planes; ++p) {
                const float product = static_cast<float>(c[r]) * d[(p * rows + r) * columns + q];
                const double left = static_cast<double>(a[(r * columns + q) * planes + p]) * b[p];
                accepted[terms.size()] = w[p * columns + q];
                terms.push_back(left + static_cast<double>(product) - static_cast<double>(m[q]));
            }
    using M = gf::device::Sum<double, double>;
    const double expected = canonical<M>(terms.data(), rows * columns * planes, {accepted.get()}).sum;
    BoundPlan run(g);
    run.extent("i", rows).extent("j", columns).extent("k", planes);
    run.array("flat", a.data()).array("row", b.data()).array("column", c.data()).array("permuted", d.data());
    run.array("middle", m.data()).array("keep", w.data());
    EXPECT_EQ(run.now().get<double>("r"), expected);
}

TEST(BackendCpu, knows_the_index_along_each_dim) {
    gf::Graph g;
    const gf::Dim i = g.dim("i"), j = g.dim("j"), k = g.dim("k");
    g.output("at", gf::index(g, i) * 10'000 + gf::index(g, j) * 100 + gf::index(g, k));
    std::vector<std::int64_t> at(41 * 3 * 57);
    BoundPlan run(g);
    run.extent("i", 41).extent("j", 3).extent("k", 57).array("at", at.data()).now();
    for (std::size_t e = 0; e < at.size(); ++e) {
        const auto n = static_cast<std::int64_t>(e);
        ASSERT_EQ(at[e], n / 171 * 10'000 + n / 57 % 3 * 100 + n % 57);
    }
}

TEST(BackendCpu, widens_what_it_loads_and_narrows_what_it_stores) {
    gf::Graph g;
    const gf::Dim n = g.dim("n");
    const gf::Value x = g.input<gf::f16>("x", {n}), y = g.input<gf::bf16>("y", {n});
    g.output("doubled", x + x);
    g.output("negative", -y);
    g.output("copy", x);
    g.output("sum", gf::sum(x));
    const std::size_t count = 5000;
    std::vector<gf::f16> a(count), doubled(count), copy(count);
    std::vector<gf::bf16> b(count), negative(count);
    for (std::size_t e = 0; e < count; ++e) {
        a[e] = gf::f16(static_cast<float>(e % 40) - 17.5F);
        b[e] = gf::bf16(static_cast<float>(e % 64));
    }
    BoundPlan run(g);
    run.extent("n", count).array("x", a.data()).array("y", b.data());
    run.array("doubled", doubled.data()).array("negative", negative.data()).array("copy", copy.data()).now();
    float sum = 0;
    for (std::size_t e = 0; e < count; ++e) {
        ASSERT_EQ(float(doubled[e]), 2 * float(a[e]));
        ASSERT_EQ(float(negative[e]), -float(b[e]));
        ASSERT_EQ(copy[e].bits, a[e].bits);
        sum += float(a[e]);
    }
    EXPECT_EQ(run.get<float>("sum"), sum);
}

TEST(BackendCpu, takes_any_byte_that_is_not_zero_for_true) {
    gf::Graph g;
    const gf::Dim n = g.dim("n");
    const gf::Value x = g.input<bool>("x", {n}), keep = g.input<bool>("keep", {n});
    g.output("count", gf::count(x));
    g.output("kept", gf::sum(x, {.where = keep}));
    g.output("copy", x);
    g.output("differ", gf::count(x != keep));
    const std::vector<std::uint8_t> bytes{0, 1, 2, 255, 128, 0, 7}, mask{9, 0, 4, 0, 1, 1, 1};
    std::vector<std::uint8_t> copy(bytes.size(), 99);
    BoundPlan run(g);
    run.extent("n", 7).array("x", bytes.data()).array("keep", mask.data()).array("copy", copy.data()).now();
    EXPECT_EQ(run.get<std::int64_t>("count"), 5);
    EXPECT_EQ(run.get<std::int64_t>("kept"), 3);
    EXPECT_EQ(run.get<std::int64_t>("differ"), 4);
    EXPECT_EQ(copy, (std::vector<std::uint8_t>{0, 1, 1, 1, 1, 0, 1}));
}

TEST(BackendCpu, passes_scalars_and_arrays_from_sweep_to_sweep) {
    gf::Graph g;
    const gf::Dim n = g.dim("n");
    const gf::Value x = g.input<double>("x", {n}), scale = g.scalar<double>("scale");
    g.output("z", (x - gf::mean(x)) * scale);
    const std::vector<double> data{1, 2, 3, 10};
    std::vector<double> z(4);
    BoundPlan run(g);
    run.extent("n", 4).array("x", data.data()).array("z", z.data());
    run.parameter("scale", std::bit_cast<std::uint64_t>(0.5)).now();
    EXPECT_EQ(z, (std::vector<double>{-1.5, -1, -0.5, 3}));
    run.parameter("scale", std::bit_cast<std::uint64_t>(2.0)).now();
    EXPECT_EQ(z, (std::vector<double>{-6, -4, -2, 12}));
}

TEST(BackendCpu, says_which_scalars_are_empty) {
    gf::Graph g;
    const gf::Dim n = g.dim("n");
    const gf::Value x = g.input<std::int32_t>("x", {n});
    const gf::Value least = gf::min(x, {.where = x > 100});
    g.output("least", least);
    g.output("next", least + 1);
    g.output("mean", gf::mean(x, {.where = x > 100}));
    g.output("count", gf::count(x > 100));
    std::vector<std::int32_t> data{1, 2, 3};
    BoundPlan run(g);
    run.extent("n", 3).array("x", data.data()).now();
    EXPECT_TRUE(run.scalar("least").empty);
    EXPECT_TRUE(run.scalar("next").empty);
    EXPECT_FALSE(run.scalar("mean").empty);
    EXPECT_TRUE(std::isnan(run.get<double>("mean")));
    EXPECT_EQ(run.get<std::int64_t>("count"), 0);
    data[1] = 300;
    run.now();
    EXPECT_FALSE(run.scalar("next").empty);
    EXPECT_EQ(run.get<std::int32_t>("next"), 301);
    EXPECT_EQ(run.get<double>("mean"), 300);
}

TEST(BackendCpu, gives_the_identity_for_no_elements) {
    gf::Graph g;
    const gf::Value x = g.input<float>("x", {g.dim("n")});
    g.output("sum", gf::sum(x));
    g.output("product", gf::product(x));
    g.output("all", gf::all(x));
    g.output("twice", x + x);
    BoundPlan run(g);
    run.extent("n", 0).now();
    EXPECT_EQ(run.get<float>("sum"), 0);
    EXPECT_EQ(run.get<float>("product"), 1);
    EXPECT_TRUE(run.get<bool>("all"));
}

#if defined(__x86_64__)
TEST(BackendCpu, keeps_denormals_and_gives_the_callers_mode_back) {
    const unsigned saved = _mm_getcsr(), flushing = saved | 0x8040;
    gf::Graph g;
    const gf::Value x = g.input<float>("x", {g.dim("n")});
    const gf::Value sum = gf::sum(x * 0.5F);
    g.output("sum", sum);
    g.output("half", sum * 0.5F);
    const std::vector<float> data(1 << 20, 0x1p-130F);
    BoundPlan run(g);
    const ThreadCount two(2);
    const auto set_mode_of_both = [](unsigned mode) {
#pragma omp parallel num_threads(2)
        _mm_setcsr(mode);
        _mm_setcsr(mode); // clang's runtime restores this thread's mode afterwards, and copies it to the other threads
    };
    for (const std::int64_t n : {1, 1 << 20}) { // on this thread alone, and on both
        set_mode_of_both(flushing);
        run.extent("n", n).array("x", data.data()).now();
        const unsigned after = _mm_getcsr();
        set_mode_of_both(saved);
        EXPECT_EQ(after, flushing);
        EXPECT_EQ(run.get<float>("sum"), 0x1p-131F * static_cast<float>(n)) << n;
        EXPECT_EQ(run.get<float>("half"), 0x1p-132F * static_cast<float>(n)) << n;
    }
}
#endif

TEST(BackendCpu, begins_anywhere_in_a_cache_line) {
    gf::Graph g;
    const gf::Value x = g.input<std::int8_t>("x", {g.dim("n")});
    g.output("sum", gf::sum(x));
    g.output("most", gf::max(gf::cast<std::int16_t>(x) * 3));
    g.output("float_sum", gf::sum(gf::cast<float>(x)));
    BoundPlan run(g);
    constexpr std::size_t line = 64;
    // A slab, four of one block, and less than a line: with one row and with four, of temporaries and in place.
    for (const std::size_t n :
         {std::size_t{2048}, std::size_t{4 * 2048}, std::size_t{4 * 2048 + 100}, std::size_t{7}}) {
        const Elements<std::int8_t> source(n);
        std::int64_t sum = 0;
        std::int16_t most = -1000;
        for (std::size_t i = 0; i < n; ++i) {
            sum += source.data()[i];
            most = std::max(most, static_cast<std::int16_t>(source.data()[i] * 3));
        }
        for (std::size_t offset = 0; offset < line; ++offset) {
            // The allocation ends with the last element, so that a sanitizer finds reads beyond it.
            const auto size = (offset + n + line - 1) / line * line;
            const std::unique_ptr<std::int8_t, decltype(&std::free)> memory(
                static_cast<std::int8_t*>(std::aligned_alloc(line, size)), std::free);
            std::copy_n(source.data(), n, memory.get() + offset);
            run.extent("n", static_cast<std::int64_t>(n)).array("x", memory.get() + offset).now();
            ASSERT_EQ(run.get<std::int64_t>("sum"), sum) << n << " elements from byte " << offset;
            ASSERT_EQ(run.get<std::int16_t>("most"), most) << n << " elements from byte " << offset;
            ASSERT_EQ(run.get<float>("float_sum"), static_cast<float>(sum)) << n << " elements from byte " << offset;
        }
    }
}

TEST(BackendCpu, runs_in_a_forked_child_and_inside_a_parallel_region) {
    const std::int64_t n = 1 << 21;
    const Elements<float> x(static_cast<std::size_t>(n));
    BoundPlan run(dozen());
    run.extent("n", n).array("x", x.data()).now();
    const float cubes = run.get<float>("cubes");
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        alarm(60);
        run.now();
        _exit(run.get<float>("cubes") == cubes && run.device().find("1 thread)") != std::string::npos ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);

    std::vector<float> inside(2);
#pragma omp parallel for num_threads(2)
    for (int t = 0; t < 2; ++t) {
        BoundPlan of_thread(dozen());
        inside[static_cast<std::size_t>(t)] = of_thread.extent("n", n).array("x", x.data()).now().get<float>("cubes");
    }
    EXPECT_EQ(inside, (std::vector<float>{cubes, cubes}));
}

TEST(BackendCpu, is_told_its_instruction_set_by_the_environment) {
    {
        const ChosenSet chosen("baseline");
        const ThreadCount three(3);
        EXPECT_EQ(BoundPlan(dozen()).device(), "cpu (baseline, 3 threads)");
    }
    const ChosenSet chosen("mmx");
    EXPECT_THROW(BoundPlan{dozen()}, gf::InvalidOption);
}

} // namespace
