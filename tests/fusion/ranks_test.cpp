// The largest elements, by rank and side by side (top_k), on the CPU and (as ranks_cuda_test) on a GPU: of every type,
// of rows and columns, under a mask; where there are fewer elements; what is refused.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

#include "device/on_device.hpp"
#include "error/refusal.hpp"

namespace {

using gf::test::expect_refused;

class Ranks : public gf::test::OnDevice {};

template <class T> std::vector<T> drawn(std::size_t count) {
    std::mt19937_64 random(count);
    std::vector<T> x(count);
    for (T& value : x) value = static_cast<T>(static_cast<std::int64_t>(random() % 2000) - 1000);
    return x;
}

template <class T> class RanksOf : public Ranks {};
using Types = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                             std::uint32_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(RanksOf, Types);

TYPED_TEST(RanksOf, the_largest_of_a_vector_fall) {
    const auto type = std::string(gf::to_text(gf::dtype_of<TypeParam>));
    const gf::Executable exe = this->compile("f([n, rank = 16], x: " + type +
                                             "[n]) -> top = top_k(x, rank), "
                                             "second = largest(x, rank = 1), first = max(x)");
    for (const std::size_t count : {16U, 17U, 1000U, 2048U, 10'241U, 40'000U}) {
        std::vector<TypeParam> x = drawn<TypeParam>(count);
        const gf::Results r = exe.run({{"x", x}});
        std::ranges::sort(x, std::greater());
        EXPECT_EQ(r.to_vector<TypeParam>("top"), std::vector<TypeParam>(x.begin(), x.begin() + 16)) << count;
        EXPECT_EQ(r.get<TypeParam>("second"), x[1]);
        EXPECT_EQ(r.get<TypeParam>("first"), x[0]);
    }
}

TEST_F(Ranks, of_rows_and_columns_keep_the_other_dims) {
    constexpr std::int64_t rows = 37, columns = 300;
    const std::vector<std::int32_t> x = drawn<std::int32_t>(rows * columns);
    for (const bool fuse : {true, false}) {
        const gf::Results r =
            compile("f([i, k, rank = 3], x: i32[i, k]) -> of_rows = top_k(x, rank over [k]), "
                    "of_columns[rank, k] = top_k(x, rank over [i]), odd = top_k(x, rank where x % 2 != 0 over [k])",
                    fuse)
                .run({{"x", gf::view(x.data(), {rows, columns})}});
        const auto of_rows = r.to_vector<std::int32_t>("of_rows"), of_columns = r.to_vector<std::int32_t>("of_columns"),
                   odd = r.to_vector<std::int32_t>("odd");
        for (std::int64_t i = 0; i < rows; ++i) {
            std::vector<std::int32_t> row(x.begin() + i * columns, x.begin() + (i + 1) * columns);
            std::ranges::sort(row, std::greater());
            EXPECT_TRUE(std::equal(row.begin(), row.begin() + 3, of_rows.begin() + 3 * i)) << i;
            std::erase_if(row, [](std::int32_t value) { return value % 2 == 0; });
            EXPECT_TRUE(std::equal(row.begin(), row.begin() + 3, odd.begin() + 3 * i)) << i;
        }
        for (std::int64_t k = 0; k < columns; ++k) {
            std::vector<std::int32_t> column;
            for (std::int64_t i = 0; i < rows; ++i) column.push_back(x[static_cast<std::size_t>(i * columns + k)]);
            std::ranges::sort(column, std::greater());
            for (std::int64_t rank = 0; rank < 3; ++rank)
                EXPECT_EQ(of_columns[static_cast<std::size_t>(rank * columns + k)],
                          column[static_cast<std::size_t>(rank)]);
        }
    }
}

TEST_F(Ranks, are_empty_where_there_are_fewer_elements) {
    const std::vector<std::int64_t> x{5, -3, 9, 7};
    for (const bool fuse : {true, false}) {
        const gf::Results r =
            compile("f([n, rank = 6], x: i64[n]) -> all = top_k(x, rank), "
                    "some = top_k(x, rank where x > 6), none = top_k(x, rank where x > 60), "
                    "reals = top_k(f32(x), rank where x > 6), padded = top_k(x, rank, otherwise = -1), "
                    "third = largest(x, rank = 2 where x > 6), fifth = largest(f64(x), rank = 4)",
                    fuse)
                .run({{"x", x}});
        EXPECT_EQ(r.valid("all"), (std::vector<bool>{true, true, true, true, false, false}));
        EXPECT_EQ(r.to_vector<std::int64_t>("all")[3], -3);
        EXPECT_EQ(r.valid("some"), (std::vector<bool>{true, true, false, false, false, false}));
        EXPECT_EQ(r.valid("none"), std::vector<bool>(6, false));
        const std::vector<float> reals = r.to_vector<float>("reals");
        EXPECT_EQ(reals[1], 7);
        EXPECT_TRUE(std::isnan(reals[2]));
        EXPECT_EQ(r.to_vector<std::int64_t>("padded"), (std::vector<std::int64_t>{9, 7, 5, -3, -1, -1}));
        EXPECT_EQ(r.get_optional<std::int64_t>("third"), std::nullopt);
        EXPECT_TRUE(std::isnan(r.get<double>("fifth")));
    }
    const gf::Results none = compile("f([n, rank = 2], x: i64[n]) -> y = top_k(x, rank, otherwise = -1)")
                                 .run({{"x", gf::view(x.data(), {0})}});
    EXPECT_EQ(none.to_vector<std::int64_t>("y"), (std::vector<std::int64_t>{-1, -1}));
    // What is chosen is empty where it is broadcast, too.
    for (const bool fuse : {true, false}) {
        const gf::Results chosen = compile("f(x: i64[n]) -> y = choose(max(x) > 100, x, min(x where x > 60)), z = "
                                           "choose(x > 6, min(x where x > 60), x)",
                                           fuse)
                                       .run({{"x", x}});
        EXPECT_EQ(chosen.valid("y"), std::vector<bool>(4, false));
        EXPECT_EQ(chosen.valid("z"), (std::vector<bool>{true, true, false, false}));
    }
    // A row shorter than the ranks; a map of what is empty is empty.
    const gf::Results rows = compile("f([i, k, rank = 3], x: i64[i, k]) -> y = top_k(x, rank over [k]) * 2")
                                 .run({{"x", gf::view(x.data(), {2, 2})}});
    EXPECT_EQ(rows.valid("y"), (std::vector<bool>{true, true, false, true, true, false}));
    EXPECT_EQ(rows.to_vector<std::int64_t>("y")[3], 18);
}

TEST_F(Ranks, nan_comes_first_and_negative_zero_after_zero) {
    const std::vector<float> x{-0.0F, 1, 0.0F, std::numeric_limits<float>::quiet_NaN(),
                               -std::numeric_limits<float>::infinity()};
    const auto top = compile("f([n, rank = 5], x: f32[n]) -> y = top_k(x, rank)").run({{"x", x}}).to_vector<float>("y");
    EXPECT_TRUE(std::isnan(top[0]));
    EXPECT_EQ(top[1], 1);
    EXPECT_TRUE(top[2] == 0 && !std::signbit(top[2]));
    EXPECT_TRUE(top[3] == 0 && std::signbit(top[3]));
    EXPECT_EQ(top[4], -std::numeric_limits<float>::infinity());
    const std::vector<double> minus{-std::numeric_limits<double>::quiet_NaN(), 3};
    EXPECT_TRUE(std::isnan(compile("f(x: f64[n]) -> y = largest(x)").run({{"x", minus}}).get<double>("y")));
}

TEST_F(Ranks, are_printed_and_parsed_and_batched) {
    gf::Graph g;
    const gf::Dim n = g.dim("n"), rank = g.dim("rank", 2);
    const gf::Value x = g.input<float>("x", {n});
    g.output("top", gf::top_k(x, rank, {.where = x < 10}));
    g.output("second", gf::largest(x, {.rank = 1}));
    EXPECT_NE(gf::to_text(g).find("largest(x, rank = 1)"), std::string::npos);
    EXPECT_EQ(gf::to_text(gf::parse(gf::to_text(g))), gf::to_text(g));
    const std::vector<float> data{1, 2, 30, 4, 50, 3};
    const gf::Results r =
        gf::compile(gf::batched(g, "b", {"x"}), {.device = device}).run({{"x", gf::view(data.data(), {2, 3})}});
    EXPECT_EQ(r.to_vector<float>("top"), (std::vector<float>{2, 1, 4, 3}));
    EXPECT_EQ(r.to_vector<float>("second"), (std::vector<float>{2, 4}));
}

TEST_F(Ranks, of_one_operand_are_one_fold_and_a_count) {
    const gf::Plan plan = gf::fuse(gf::parse("f([n, rank = 16], x: f32[n], m: bool[n]) -> y = top_k(x, rank), "
                                             "z = top_k(x, rank where m)"));
    EXPECT_EQ(plan.sweeps[gf::plan::SweepId(0)].folds.size(), 4);
}

TEST_F(Ranks, need_a_dim_of_their_own) {
    gf::Graph g, other;
    const gf::Dim n = g.dim("n"), open = g.dim("open"), many = g.dim("many", 17), five = other.dim("five", 5);
    const gf::Value x = g.input<float>("x", {n});
    const int before = g.node_count();
    expect_refused<gf::InvalidGraph>([&] { gf::top_k(x, n); }, {"top_k along 'n'", "x (f32[n]) has that dim", "rank"});
    expect_refused<gf::InvalidGraph>([&] { gf::top_k(x, open); },
                                     {"top_k along 'open'", "a fixed extent from 1 to 16, and this has none"});
    expect_refused<gf::InvalidGraph>([&] { gf::top_k(x, many); }, {"from 1 to 16, and this has 17"});
    expect_refused<gf::InvalidGraph>([&] { gf::top_k(x, five); }, {"of the value's graph"});
    expect_refused<gf::InvalidGraph>([&] { gf::top_k(gf::Value(), n); }, {"the operand of top_k"});
    expect_refused<gf::InvalidGraph>([&] { gf::largest(x, {.rank = 16}); }, {"largest with rank 16", "from 0 to 15"});
    expect_refused<gf::InvalidGraph>([&] { gf::largest(x, {.rank = -1}); }, {"largest with rank -1"});
    expect_refused<gf::InvalidGraph>([&] { gf::max(x, {.rank = 1}); }, {"max with rank 1", "only largest"});
    EXPECT_EQ(g.node_count(), before);
    expect_refused<gf::InvalidGraph>([] { gf::parse("f(x: f32[n]) -> y = top_k(x, 5)"); }, {"a dim's name"});
    expect_refused<gf::InvalidGraph>([] { gf::parse("f([r = 2], x: f32[n]) -> y = top_k(x)"); },
                                     {"the dim of the ranks"});
}

} // namespace
