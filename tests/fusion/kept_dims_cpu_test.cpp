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
