// Many problems in one call: each has the same bits as alone, on the CPU and (as many_cuda_test) on a GPU.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

#include "device/device_under_test.hpp"
#include "emulator/device/emulated.hpp"
#include "error/refusal.hpp"

namespace {

using gf::test::expect_refused;

class Many : public testing::Test {
protected:
    void SetUp() override {
        if (device == "cpu") return;
        if (const std::string reason = gf::cuda_unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
        if (auto* const emulated = gf::emulator::emulated_device()) emulated->reset();
    }
    gf::Executable compile(const char* graph, bool verify = false) const {
        return gf::compile(gf::parse(graph), {.device = device, .verify = verify});
    }
    static std::vector<float> digits(std::size_t n, std::uint32_t seed) {
        std::vector<float> values(n);
        for (float& value : values) {
            seed = seed * 1664525u + 1013904223u;
            value = static_cast<float>(seed >> 8) / 65536.0f - 100.0f;
        }
        return values;
    }
    const std::string device = gf::test::device_under_test;
};

/// Compares results byte for byte.
void expect_same(const gf::Results& one, const gf::Results& of_many, std::size_t problem) {
    ASSERT_EQ(one.entries().size(), of_many.entries().size());
    for (std::size_t i = 0; i < one.entries().size(); ++i) {
        const gf::Results::Entry &a = one.entries()[i], &b = of_many.entries()[i];
        EXPECT_EQ(a.empty, b.empty) << a.name << " of problem " << problem;
        EXPECT_EQ(a.bits, b.bits) << a.name << " of problem " << problem;
        if (!a.is_array) continue;
        ASSERT_EQ(gf::element_count(a.array.extents), gf::element_count(b.array.extents)) << a.name;
        const std::size_t bytes = gf::element_count(a.array.extents) * gf::size_of(a.array.type);
        EXPECT_TRUE(bytes == 0 || std::memcmp(a.array.address, b.array.address, bytes) == 0)
            << a.name << " of problem " << problem;
    }
}

// One block and several, whole and partial slabs, and unaligned arrays.
constexpr std::size_t lengths[]{1, 5, 2048, 10'000, 16'384, 16'385, 40'000, 300'001, 2049, 7};

TEST_F(Many, has_the_bits_of_one_by_one) {
    const gf::Executable exe =
        compile("stats(x: f32[n], limit: f32) -> sum = sum(x), mean = mean(x), spread = stddev(x), least = argmin(x), "
                "hot = count(x > limit), peak = max(x where x < limit)");
    std::vector<std::vector<float>> columns;
    std::vector<gf::Bindings> problems;
    for (std::size_t i = 0; i < std::size(lengths); ++i) {
        columns.push_back(digits(lengths[i] + i % 3, static_cast<std::uint32_t>(i)));
        const auto n = static_cast<std::int64_t>(lengths[i]);
        problems.push_back({{"x", gf::view(columns.back().data() + i % 3, {n})}, {"limit", static_cast<float>(i)}});
    }
    const std::vector<gf::Results> results = exe.run_many(problems);
    ASSERT_EQ(results.size(), problems.size());
    for (std::size_t i = 0; i < problems.size(); ++i) expect_same(exe.run(problems[i]), results[i], i);
}

TEST_F(Many, as_one_graph_over_one_more_dim_has_the_bits_of_one_by_one) {
    const gf::Graph graph =
        gf::parse("stats(x: f32[n], w: f32[n], limit: f32) -> sum = sum(x * w), spread = stddev(x), least = argmin(x), "
                  "low = min(i32(x) where x < limit) + 1, z = (x - mean(x)) * limit, shared = max(w)");
    const gf::Executable alone = gf::compile(graph, {.device = device}),
                         together = gf::compile(gf::batched(graph, "problem", {"x", "limit"}), {.device = device});
    constexpr std::size_t problems = 3;
    const std::vector<float> limits{-200, 0, 50}; // nothing is below the first
    for (const std::size_t n : {std::size_t{1}, std::size_t{100}, std::size_t{2049}, std::size_t{12'289}}) {
        const std::vector<float> x = digits(problems * n, 3), w = digits(n, 4);
        const auto length = static_cast<std::int64_t>(n);
        const gf::Results all =
            together.run({{"x", gf::view(x.data(), {problems, length})}, {"w", w}, {"limit", limits}});
        EXPECT_EQ(all.valid("low")[0], false);
        for (std::size_t p = 0; p < problems; ++p) {
            const gf::Results one =
                alone.run({{"x", gf::view(x.data() + p * n, {length})}, {"w", w}, {"limit", limits[p]}});
            for (std::size_t i = 0; i < one.entries().size(); ++i) {
                const gf::Results::Entry &a = one.entries()[i], &b = all.entries()[i];
                const std::size_t bytes = (a.is_array ? n : 1) * gf::size_of(a.type);
                EXPECT_EQ(std::memcmp(a.is_array ? a.array.address : &a.bits,
                                      static_cast<const char*>(b.array.address) + p * bytes, bytes),
                          0)
                    << a.name << " of problem " << p << " of " << n;
                EXPECT_EQ(a.empty, !all.valid(a.name)[a.is_array ? p * n : p]) << a.name << " of problem " << p;
            }
        }
    }
}

TEST_F(Many, may_have_several_sweeps_and_arrays_as_results) {
    const gf::Executable exe = compile("standardise(x: f32[n]) -> z = (x - mean(x)) / stddev(x), total = sum(x)");
    std::vector<std::vector<float>> columns;
    std::vector<gf::Bindings> problems;
    for (const std::size_t n : lengths) {
        columns.push_back(digits(n, 7));
        problems.push_back({{"x", columns.back()}});
    }
    const std::vector<gf::Results> results = exe.run_many(problems);
    for (std::size_t i = 0; i < problems.size(); ++i) expect_same(exe.run(problems[i]), results[i], i);
}

TEST_F(Many, writes_where_each_problem_says) {
    const gf::Executable exe = compile("twice(x: f32[n]) -> y = x + x, total = sum(x)");
    const std::vector<float> a{1, 2, 3}, b{4, 5};
    std::vector<float> y(5);
    const std::vector<gf::Bindings> problems{{{"x", a}}, {{"x", b}}};
    const std::vector<gf::Bindings> outputs{{{"y", gf::view(y.data(), {3})}}, {{"y", gf::view(y.data() + 3, {2})}}};
    const auto results = exe.run_many(problems, outputs);
    EXPECT_EQ(y, (std::vector<float>{2, 4, 6, 8, 10}));
    EXPECT_EQ(results[1].get<float>("total"), 9);
}

TEST_F(Many, runs_again_with_what_the_arrays_hold_then) {
    const gf::Executable exe = compile("f(x: f32[n]) -> total = sum(x)");
    std::vector<float> a{1, 2}, b(20'000, 1);
    gf::PreparedMany many = exe.prepare_many(std::vector<gf::Bindings>{{{"x", a}}, {{"x", b}}});
    EXPECT_EQ(many.size(), 2u);
    const auto first = many.run();
    a[0] = 5;
    b[0] = 3;
    const auto second = many.run();
    EXPECT_EQ(first[0].get<float>("total"), 3);
    EXPECT_EQ(second[0].get<float>("total"), 7);
    EXPECT_EQ(second[1].get<float>("total"), 20'002);
    many.enqueue({});
    EXPECT_EQ(many.results()[1].get<float>("total"), 20'002);
}

TEST_F(Many, fetches_results_once) {
    const gf::Executable exe = compile("f(x: f32[n]) -> y = x * 2");
    const std::vector<float> a{1, 2};
    std::vector<float> y(2);
    gf::PreparedMany many =
        exe.prepare_many(std::vector<gf::Bindings>{{{"x", a}}}, std::vector<gf::Bindings>{{{"y", y}}});
    many.enqueue({});
    (void)many.results();
    EXPECT_EQ(y[1], 4);
    y[1] = -1; // the caller may write y from here on
    (void)many.results();
    EXPECT_EQ(y[1], -1);
}

TEST_F(Many, results_stay_when_others_are_run) {
    const gf::Executable exe = compile("f(x: f32[n]) -> y = x * 2");
    const std::vector<float> a{1, 2}, b{3};
    const auto first = exe.run_many(std::vector<gf::Bindings>{{{"x", a}}, {{"x", b}}});
    const auto second = exe.run_many(std::vector<gf::Bindings>{{{"x", b}}, {{"x", a}}, {{"x", a}}});
    EXPECT_EQ(first[0].span<float>("y")[1], 4);
    EXPECT_EQ(second[0].span<float>("y")[0], 6);
    EXPECT_EQ(second[2].span<float>("y")[1], 4);
}

// The lists of entries() are made when they are asked for, and their memory is used again.
TEST_F(Many, lists_the_results_of_each_problem_and_run) {
    const gf::Executable exe =
        compile("f(x: f32[n], k: i32) -> y = x * 2, peak_of_the_whole_column = max(x), k2 = k * 2");
    std::vector<float> a{1, 2}, b{3, 4, 5};
    std::vector<float> y(3);
    gf::PreparedMany many = exe.prepare_many(std::vector<gf::Bindings>{{{"x", a}, {"k", 7}}, {{"x", b}, {"k", 8}}});
    const auto expect = [](const gf::Results& results, float peak, std::uint64_t k2, float last) {
        const std::span<const gf::Results::Entry> entries = results.entries();
        ASSERT_EQ(entries.size(), 3u);
        EXPECT_EQ(entries[0].name, "y");
        EXPECT_TRUE(entries[0].is_array);
        EXPECT_EQ(results.to_vector<float>("y").back(), last);
        EXPECT_EQ(entries[0].array.address, results.array("y").address);
        EXPECT_EQ(entries[1].name, "peak_of_the_whole_column");
        float value = 0;
        std::memcpy(&value, &entries[1].bits, sizeof value);
        EXPECT_EQ(value, peak);
        EXPECT_EQ(entries[2].bits, k2);
    };
    const void* listed = nullptr;
    {
        const std::vector<gf::Results> results = many.run();
        expect(results[1], 5, 16, 10);
        listed = results[1].entries().data();
    }
    a[1] = 20;
    b[2] = 50;
    std::vector<gf::Results> held = many.run();
    expect(held[0], 20, 14, 40);
    expect(held[1], 50, 16, 100);
    EXPECT_EQ(held[1].entries().data(), listed);
    const gf::Results one = held[1];
    held.clear();
    many.rebind(1, {{"k", 9}, {"y", y}});
    const std::vector<gf::Results> after = many.run();
    expect(after[1], 50, 18, 100);
    EXPECT_EQ(after[1].array("y").address, y.data());
    EXPECT_EQ(one.entries()[2].bits, 16u);
    EXPECT_NE(one.array("y").address, y.data());
}

TEST_F(Many, of_no_problem_is_nothing) {
    const gf::Executable exe = compile("f(x: f32[n]) -> total = sum(x)");
    EXPECT_TRUE(exe.run_many({}).empty());
    const std::vector<float> none;
    EXPECT_EQ(exe.run_many(std::vector<gf::Bindings>{{{"x", none}}})[0].get<float>("total"), 0);
}

TEST_F(Many, can_be_bound_anew_one_by_one_and_a_refusal_changes_nothing) {
    const gf::Executable exe = compile("f(x: f32[n], k: f32) -> y = x * k, total = sum(x)");
    const std::vector<float> a{1, 2, 3}, b = digits(30'000, 1), c = digits(7, 2);
    std::vector<float> y(3), z(30'000);
    const std::vector<gf::Bindings> outputs{{{"y", y}}, {{"y", z}}};
    gf::PreparedMany many =
        exe.prepare_many(std::vector<gf::Bindings>{{{"x", a}, {"k", 2}}, {{"x", b}, {"k", 3}}}, outputs);
    (void)many.run();
    EXPECT_EQ(y, (std::vector<float>{2, 4, 6}));
    many.rebind(0, "k", 5);
    EXPECT_THROW((void)many.results(), gf::InvalidResult);
    (void)many.run();
    EXPECT_EQ(y, (std::vector<float>{5, 10, 15}));
    // Other extents, bound together; then refused bindings.
    std::vector<float> w(7);
    many.rebind(1, {{"x", c}, {"y", w}});
    const std::vector<gf::Results> right = many.run();
    expect_same(exe.run({{"x", c}, {"k", 3}}), right[1], 1);
    expect_refused<gf::InvalidBinding>([&] { many.rebind(1, "x", a); }, {"problem 1 of 2", "\"n\""});
    expect_refused<gf::InvalidBinding>([&] { many.rebind(1, {{"x", a}, {"y", y}}); }, {"overlaps", "of problem"});
    expect_refused<gf::InvalidBinding>([&] { many.rebind(2, "k", 1); }, {"problem 2", "of 2", "numbered from 0"});
    many.rebind(0, "k", 5); // with the old bindings, not the refused ones
    const std::vector<gf::Results> again = many.run();
    for (std::size_t i = 0; i < right.size(); ++i) expect_same(right[i], again[i], i);
    EXPECT_EQ(w[0], c[0] * 3);
}

TEST_F(Many, can_be_verified) {
    const gf::Executable exe = compile("f(x: f32[n]) -> total = sum(x * x), y = x + 1", true);
    const std::vector<float> a = digits(5000, 1), b = digits(3, 2);
    EXPECT_EQ(exe.run_many(std::vector<gf::Bindings>{{{"x", a}}, {{"x", b}}}).size(), 2u);
}

TEST_F(Many, says_which_problem_is_wrong) {
    const gf::Executable exe = compile("f(x: f32[n], y: f32[n]) -> z = x * y, peak = max(x)");
    const std::vector<float> a{1, 2}, b{3};
    const std::vector<std::int32_t> wrong{1};
    expect_refused<gf::InvalidBinding>(
        [&] {
            exe.run_many(std::vector<gf::Bindings>{{{"x", a}, {"y", a}}, {{"x", a}, {"y", b}}});
        },
        {"problem 1 of 2", "\"n\"", "2", "1"});
    expect_refused<gf::InvalidBinding>(
        [&] {
            exe.run_many(std::vector<gf::Bindings>{{{"x", wrong}, {"y", a}}});
        },
        {"problem 0 of 1", "i32"});
    std::vector<float> z(3);
    const std::vector<gf::Bindings> problems{{{"x", a}, {"y", a}}, {{"x", a}, {"y", a}}};
    expect_refused<gf::InvalidBinding>([&] { exe.run_many(problems, std::vector<gf::Bindings>{{}}); },
                                       {"1 problems", "2 inputs"});
    expect_refused<gf::InvalidBinding>(
        [&] {
            exe.run_many(problems, std::vector<gf::Bindings>{{{"z", gf::view(z.data(), {2})}},
                                                             {{"z", gf::view(z.data() + 1, {2})}}});
        },
        {"z of problem", "overlaps z of problem", "same time"});
    // The executable stays usable.
    EXPECT_EQ(exe.run_many(problems)[1].get<float>("peak"), 2);
    expect_refused<gf::InvalidBinding>([&] { (void)exe.prepare_many({}); }, {"no problem"});
    gf::PreparedMany many = exe.prepare_many(problems);
    expect_refused<gf::InvalidResult>([&] { (void)many.results(); }, {"results() was called"});
}

} // namespace
