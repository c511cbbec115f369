// Compiling, binding and running: the contracts of Executable, Prepared and their Results.
#include <array>
#include <cstdint>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

namespace {

const gf::Options on_cpu{.device = "cpu"};

/// y = x * alpha, and its sum, over one dim.
gf::Graph scale() {
    gf::Graph g("scale");
    const gf::Value x = g.input<std::int32_t>("x", {g.dim("n")});
    const gf::Value y = x * g.scalar<std::int32_t>("alpha");
    g.output("y", y);
    g.output("total", gf::sum(y));
    return g;
}

std::vector<std::int32_t> ramp(std::int32_t from, std::size_t count) {
    std::vector<std::int32_t> values(count);
    std::iota(values.begin(), values.end(), from);
    return values;
}

TEST(Executable, runs_with_arrays_of_changing_extents) {
    const gf::Executable exe = gf::compile(scale(), on_cpu);
    for (const std::size_t n : {5, 3000, 1, 0, 7}) {
        const auto x = ramp(1, n);
        const gf::Results results = exe.run({{"x", x}, {"alpha", 3}});
        EXPECT_EQ(results.get<std::int64_t>("total"), 3 * static_cast<std::int64_t>(n * (n + 1) / 2));
        ASSERT_EQ(results.span<std::int32_t>("y").size(), n);
        if (n > 0) {
            EXPECT_EQ(results.span<std::int32_t>("y").back(), 3 * static_cast<std::int32_t>(n));
        }
    }
}

TEST(Executable, extents_are_values_of_expressions) {
    gf::Graph g("last");
    const gf::Dim n = g.dim("n"), m = g.dim("m", 3);
    const gf::Value x = g.input<std::int32_t>("x", {n});
    g.output("last", gf::sum(x, {.where = g.index(n) == g.extent(n) - 1}));
    g.output("reversed", g.extent(n) - g.index(n));
    g.output("both", g.extent(n) * g.extent(m));
    for (const bool fuse : {true, false}) {
        const gf::Executable exe = gf::compile(g, {.device = "cpu", .fuse = fuse, .verify = true});
        for (const std::size_t count : {5, 0, 3000}) {
            const auto size = static_cast<std::int64_t>(count);
            const auto values = ramp(1, count);
            const gf::Results results = exe.run({{"x", values}});
            EXPECT_EQ(results.get<std::int64_t>("last"), size);
            EXPECT_EQ(results.get<std::int64_t>("both"), 3 * size);
            if (count > 0) {
                EXPECT_EQ(results.span<std::int64_t>("reversed")[0], size);
            }
        }
        const auto four = ramp(1, 4), nine = ramp(1, 9);
        const std::vector<gf::Results> many =
            exe.run_many(std::array{gf::Bindings{{"x", four}}, gf::Bindings{{"x", nine}}});
        EXPECT_EQ(many[0].get<std::int64_t>("last"), 4);
        EXPECT_EQ(many[1].get<std::int64_t>("last"), 9);
    }
}

TEST(Executable, an_extent_that_only_expressions_have_is_bound_by_name) {
    const gf::Executable exe = gf::compile(gf::parse("f([n]) -> y = n * 2"), on_cpu);
    EXPECT_EQ(exe.run({{"n", 21}}).get<std::int64_t>("y"), 42);
    EXPECT_THROW(exe.run({}), gf::InvalidBinding);
}

TEST(Executable, binds_spans_pointers_vectors_and_views) {
    const gf::Executable exe = gf::compile(scale(), on_cpu);
    const auto x = ramp(1, 4);
    EXPECT_EQ(exe.run({{"x", x}, {"alpha", 1}}).get<std::int64_t>("total"), 10);
    EXPECT_EQ(exe.run({{"x", std::span(x)}, {"alpha", 1}}).get<std::int64_t>("total"), 10);
    EXPECT_EQ(exe.run({{"x", gf::view(x.data(), {3})}, {"alpha", 1}}).get<std::int64_t>("total"), 6);
    EXPECT_EQ(exe.run({{"x", gf::host_view(x.data() + 1, {3})}, {"alpha", 1}}).get<std::int64_t>("total"), 9);
    const std::array two{5, 6};
    EXPECT_EQ(exe.run({{"x", two}, {"alpha", 1}}).get<std::int64_t>("total"), 11);
}

TEST(Executable, writes_to_the_array_that_is_bound_as_output) {
    const gf::Executable exe = gf::compile(scale(), on_cpu);
    const auto x = ramp(1, 4);
    std::vector<std::int32_t> y(4, -1);
    const gf::Results results = exe.run({{"x", x}, {"alpha", -2}}, {{"y", y}});
    EXPECT_EQ(y, (std::vector<std::int32_t>{-2, -4, -6, -8}));
    EXPECT_EQ(results.array("y").address, y.data());
}

TEST(Executable, an_output_may_begin_where_an_input_ends_and_end_where_it_begins) {
    const gf::Executable exe = gf::compile(scale(), on_cpu);
    auto memory = ramp(1, 8);
    exe.run({{"x", gf::view(memory.data(), {4})}, {"alpha", 2}}, {{"y", gf::view(memory.data() + 4, {4})}});
    EXPECT_EQ(memory, (std::vector<std::int32_t>{1, 2, 3, 4, 2, 4, 6, 8}));
    exe.run({{"x", gf::view(memory.data() + 4, {4})}, {"alpha", 2}}, {{"y", gf::view(memory.data(), {4})}});
    EXPECT_EQ(memory, (std::vector<std::int32_t>{4, 8, 12, 16, 2, 4, 6, 8}));
}

TEST(Executable, results_that_are_held_outlive_later_runs_and_the_executable) {
    std::vector<gf::Results> held;
    {
        const gf::Executable exe = gf::compile(scale(), on_cpu);
        const auto x = ramp(1, 100);
        for (int alpha = 0; alpha < 5; ++alpha) held.push_back(exe.run({{"x", x}, {"alpha", alpha}}));
    }
    for (int alpha = 0; alpha < 5; ++alpha) {
        EXPECT_EQ(held[static_cast<std::size_t>(alpha)].get<std::int64_t>("total"), 5050 * alpha);
        EXPECT_EQ(held[static_cast<std::size_t>(alpha)].span<std::int32_t>("y")[99], 100 * alpha);
    }
}

TEST(Executable, memory_of_results_that_are_gone_serves_the_next_run) {
    const gf::Executable exe = gf::compile(scale(), on_cpu);
    const auto x = ramp(1, 100);
    const void* first = exe.run({{"x", x}, {"alpha", 1}}).array("y").address;
    EXPECT_EQ(exe.run({{"x", x}, {"alpha", 2}}).array("y").address, first);
}

TEST(Executable, many_threads_run_it_at_once) {
    const gf::Executable exe = gf::compile(scale(), on_cpu);
    std::array<std::int64_t, 8> wrong{};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < wrong.size(); ++t)
        threads.emplace_back([&, t] {
            const auto x = ramp(static_cast<std::int32_t>(t), 500 + t);
            for (int alpha = 1; alpha <= 50; ++alpha) {
                const gf::Results results = exe.run({{"x", x}, {"alpha", alpha}});
                const std::int64_t sum = std::accumulate(x.begin(), x.end(), std::int64_t{0}) * alpha;
                wrong[t] += results.get<std::int64_t>("total") != sum;
                wrong[t] += results.span<std::int32_t>("y").back() != x.back() * alpha;
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, (std::array<std::int64_t, 8>{}));
}

TEST(Executable, an_input_that_no_output_reads_is_bound_all_the_same) {
    gf::Graph g;
    const gf::Dim n = g.dim("n");
    g.output("total", gf::sum(g.input<std::int32_t>("x", {n})));
    g.input<float>("unused", {n});
    const auto x = ramp(1, 3);
    const std::vector<float> unused(3);
    EXPECT_EQ(gf::compile(g, on_cpu).run({{"x", x}, {"unused", unused}}).get<std::int64_t>("total"), 6);
}

TEST(Executable, an_output_gives_a_dim_its_extent_when_no_input_has_it) {
    gf::Graph g;
    const gf::Dim n = g.dim("n");
    g.output("squares", g.index(n) * g.index(n));
    std::vector<std::int64_t> squares(4);
    gf::compile(g, on_cpu).run({}, {{"squares", squares}});
    EXPECT_EQ(squares, (std::vector<std::int64_t>{0, 1, 4, 9}));
}

TEST(Executable, scalars_of_every_kind_of_number_are_bound_by_value) {
    const gf::Executable exe = gf::compile(
        gf::parse(
            "f(x: f32[n], a: f64, b: bool, c: u64, d: f16) -> y = sum(select(b, f64(x) * a + f64(c), 0.0)) + f64(d)"),
        on_cpu);
    const std::vector<float> x{1, 2};
    const auto run = [&](gf::Literal a, gf::Literal c) {
        gf::Bindings bindings{{"x", x}, {"a", 0}, {"b", true}, {"c", 0}, {"d", 0.25}};
        bindings[1].scalar = a;
        bindings[3].scalar = c;
        return exe.run(bindings).get<double>("y");
    };
    EXPECT_EQ(run(0.5, 0), 1.75);
    EXPECT_EQ(run(2, 0), 6.25);
    EXPECT_EQ(run(0, std::uint64_t{1} << 63), 0x1p64);
}

TEST(Prepared, rebinds_one_array_a_scalar_and_several_at_once) {
    const auto x = ramp(1, 4), other = ramp(10, 4), longer = ramp(1, 3000);
    std::vector<std::int32_t> y(3000);
    gf::Prepared prepared = gf::compile(scale(), on_cpu).prepare({{"x", x}, {"alpha", 1}});
    EXPECT_EQ(prepared.run().get<std::int64_t>("total"), 10);
    prepared.rebind("x", other);
    EXPECT_EQ(prepared.run().get<std::int64_t>("total"), 46);
    prepared.rebind("alpha", 2);
    EXPECT_EQ(prepared.run().get<std::int64_t>("total"), 92);
    prepared.rebind({{"x", longer}, {"y", y}});
    EXPECT_EQ(prepared.run().get<std::int64_t>("total"), 3000 * 3001);
    EXPECT_EQ(y[2999], 6000);
}

TEST(Prepared, scalars_of_results_that_are_held_stay_when_it_runs_again) {
    const auto x = ramp(1, 4);
    gf::Prepared prepared = gf::compile(scale(), on_cpu).prepare({{"x", x}, {"alpha", 1}});
    const gf::Results first = prepared.run();
    prepared.rebind("alpha", 5);
    const gf::Results second = prepared.run();
    EXPECT_EQ(first.get<std::int64_t>("total"), 10);
    EXPECT_EQ(second.get<std::int64_t>("total"), 50);
    EXPECT_EQ(first.array("y").address, second.array("y").address);
}

TEST(Prepared, sees_what_its_input_holds_when_it_runs) {
    auto x = ramp(1, 4);
    gf::Prepared prepared = gf::compile(scale(), on_cpu).prepare({{"x", x}, {"alpha", 1}});
    const gf::Results first = prepared.run();
    x[0] = 101;
    EXPECT_EQ(prepared.run().get<std::int64_t>("total"), 110);
    EXPECT_EQ(first.get<std::int64_t>("total"), 10);
}

TEST(Prepared, outlives_its_executable_and_is_moved) {
    const auto x = ramp(1, 4);
    std::vector<gf::Prepared> prepared;
    prepared.push_back(gf::compile(scale(), on_cpu).prepare({{"x", x}, {"alpha", 1}}));
    prepared.push_back(gf::compile(scale(), on_cpu).prepare({{"x", x}, {"alpha", 2}}));
    std::swap(prepared[0], prepared[1]);
    EXPECT_EQ(prepared[0].run().get<std::int64_t>("total"), 20);
    EXPECT_EQ(prepared[1].run().get<std::int64_t>("total"), 10);
}

TEST(Prepared, gives_results_of_what_was_enqueued) {
    const auto x = ramp(1, 4);
    gf::Prepared prepared = gf::compile(scale(), on_cpu).prepare({{"x", x}, {"alpha", 3}});
    prepared.enqueue({});
    EXPECT_EQ(prepared.results().get<std::int64_t>("total"), 30);
}

TEST(Results, list_every_output_in_the_order_of_the_graph) {
    const auto x = ramp(1, 4);
    const gf::Results results = gf::compile(scale(), on_cpu).run({{"x", x}, {"alpha", 1}});
    ASSERT_EQ(results.entries().size(), 2U);
    EXPECT_EQ(results.entries()[0].name, "y");
    EXPECT_TRUE(results.entries()[0].is_array);
    EXPECT_EQ(results.entries()[0].array.extents, gf::Extents({4}));
    EXPECT_EQ(results.entries()[1].name, "total");
    EXPECT_EQ(results.entries()[1].type, gf::DType::i64);
}

TEST(Results, a_masked_out_float_is_nan_and_a_masked_out_integer_is_empty) {
    const gf::Executable exe = gf::compile(
        gf::parse(
            "f(x: f32[n], k: i32[n]) -> a = max(x where x > 100), b = max(k where k > 100), c = sum(k where k > 100)"),
        on_cpu);
    const std::vector<float> x{1, 2};
    const auto k = ramp(1, 2);
    const gf::Results results = exe.run({{"x", x}, {"k", k}});
    EXPECT_NE(results.get<float>("a"), results.get<float>("a"));
    EXPECT_FALSE(results.get_optional<std::int32_t>("b"));
    EXPECT_EQ(results.get_optional<std::int64_t>("c"), 0);
}

TEST(Results, a_select_is_empty_where_what_it_chooses_is) {
    const gf::Graph g = gf::parse("f(k: i32[n]) let least = min(k where k > 100); let none = count(k > 100) == 0; "
                                  "-> chosen = select(none, -1, least), other = select(none, least, -1), "
                                  "asked = select(least > 0, 1, 2), always = select(true, 5, least)");
    const auto k = ramp(1, 2), large = ramp(200, 2);
    for (const bool fuse : {true, false}) {
        const gf::Executable exe = gf::compile(g, {.device = "cpu", .fuse = fuse});
        const gf::Results nothing = exe.run({{"k", k}}), something = exe.run({{"k", large}});
        EXPECT_EQ(nothing.get_optional<std::int32_t>("chosen"), -1);
        EXPECT_FALSE(nothing.get_optional<std::int32_t>("other"));
        EXPECT_FALSE(nothing.get_optional<std::int64_t>("asked"));
        EXPECT_EQ(nothing.get_optional<std::int32_t>("always"), 5);
        EXPECT_EQ(something.get_optional<std::int32_t>("chosen"), 200);
        EXPECT_EQ(something.get_optional<std::int32_t>("other"), -1);
        EXPECT_EQ(something.get_optional<std::int64_t>("asked"), 1);
    }
}

TEST(Options, unfused_runs_give_the_same_bits_in_more_sweeps) {
    const gf::Graph g = gf::parse("z(x: f32[n]) let d = x - mean(x); -> s = sum(d * d), z = d / stddev(x)");
    const gf::Executable fused = gf::compile(g, on_cpu), unfused = gf::compile(g, {.device = "cpu", .fuse = false});
    EXPECT_LT(fused.plan().sweeps.size(), unfused.plan().sweeps.size());
    std::vector<float> x(5000);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0F / static_cast<float>(i + 1);
    const gf::Results a = fused.run({{"x", x}}), b = unfused.run({{"x", x}});
    EXPECT_EQ(a.entries()[0].bits, b.entries()[0].bits);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(a.span<float>("z")[i], b.span<float>("z")[i]) << i;
}

TEST(Options, a_verified_run_gives_what_a_plain_one_gives) {
    const gf::Executable exe = gf::compile(scale(), {.device = "cpu", .verify = true});
    const auto x = ramp(-7, 3000);
    EXPECT_EQ(exe.run({{"x", x}, {"alpha", 3}}).get<std::int64_t>("total"), 3 * (3000 * 2999 / 2 - 7 * 3000));
    EXPECT_NE(exe.explain().find("verify: every run is compared"), std::string::npos);
}

TEST(Comparisons, of_u64_and_signed_integers_are_exact) {
    const gf::Executable exe = gf::compile(
        gf::parse(
            "f(a: i64[n], b: u64[n]) -> lt = a < b, le = a <= b, gt = a > b, ge = a >= b, eq = a == b, ne = a != b, "
            "tl = b < a, el = b <= a, tg = b > a, eg = b >= a, qe = b == a, en = b != a"),
        on_cpu);
    const std::vector<std::int64_t> a{-1, INT64_MAX, INT64_MAX, 0, INT64_MIN, 7};
    const std::vector<std::uint64_t> b{
        ~std::uint64_t{0}, std::uint64_t{1} << 63, INT64_MAX, 0, std::uint64_t{1} << 63, 6};
    const gf::Results r = exe.run({{"a", a}, {"b", b}});
    for (std::size_t i = 0; i < a.size(); ++i) {
        const auto said = [&](const char* name) { return r.span<bool>(name)[i]; };
        EXPECT_EQ(said("lt"), std::cmp_less(a[i], b[i])) << i;
        EXPECT_EQ(said("le"), std::cmp_less_equal(a[i], b[i])) << i;
        EXPECT_EQ(said("gt"), std::cmp_greater(a[i], b[i])) << i;
        EXPECT_EQ(said("ge"), std::cmp_greater_equal(a[i], b[i])) << i;
        EXPECT_EQ(said("eq"), std::cmp_equal(a[i], b[i])) << i;
        EXPECT_EQ(said("ne"), std::cmp_not_equal(a[i], b[i])) << i;
        EXPECT_EQ(said("tl"), std::cmp_less(b[i], a[i])) << i;
        EXPECT_EQ(said("el"), std::cmp_less_equal(b[i], a[i])) << i;
        EXPECT_EQ(said("tg"), std::cmp_greater(b[i], a[i])) << i;
        EXPECT_EQ(said("eg"), std::cmp_greater_equal(b[i], a[i])) << i;
        EXPECT_EQ(said("qe"), std::cmp_equal(b[i], a[i])) << i;
        EXPECT_EQ(said("en"), std::cmp_not_equal(b[i], a[i])) << i;
    }
}

TEST(Explain, says_what_is_read_written_folded_and_why) {
    const gf::Graph g = gf::parse("z(x: f32[n], k: i8[n]) -> z = (x - mean(x)) / stddev(x), c = sum(k)");
    const std::string text = gf::compile(g, on_cpu).explain();
    for (const char* words : {"graph z: 2 results in 2 sweeps", "5*n bytes in, 4*n bytes out", "device cpu",
                              "asked for by name", "sweep 0: domain [n], stage 0", "sweep 1: domain [n], stage 1",
                              "reads:   x (f32[n])", "writes:  z (f32[n]): 4*n bytes", "Moments<f32, f64>", "mean",
                              "order:   version 1: 2048 lanes a block; 1 block up to 10240", "one block per slab"})
        EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
    EXPECT_EQ(text.find("functions:"), std::string::npos) << text;
}

TEST(Explain, says_the_version_of_the_elementary_functions) {
    const std::string text = gf::compile(gf::parse("f(x: f32[n]) -> y = log1p(x)"), on_cpu).explain();
    EXPECT_NE(text.find("functions: version 3\n"), std::string::npos) << text;
}

TEST(Explain, says_why_auto_chose_its_device) {
    const std::string text = gf::compile(scale(), {}).explain();
    EXPECT_NE(text.find("auto: CUDA can"), std::string::npos) << text;
}

TEST(Prepared, a_result_bound_as_an_input_is_not_written_over) {
    const gf::Executable exe =
        gf::compile(gf::parse("f(x: f32[n]) -> y = x * 2.0, z = x - mean(x)"), {.device = "cpu"});
    const std::vector<float> x{1, 2, 3};
    gf::Prepared p = exe.prepare({{"x", x}});
    const gf::Results first = p.run();
    p.rebind("x", first.array("y"));
    const gf::Results second = p.run();
    EXPECT_EQ(second.span<float>("y")[2], 12.0f);
    EXPECT_EQ(second.span<float>("z")[0], -2.0f);
    EXPECT_EQ(first.span<float>("y")[2], 6.0f);
}

} // namespace
