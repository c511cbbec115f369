// Reductions that fold some dims on the CPU: rows keep the bits that they have alone, whatever the batch, the threads
// and the way of running; what is empty; results as arrays.
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

#include "error/refusal.hpp"

namespace gf {
namespace {

constexpr const char* rows_text = "rows(x: f32[i, k], m: bool[i, k]) -> s = sum(x over [k]), v = variance(x over [k]), "
                                  "a = argmax(x over [k]), w = mean(x where m over [k])";

std::vector<float> numbers(std::size_t count) {
    std::mt19937 random(7);
    std::vector<float> x(count);
    for (float& value : x) value = static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-20F;
    return x;
}

std::vector<std::uint8_t> mask(std::size_t count) {
    std::mt19937 random(8);
    std::vector<std::uint8_t> m(count);
    for (std::uint8_t& value : m) value = random() % 3 != 0;
    return m;
}

/// The bytes of all array results, one after the other, of the rows [first, first + count).
std::vector<std::byte> bytes_of(const Results& results, std::int64_t first, std::int64_t count) {
    std::vector<std::byte> bytes;
    for (const Results::Entry& entry : results.entries()) {
        const auto* const begin = static_cast<const std::byte*>(entry.array.address);
        const auto size = static_cast<std::int64_t>(size_of(entry.type));
        bytes.insert(bytes.end(), begin + first * size, begin + (first + count) * size);
    }
    return bytes;
}

View bools(const std::vector<std::uint8_t>& m, std::size_t first, std::int64_t rows, std::int64_t length) {
    return {const_cast<std::uint8_t*>(m.data() + first), DType::boolean, Extents{rows, length}, Memory::host, false};
}

TEST(KeptDims, a_row_has_the_bits_that_it_has_alone_in_every_batch) {
    for (const std::int64_t length : {1, 64, 2047, 2048, 2049, 10'241, 24'577}) {
        constexpr std::int64_t batch = 40;
        const auto x = numbers(static_cast<std::size_t>(batch * length));
        const auto m = mask(x.size());
        const Executable one_thread = compile(parse(rows_text), {.device = "cpu", .threads = 1}),
                         threads = compile(parse(rows_text), {.device = "cpu", .threads = 3});
        const auto run = [&](const Executable& exe, std::int64_t first, std::int64_t rows) {
            const auto at = static_cast<std::size_t>(first * length);
            return exe.run({{"x", view(x.data() + at, {rows, length})}, {"m", bools(m, at, rows, length)}});
        };
        const Results all = run(one_thread, 0, batch);
        EXPECT_EQ(bytes_of(run(threads, 0, batch), 0, batch), bytes_of(all, 0, batch)) << length;
        for (const std::int64_t first : {0, 17, 39})
            EXPECT_EQ(bytes_of(run(threads, first, 1), 0, 1), bytes_of(all, first, 1)) << length;
        EXPECT_EQ(bytes_of(run(threads, 5, 3), 0, 3), bytes_of(all, 5, 3)) << length;

        // A whole fold of the row.
        const Executable alone = compile(parse("row(x: f32[k]) -> s = sum(x), v = variance(x)"), {.device = "cpu"});
        const Results row = alone.run({{"x", view(x.data() + 17 * length, {length})}});
        EXPECT_EQ(all.span<float>("s")[17], row.get<float>("s"));
        EXPECT_EQ(all.span<float>("v")[17], row.get<float>("v"));
    }
}

// The order in which lanes combine shows in doubles.
TEST(KeptDims, short_rows_of_doubles_have_the_bits_that_they_have_alone) {
    const Graph graph = parse("rows(x: f64[i, k]) -> s = sum(x over [k]), v = variance(x over [k])");
    const Graph one_row = parse("row(x: f64[k]) -> s = sum(x), v = variance(x)");
    for (const std::int64_t length : {2, 3, 5, 31, 64, 130, 256, 257, 511, 700, 1'000, 1'024}) {
        constexpr std::int64_t batch = 13;
        std::vector<double> x;
        for (const float value : numbers(static_cast<std::size_t>(batch * length))) x.push_back(1.0 / value);
        const Results rows = compile(graph, {.device = "cpu"}).run({{"x", view(x.data(), {batch, length})}});
        for (std::int64_t i = 0; i < batch; ++i) {
            const Results row = compile(one_row, {.device = "cpu"}).run({{"x", view(x.data() + i * length, {length})}});
            EXPECT_EQ(rows.span<double>("s")[static_cast<std::size_t>(i)], row.get<double>("s")) << length;
            EXPECT_EQ(rows.span<double>("v")[static_cast<std::size_t>(i)], row.get<double>("v")) << length;
        }
    }
}

TEST(KeptDims, columns_have_the_same_bits_with_any_number_of_threads_and_as_one_of_many_problems) {
    const Graph graph = parse("c(x: f32[n, k]) -> s = sum(x over [n]), v = variance(x over [n]), y = x + 1");
    for (const auto& [n, k] : {std::pair<std::int64_t, std::int64_t>{20'000, 8}, {9, 5'000}, {3'000, 300}, {1, 1}}) {
        const auto x = numbers(static_cast<std::size_t>(n * k));
        const Bindings bindings{{"x", view(x.data(), {n, k})}};
        const Results expected = compile(graph, {.device = "cpu", .threads = 1}).run(bindings);
        for (const int threads : {2, 3, 7}) {
            const Executable exe = compile(graph, {.device = "cpu", .threads = threads});
            EXPECT_EQ(bytes_of(exe.run(bindings), 0, k), bytes_of(expected, 0, k));
            const std::vector<Results> many = exe.run_many(std::vector<Bindings>(8, bindings));
            for (const Results& results : many) EXPECT_EQ(bytes_of(results, 0, k), bytes_of(expected, 0, k));
        }
    }
}

TEST(KeptDims, a_prepared_runs_at_other_extents) {
    Prepared prepared = compile(parse("c(x: f32[n, k]) -> s = sum(x over [n])"), {.device = "cpu"})
                            .prepare({{"x", view(numbers(6).data(), {2, 3})}});
    const auto x = numbers(20'000 * 9);
    for (const auto& [n, k] : {std::pair<std::int64_t, std::int64_t>{20'000, 9}, {5, 36'000}, {3, 4}}) {
        prepared.rebind("x", view(x.data(), {n, k}));
        const Results again = prepared.run();
        ASSERT_EQ(again.array("s").extents, Extents{k});
        EXPECT_EQ(again.to_vector<float>("s"),
                  compile(parse("c(x: f32[n, k]) -> s = sum(x over [n])"), {.device = "cpu"})
                      .run({{"x", view(x.data(), {n, k})}})
                      .to_vector<float>("s"));
    }
}

TEST(KeptDims, empty_dims_give_identities_or_no_results_or_an_error) {
    const Graph graph = parse("e(x: f32[i, k]) -> s = sum(x over [k]), p = product(x over [k]), m = max(x over [k])");
    const Executable exe = compile(graph, {.device = "cpu"});
    const float none = 0;
    test::expect_refused<InvalidBinding>(
        [&] {
            exe.run({{"x", view(&none, {3, 0})}});
        },
        {"dim \"k\" has extent 0", "max(x) has no value without elements"});
    EXPECT_EQ(exe.run({{"x", view(&none, {0, 5})}}).span<float>("m").size(), 0U);
    EXPECT_EQ(exe.run({{"x", view(&none, {0, 0})}}).span<float>("m").size(), 0U);
    const Results sums =
        compile(parse("e(x: f32[i, k]) -> s = sum(x over [k]), p = product(x over [k])"), {.device = "cpu"})
            .run({{"x", view(&none, {3, 0})}});
    EXPECT_EQ(sums.to_vector<float>("s"), (std::vector<float>{0, 0, 0}));
    EXPECT_EQ(sums.to_vector<float>("p"), (std::vector<float>{1, 1, 1}));
}

TEST(KeptDims, a_result_that_its_mask_leaves_without_elements_is_nan_by_itself) {
    const std::vector<float> x{1, 2, 3, 4};
    const std::vector<std::uint8_t> m{1, 1, 0, 0};
    const Results r =
        compile(parse("e(x: f32[i, k], m: bool[i, k]) -> w = mean(x where m over [k])"), {.device = "cpu"})
            .run({{"x", view(x.data(), {2, 2})}, {"m", bools(m, 0, 2, 2)}});
    EXPECT_EQ(r.span<float>("w")[0], 1.5F);
    EXPECT_NE(r.span<float>("w")[1], r.span<float>("w")[1]);
}

constexpr const char* hollow_text =
    "e(x: i32[i, k]) let low = min(x where x > 5 over [k]); -> low = low, at = argmax(x where x > 5 over [k]), "
    "next = low + 1, chosen = select(low > 7, low, max(x over [k])), half = f64(low) / 2.0, above = x - low, "
    "total = sum(low), low_again = low, filled = min(x where x > 5 over [k], otherwise = -1)";
const std::vector<std::int32_t> hollow{1, 9, 3, 2, 2, 2, 7, 5, 6};

TEST(KeptDims, an_integer_result_that_its_mask_leaves_without_elements_is_empty_by_itself) {
    for (const bool fuse : {true, false}) {
        const Results r = compile(parse(hollow_text), {.device = "cpu", .fuse = fuse, .verify = true})
                              .run({{"x", view(hollow.data(), {3, 3})}});
        const std::vector<bool> some{true, false, true}, all(3, true);
        for (const char* name : {"low", "at", "next", "chosen", "low_again"}) EXPECT_EQ(r.valid(name), some) << name;
        for (const char* name : {"half", "filled"}) EXPECT_EQ(r.valid(name), all) << name;
        EXPECT_EQ(r.to_vector<std::int32_t>("low"), (std::vector<std::int32_t>{9, 0, 6}));
        EXPECT_EQ(r.to_vector<std::int64_t>("at"), (std::vector<std::int64_t>{1, 0, 0}));
        EXPECT_EQ(r.to_vector<std::int32_t>("next"), (std::vector<std::int32_t>{10, 0, 7}));
        EXPECT_EQ(r.to_vector<std::int32_t>("chosen"), (std::vector<std::int32_t>{9, 0, 7}));
        EXPECT_EQ(r.to_vector<std::int32_t>("filled"), (std::vector<std::int32_t>{9, -1, 6}));
        const auto half = r.span<double>("half");
        EXPECT_EQ(half[0], 4.5);
        EXPECT_NE(half[1], half[1]) << "a floating value computed from an empty one is NaN";
        // Broadcast or folded, an empty element counts as 0.
        EXPECT_EQ(r.valid("above"), std::vector<bool>(9, true));
        EXPECT_EQ(r.to_vector<std::int32_t>("above"), (std::vector<std::int32_t>{-8, 0, -6, 2, 2, 2, 1, -1, 0}));
        EXPECT_EQ(r.get<std::int64_t>("total"), 15);
        const View bools = r.valid_array("low");
        EXPECT_EQ(bools.extents, Extents{3});
        EXPECT_EQ(bools.type, DType::boolean);
        EXPECT_FALSE(static_cast<const bool*>(bools.address)[1]);
    }
}

TEST(KeptDims, validity_belongs_to_the_results_of_its_run) {
    const auto other = [] {
        std::vector<std::int32_t> x = hollow;
        x[0] = x[1] = 0, x[3] = 100;
        return x;
    }();
    const std::vector<bool> first{true, false, true}, second{false, true, true};
    const Executable exe = compile(parse(hollow_text), {.device = "cpu"});
    const Results before = exe.run({{"x", view(hollow.data(), {3, 3})}});
    const Results after = exe.run({{"x", view(other.data(), {3, 3})}});
    EXPECT_EQ(before.valid("low"), first);
    EXPECT_EQ(after.valid("low"), second);
    Prepared prepared = exe.prepare({{"x", view(hollow.data(), {3, 3})}});
    EXPECT_EQ(prepared.run().valid("low"), first);
    prepared.rebind("x", view(other.data(), {3, 3}));
    EXPECT_EQ(prepared.run().valid("low"), second);
    // Where the caller binds the elements, the Results own which are there; of many problems, too.
    std::vector<std::int32_t> low(3);
    const std::vector<Bindings> problems{{{"x", view(hollow.data(), {3, 3})}}, {{"x", view(other.data(), {3, 3})}}};
    const std::vector<Results> many = exe.run_many(problems, std::vector<Bindings>{{{"low", low}}, {}});
    EXPECT_EQ(low, (std::vector<std::int32_t>{9, 0, 6}));
    EXPECT_EQ(many[0].valid("low"), first);
    EXPECT_EQ(many[1].valid("low"), second);
}

TEST(KeptDims, otherwise_is_the_result_where_nothing_is_folded) {
    const Graph graph = parse("e(x: i32[i, k]) -> lows = min(x where x > 5 over [k], otherwise = 8), "
                              "whole = max(x where x > 5, otherwise = -3), m = mean(x where x > 5, otherwise = 0.5)");
    const std::int32_t none = 0;
    const Results r = compile(graph, {.device = "cpu"}).run({{"x", view(&none, {2, 0})}});
    EXPECT_EQ(r.to_vector<std::int32_t>("lows"), (std::vector<std::int32_t>{8, 8}));
    EXPECT_EQ(r.get<std::int32_t>("whole"), -3);
    EXPECT_EQ(r.get<double>("m"), 0.5);
    const Results filled = compile(graph, {.device = "cpu"}).run({{"x", view(hollow.data(), {3, 3})}});
    EXPECT_EQ(filled.to_vector<std::int32_t>("lows"), (std::vector<std::int32_t>{9, 8, 6}));
    EXPECT_EQ(filled.get<std::int32_t>("whole"), 9);
    // A mask of true keeps it.
    EXPECT_EQ(compile(parse("e(x: i32[n]) -> m = max(x where bool(true), otherwise = 4)"), {.device = "cpu"})
                  .run({{"x", view(&none, {0})}})
                  .get<std::int32_t>("m"),
              4);
}

TEST(KeptDims, explain_says_what_is_kept_and_the_order) {
    const auto explained = [](const char* text) { return compile(parse(text), {.device = "cpu"}).explain(); };
    const std::string fixed = explained("f(x: f32[n = 100000, k = 256]) -> s = sum(x over [n])");
    EXPECT_NE(fixed.find("keeps:   [k]"), std::string::npos) << fixed;
    EXPECT_NE(fixed.find("1 part, each of 12500 slabs and 256 blocks; a slab has 256 results of 8 lanes"),
              std::string::npos)
        << fixed;
    EXPECT_NE(explained("f(x: f32[n = 2, c = 4398046511104, h = 8589934592]) -> s = sum(x over [n, h])")
                  .find("one sweep visits at most 2^48 elements"),
              std::string::npos);
    EXPECT_NE(explained("f(x: f32[i, k]) -> s = sum(x over [k])").find("the order that its elements have alone"),
              std::string::npos);
}

} // namespace
} // namespace gf
