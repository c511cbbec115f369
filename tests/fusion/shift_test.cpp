// Values moved along a dim: what is outside, chains of moves, what moves, and what each is a part of; on the CPU and
// (as shift_cuda_test) on a GPU.
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

#include "device/on_device.hpp"
#include "error/refusal.hpp"

namespace {

using Numbers = std::vector<std::int32_t>;

class Shift : public gf::test::OnDevice {
protected:
    /// The result y of an expression over x: i32[n], fused and not.
    static void expect(const std::string& expression, const Numbers& x, const Numbers& y) {
        for (const bool fuse : {true, false}) {
            const gf::Executable exe = compile("f(x: i32[n]) -> y = " + expression, fuse);
            EXPECT_EQ(exe.run({{"x", x}}).to_vector<std::int32_t>("y"), y) << expression << ", fused: " << fuse;
        }
    }
};

TEST_F(Shift, outside_of_the_dim_is_what_the_edge_says) {
    const Numbers x{1, 2, 3, 4};
    expect("shift(x, n, -1, edge = 9)", x, {9, 1, 2, 3});
    expect("shift(x, n, 1, edge = -9)", x, {2, 3, 4, -9});
    expect("shift(x, n, -2, edge = clamp)", x, {1, 1, 1, 2});
    expect("shift(x, n, 2, edge = clamp)", x, {3, 4, 4, 4});
    expect("shift(x, n, -1, edge = wrap)", x, {4, 1, 2, 3});
    expect("shift(x, n, 3, edge = wrap)", x, {4, 1, 2, 3});
    expect("shift(x, n, 0, edge = 9)", x, x);
}

TEST_F(Shift, may_be_longer_than_the_dim) {
    const Numbers x{1, 2, 3};
    for (const std::int64_t far : {std::int64_t{3}, std::int64_t{7}, std::int64_t{1} << 48}) {
        expect(fmt::format("shift(x, n, {}, edge = 9)", far), x, {9, 9, 9});
        expect(fmt::format("shift(x, n, -{}, edge = 9)", far), x, {9, 9, 9});
        expect(fmt::format("shift(x, n, {}, edge = clamp)", far), x, {3, 3, 3});
        expect(fmt::format("shift(x, n, -{}, edge = clamp)", far), x, {1, 1, 1});
    }
    expect("shift(x, n, 7, edge = wrap)", x, {2, 3, 1});
    expect("shift(x, n, -7, edge = wrap)", x, {3, 1, 2});
    expect("shift(x, n, -1, edge = wrap)", {5}, {5});
    for (const char* edge : {"0", "clamp", "wrap"}) expect(fmt::format("shift(x, n, -1, edge = {})", edge), {}, {});
}

TEST_F(Shift, of_a_shift_goes_on_from_there) {
    const Numbers x{1, 2, 3, 4};
    const char* const chains[][2] = {{"-1, edge = 9", "1, edge = 8"},        {"-1, edge = clamp", "1, edge = clamp"},
                                     {"2, edge = clamp", "1, edge = clamp"}, {"-1, edge = wrap", "2, edge = 7"},
                                     {"-1, edge = wrap", "1, edge = wrap"},  {"3, edge = clamp", "-2, edge = wrap"},
                                     {"1, edge = 0", "1, edge = 5"}};
    for (const auto& [inner, outer] : chains) {
        // Step by step, through memory.
        const auto moved = [&](const Numbers& from, const char* how) {
            return compile(fmt::format("f(x: i32[n]) -> y = shift(x, n, {})", how))
                .run({{"x", from}})
                .to_vector<std::int32_t>("y");
        };
        expect(fmt::format("shift(shift(x, n, {}), n, {})", inner, outer), x, moved(moved(x, inner), outer));
    }
}

TEST_F(Shift, of_a_map_is_the_map_of_what_is_shifted) {
    expect("shift(x * x + i32(index(n)), n, -1, edge = 0) - x", {1, 2, 3}, {-1, -1, 2});
    expect("shift(x + shift(x, n, 1, edge = 0), n, -1, edge = 100)", {1, 2, 3}, {100, 3, 5});
    expect("i32(shift(index(n), n, 2, edge = wrap)) * 10 + i32(shift(index(n), n, 2, edge = clamp))", {0, 0, 0},
           {22, 2, 12});
    // The difference of an array that is longer than a slab, in one sweep.
    Numbers x(5001), y(5001);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int32_t>(i * i % 1013);
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] - (i == 0 ? 0 : x[i - 1]);
    expect("x - shift(x, n, -1, edge = 0)", x, y);
    EXPECT_EQ(gf::fuse(gf::parse("f(x: f32[n]) let d = x - shift(x, n, -1, edge = 0); -> d = d, s = sum(abs(d))"))
                  .sweeps.size(),
              1U);
}

TEST_F(Shift, is_folded_like_any_value) {
    const gf::Executable exe = compile(
        "f(x: i32[i, j]) -> s = sum(x * shift(x, j, -1, edge = 0)), "
        "rows = sum(x - shift(x, j, -1, edge = 0) over [j]), columns = max(shift(x, i, 1, edge = -5) over [i]), "
        "hot = count(x > 0 where shift(x > 2, j, 1, edge = false) over [j])");
    const Numbers x{1, 2, 3, 4, 5, 6};
    const gf::Results r = exe.run({{"x", gf::view(x.data(), {2, 3})}});
    EXPECT_EQ(r.get<std::int64_t>("s"), 2 + 6 + 20 + 30);
    EXPECT_EQ(r.to_vector<std::int64_t>("rows"), (std::vector<std::int64_t>{3, 6}));
    EXPECT_EQ(r.to_vector<std::int32_t>("columns"), (Numbers{4, 5, 6}));
    EXPECT_EQ(r.to_vector<std::int64_t>("hot"), (std::vector<std::int64_t>{1, 2}));
}

// A sweep reads x both in order and moved, along the folded dim and along the kept one.
TEST_F(Shift, stands_beside_the_array_itself_in_rows_of_any_length) {
    const gf::Executable exe = compile("f(x: i32[i, k]) let d = x - shift(x, k, -1, edge = 7); "
                                       "-> d = d, up = x - shift(x, i, 1, edge = wrap), s = sum(d * x over [k])");
    for (const auto& [rows, length] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {5, 6}, {3, 300}, {4, 5000}, {3, 5001}, {3, 20'000}, {2, 70'003}}) {
        const std::size_t n = std::size_t(rows * length), each = std::size_t(length);
        Numbers x(n), d(n), up(n);
        std::vector<std::int64_t> sums(std::size_t(rows), 0);
        for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<std::int32_t>(i * i % 1013);
        for (std::size_t i = 0; i < n; ++i) {
            d[i] = x[i] - (i % each == 0 ? 7 : x[i - 1]);
            up[i] = x[i] - x[(i + each) % n];
            sums[i / each] += std::int64_t{d[i]} * x[i];
        }
        const gf::Results r = exe.run({{"x", gf::view(x.data(), {rows, length})}});
        EXPECT_EQ(r.to_vector<std::int32_t>("d"), d) << rows << " of " << length;
        EXPECT_EQ(r.to_vector<std::int32_t>("up"), up) << rows << " of " << length;
        EXPECT_EQ(r.to_vector<std::int64_t>("s"), sums) << rows << " of " << length;
    }
}

TEST_F(Shift, of_the_results_of_a_fold_and_of_which_are_empty) {
    const gf::Executable exe =
        compile("f(x: i32[i, j]) let low = min(x where x < 0 over [j]); "
                "-> before = shift(low, i, -1, edge = 7), twice = shift(low * 2, i, 1, edge = wrap), "
                "above = x - shift(sum(x over [j]), i, -1, edge = 0)");
    const Numbers x{1, -2, 3, 4, -5, 6};
    const gf::Results r = exe.run({{"x", gf::view(x.data(), {3, 2})}});
    EXPECT_EQ(r.valid("before"), (std::vector<bool>{true, true, false}));
    EXPECT_EQ(r.span<std::int32_t>("before")[0], 7);
    EXPECT_EQ(r.span<std::int32_t>("before")[1], -2);
    EXPECT_EQ(r.valid("twice"), (std::vector<bool>{false, true, true}));
    EXPECT_EQ(r.span<std::int32_t>("twice")[1], -10);
    EXPECT_EQ(r.span<std::int32_t>("twice")[2], -4);
    EXPECT_EQ(r.to_vector<std::int64_t>("above"), (std::vector<std::int64_t>{1, -2, 4, 5, -12, -1}));
}

TEST_F(Shift, of_arrays_in_any_order_with_strides_and_as_output_in_another) {
    const char* const text =
        "f([i, j], x: i32[j, i], w: i32[i, j]) -> y[j, i] = shift(x, j, 1, edge = wrap) * 10 + shift(w, i, "
        "-1, edge = clamp)";
    const gf::Executable exe = compile(text);
    constexpr std::int64_t rows = 40, columns = 70;
    Numbers x(rows * columns), w(x), y(x);
    for (std::size_t k = 0; k < x.size(); ++k)
        x[k] = static_cast<std::int32_t>(k * 7 % 101), w[k] = static_cast<std::int32_t>(k * 3 % 97);
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j)
            y[static_cast<std::size_t>(j * rows + i)] = x[static_cast<std::size_t>((j + 1) % columns * rows + i)] * 10 +
                                                        w[static_cast<std::size_t>((i == 0 ? 0 : i - 1) * columns + j)];
    const gf::Results r =
        exe.run({{"x", gf::view(x.data(), {columns, rows})}, {"w", gf::view(w.data(), {rows, columns})}});
    EXPECT_EQ(r.to_vector<std::int32_t>("y"), y);
    // x as the transposed view of its transposed copy.
    Numbers across(x.size());
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j)
            across[static_cast<std::size_t>(i * columns + j)] = x[static_cast<std::size_t>(j * rows + i)];
    const gf::Results strided = exe.run(
        {{"x", gf::view(across.data(), {columns, rows}, {1, columns})}, {"w", gf::view(w.data(), {rows, columns})}});
    EXPECT_EQ(strided.to_vector<std::int32_t>("y"), y);
}

TEST_F(Shift, of_many_problems_and_of_batches) {
    const gf::Graph one =
        gf::parse("f(x: i32[n]) -> y = x - shift(x, n, -1, edge = wrap), s = sum(shift(x, n, 2, edge = 1))");
    const gf::Executable exe = gf::compile(one, {.device = device});
    const gf::Executable batch = gf::compile(gf::batched(one, "b", {"x"}), {.device = device});
    const Numbers x{1, 2, 4, 8, 16, 32};
    const std::vector<gf::Bindings> problems{{{"x", gf::view(x.data(), {3})}}, {{"x", gf::view(x.data() + 3, {3})}}};
    const std::vector<gf::Results> all = exe.run_many(problems);
    const gf::Results together = batch.run({{"x", gf::view(x.data(), {2, 3})}});
    EXPECT_EQ(all[0].to_vector<std::int32_t>("y"), (Numbers{-3, 1, 2}));
    EXPECT_EQ(all[1].to_vector<std::int32_t>("y"), (Numbers{-24, 8, 16}));
    EXPECT_EQ(all[1].get<std::int64_t>("s"), 32 + 1 + 1);
    EXPECT_EQ(together.to_vector<std::int32_t>("y"), (Numbers{-3, 1, 2, -24, 8, 16}));
    EXPECT_EQ(together.to_vector<std::int64_t>("s"), (std::vector<std::int64_t>{6, 34}));
}

TEST_F(Shift, is_not_written_over_what_it_reads) {
    Numbers x{1, 2, 3};
    const Numbers before = x;
    const gf::Executable exe = compile("f(x: i32[n]) -> y = x - shift(x, n, -1, edge = 0)");
    gf::test::expect_refused<gf::InvalidBinding>(
        [&] {
            exe.run({{"x", x}}, {{"y", x}});
        },
        {"output \"y\"", "overlaps input \"x\"", "bind an array of its own"});
    EXPECT_EQ(x, before);
}

TEST_F(Shift, in_cpp_is_the_text_form) {
    gf::Graph g("f");
    const auto n = g.dim("n");
    const auto x = g.input<float>("x", {n});
    g.output("d", x - gf::shift(x, n, -1, gf::edge::value(0)));
    const auto next = gf::shift(x, n, 1, gf::edge::clamp), over_next = gf::shift(x, n, 2, gf::edge::wrap);
    g.output("c", next + over_next);
    EXPECT_EQ(gf::to_text(g), gf::to_text(gf::parse("f(x: f32[n]) -> d = x - shift(x, n, -1, edge = 0), "
                                                    "c = shift(x, n, 1, edge = clamp) + shift(x, n, 2, edge = wrap)")));
    EXPECT_EQ(gf::to_text(g), "f(x: f32[n])\n    let v0 = shift(x, n, -1, edge = 0.0);\n    let v1 = x - v0;\n"
                              "    let v2 = shift(x, n, 1, edge = clamp);\n    let v3 = shift(x, n, 2, edge = wrap);\n"
                              "    let v4 = v2 + v3;\n    -> d = v1, c = v4");
}

} // namespace
