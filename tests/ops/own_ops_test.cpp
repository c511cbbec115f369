// Users' own maps and reductions: rows, kernels, types, and bits that no build flag changes. This file is compiled with
// -O3 -mfma if the compiler and the machine support it.
#include <cmath>
#include <cstddef>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/core/error.hpp>
#include <gridfold/ops/type_rule.hpp>

#include "error/refusal.hpp"
#include "own_ops.hpp"

// redefined_ops.cpp has other definitions of these.
GRIDFOLD_MAP(defined_twice, 1, same, "a", a)
GRIDFOLD_MAP(defined_with_another_rule, 1, same, "a", a)
#define SOME_NUMBER 3
GRIDFOLD_MAP(times_a_macro, 1, number, "a * SOME_NUMBER", a * T(SOME_NUMBER))
// There it has the same tokens, with other blanks between them.
GRIDFOLD_MAP(spaced_otherwise, 2, number, "a + b, or a + 1", a < b ? a - -b : a + T(1))
GRIDFOLD_REDUCTION(folded_the_same, "the sum",
    static constexpr bool associative_and_commutative = true;
    struct State { A sum; };
    GRIDFOLD_FN static State identity() { return {A(0)}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { s.sum = add(s.sum, convert<A>(x)); }
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.sum = add(s.sum, t.sum); }
    GRIDFOLD_FN static A finalize(const State& s) { return s.sum; })
GRIDFOLD_REDUCTION(folded_twice, "the sum",
    static constexpr bool associative_and_commutative = true;
    struct State { A sum; };
    GRIDFOLD_FN static State identity() { return {A(0)}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { s.sum = add(s.sum, convert<A>(x)); }
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.sum = add(s.sum, t.sum); }
    GRIDFOLD_FN static A finalize(const State& s) { return s.sum; })

namespace {

using gf::DType;

/// R: the result type, or char for bool, whose vector has no array.
template <class R, class T>
std::vector<R> apply(const gf::MapOp& row, const std::vector<T>& a, const std::vector<T>& b = {},
                     const std::vector<T>& c = {}) {
    const gf::MapKernel kernel = (*row.user_kernels)[static_cast<std::size_t>(gf::dtype_of<T>)];
    std::vector<R> out(a.size());
    kernel(out.data(), a.data(), b.data(), c.data(), a.size());
    return out;
}

using gf::cpu::InstructionSet;

/// The instruction sets that this machine has.
std::vector<InstructionSet> sets_of_this_machine() {
    std::vector<InstructionSet> sets{InstructionSet::baseline};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) sets.push_back(InstructionSet::avx2);
    if (sets.size() > 1 && __builtin_cpu_supports("avx512f")) sets.push_back(InstructionSet::avx512);
#endif
    return sets;
}

/// Of a cache: what kernels' memory is aligned to.
struct alignas(64) Line {
    std::byte bytes[64];
};

/// Folds x over lanes, a power of two, combines them, and finalises, with the kernels of each instruction set.
template <class R, class E>
R reduce(const gf::ReduceOp& row, DType accumulator, const std::vector<E>& x, std::size_t lanes) {
    const DType element = gf::dtype_of<E>;
    std::vector<R> results;
    for (const InstructionSet set : sets_of_this_machine()) {
        const gf::cpu::FoldKernels& kernels = *row.monoid->user_kernels(element, accumulator, set);
        EXPECT_EQ(kernels.state_bytes, 4 * static_cast<std::size_t>(row.monoid->state_words(element, accumulator)));
        const std::size_t count = std::min(lanes, kernels.lanes);
        std::vector<Line> states(kernels.lanes * kernels.state_bytes / sizeof(Line) + 1);
        kernels.identity(states.data(), kernels.lanes < gf::cpu::lane_count ? kernels.lanes : count);
        for (std::size_t i = 0; i < x.size(); i += count)
            kernels.fold(states.data(), {.n = std::min(count, x.size() - i),
                                         .rows = 1,
                                         .x = x.data() + i,
                                         .index = static_cast<std::int64_t>(i),
                                         .first_row = static_cast<std::int64_t>(i / count)});
        Line state;
        kernels.finish(states.data(), kernels.lanes < gf::cpu::lane_count ? kernels.lanes : count, &state);
        row.user_finalize(element, accumulator, &state, 0, &results.emplace_back());
    }
    for (const R& result : results) EXPECT_EQ(result, results.front());
    return results.front();
}

TEST(OwnOps, OfANameThatIsTakenAreRefusedAndAtTheStartIgnored) {
    const gf::MapOp other = gf::map_op::softplus;
    EXPECT_THROW(gf::register_op(other), gf::InvalidGraph);
    EXPECT_FALSE(gf::detail::register_at_start(other, other));
    EXPECT_EQ(gf::find_map("softplus"), &gf::map_op::softplus);
    gf::register_op(gf::map_op::softplus); // registering the same row again is allowed
    const gf::ReduceOp reduction = gf::reduce_op::range;
    EXPECT_THROW(gf::register_op(reduction), gf::InvalidGraph);
    EXPECT_FALSE(gf::detail::register_at_start(reduction, reduction.monoid->text));
    EXPECT_EQ(gf::find_reduction("range"), &gf::reduce_op::range);
}

TEST(OwnOps, ThatTwoFilesDefineDifferentlyAreRefused) {
    gf::Graph g;
    const gf::Value x = g.input<float>("x", {g.dim("n")});
    gf::test::expect_refused<gf::InvalidGraph>(
        [&] { gf::defined_twice(x); },
        {"the map defined_twice", "two files", "rename one", "\n    (1, same) a", "\n    (1, same) add(a, a)"});
    gf::test::expect_refused<gf::InvalidGraph>(
        [&] { gf::defined_with_another_rule(x); },
        {"the map defined_with_another_rule", "two files", "\n    (1, same) a", "\n    (1, number) a"});
    gf::test::expect_refused<gf::InvalidGraph>(
        [&] { gf::times_a_macro(x); },
        {"the map times_a_macro", "\n    (1, number) a * T(3)", "\n    (1, number) a * T(4)"});
    gf::test::expect_refused<gf::InvalidGraph>(
        [&] { gf::folded_twice(x); },
        {"the reduction folded_twice", "two files", "in a header", "{ return s.sum; }", "{ return neg(s.sum); }"});
    EXPECT_NO_THROW(gf::range(gf::softplus(x))) << "two files include one definition";
    EXPECT_NO_THROW(gf::folded_the_same(gf::spaced_otherwise(x, x))) << "blanks between tokens mean nothing";
}

TEST(OwnOps, WhoseBlanksSeparateTokensDiffer) {
    const auto is_refused = [&](std::string_view one, std::string_view other) {
        static std::deque<std::string> names; // both outlive the registry's use of them
        static std::deque<gf::MapOp> rows;
        gf::MapOp& made = rows.emplace_back(gf::map_op::softplus);
        made.name = names.emplace_back("blanks_" + std::to_string(names.size()));
        made.expression = one;
        gf::MapOp own = made;
        own.expression = other;
        gf::detail::register_at_start(made, own);
        gf::Graph g;
        const gf::Value x = g.input<float>("x", {g.dim("n")});
        try {
            gf::map(made, {x});
            return false;
        } catch (const gf::InvalidGraph&) {
            return true;
        }
    };
    EXPECT_FALSE(is_refused("a+T(1)", "a + T( 1 )"));
    EXPECT_FALSE(is_refused("a < -a ? a : T(2)", "a<-a?a:T(2)"));
    EXPECT_TRUE(is_refused("a + T(1)", "a + T(2)"));
    EXPECT_TRUE(is_refused("sizeof a", "sizeofa"));
    EXPECT_TRUE(is_refused("a-- - b", "a - --b"));
}

} // namespace

TEST(OwnMap, IsARowLikeAnyOther) {
    EXPECT_EQ(gf::find_map("softplus"), &gf::map_op::softplus);
    EXPECT_EQ(gf::map_op::softplus.expression, "maximum(a, T(0)) + log1p(exp(-abs(a)))");
    EXPECT_EQ(gf::map_op::softplus.builtin, -1);
}

TEST(OwnMap, ComputesInEveryTypeOfItsRule) {
    EXPECT_NEAR(apply<double>(gf::map_op::softplus, std::vector<double>{0.0})[0], std::log(2.0), 1e-15);
    EXPECT_EQ(apply<float>(gf::map_op::softplus, std::vector<float>{1000.0f})[0], 1000.0f);
    EXPECT_EQ(apply<char>(gf::map_op::within, std::vector<int>{1, 2, 3}, {2, 2, 2}, {2, 2, 2}),
              (std::vector<char>{0, 1, 0}));
    EXPECT_EQ(apply<std::uint8_t>(gf::map_op::low_bit, std::vector<std::uint8_t>{12, 128, 0}),
              (std::vector<std::uint8_t>{4, 128, 0}));
}

TEST(OwnMap, HasNoKernelWhereItsExpressionHasNoMeaning) {
    const auto& kernels = *gf::map_op::low_bit.user_kernels;
    EXPECT_EQ(kernels[static_cast<std::size_t>(DType::f32)], nullptr);
    EXPECT_EQ(kernels[static_cast<std::size_t>(DType::f16)], nullptr);
    EXPECT_NE(kernels[static_cast<std::size_t>(DType::i64)], nullptr);
    gf::Graph g;
    const gf::Value x = g.input<float>("x", {g.dim("n")});
    try {
        gf::low_bit(x);
        FAIL();
    } catch (const gf::InvalidGraph& error) {
        EXPECT_NE(std::string(error.what()).find("low_bit(f32): its expression has no meaning for the type"),
                  std::string::npos)
            << error.what();
    }
}

TEST(OwnMap, BuildsGraphsWithValuesAndNumbers) {
    gf::Graph g;
    const gf::Value x = g.input<float>("x", {g.dim("n")});
    EXPECT_EQ(softplus(x).type(), DType::f32); // found by its operand's namespace
    EXPECT_EQ(gf::lerp(x, 1, 0.5).type(), DType::f32);
    EXPECT_EQ(gf::within(x, 0, 1).type(), DType::boolean);
    EXPECT_EQ(gf::range(x).type(), DType::f32);
    EXPECT_EQ(gf::range(x, {.where = x > 0, .accumulate = DType::f64}).type(), DType::f64);
}

TEST(OwnMap, ThatComparesComputesInThePromotedTypeOfAllItsOperands) {
    gf::Graph g;
    const auto n = g.dim("n");
    const gf::Value i = g.input<std::int64_t>("i", {n}), u = g.input<std::uint64_t>("u", {n});
    const auto compute = [&](const gf::Value& value) { return g.node(value.node()).compute; };
    EXPECT_EQ(compute(gf::positive(i)), DType::i64);
    // No integer type holds i64 and u64. The built-in comparisons alone know how to compare by sign first.
    for (const gf::Value& value : {gf::closer(i, u), gf::closer(u, i), gf::within(i, u, 5), gf::within(u, 0, i)}) {
        EXPECT_EQ(g.node(value.node()).kind, gf::NodeKind::map);
        EXPECT_EQ(compute(value), DType::f64);
    }
    EXPECT_EQ(g.node(gf::closer(u, i).node()).map, &gf::map_op::closer);
    EXPECT_EQ(g.operands(gf::within(i, u, 5).node()).size(), 3u);
}

TEST(OwnOps, KeepTheirBitsUnderContractingFlags) {
    // a + (b − a)·c and s + v·v differ in the last place if the product is not rounded.
    const std::vector<float> a(37, -1 - 0x1p-11f), b(37, -0x1p-12f), c(37, 1 + 0x1p-12f);
    volatile float difference = b[0] - a[0];
    volatile float product = difference * c[0];
    volatile float sum = a[0] + product;
    ASSERT_NE(sum, std::fmaf(difference, c[0], a[0])) << "the data would not notice contraction";
    for (const float x : apply<float>(gf::map_op::lerp, a, b, c)) EXPECT_EQ(x, sum);

    double v = 1.1;
    const auto rounded_twice = [&v] {
        volatile double square = v * v;
        return 1 + square;
    };
    while (rounded_twice() == std::fma(v, v, 1.0)) v += 0.1; // finds a v for which contraction changes the result
    EXPECT_EQ((reduce<double>(gf::reduce_op::mean_of_squares, DType::f64, std::vector<double>{1.0, v}, 1)),
              rounded_twice() / 2);
}

TEST(OwnReduction, FoldsCombinesAndFinalises) {
    std::vector<std::int32_t> x(10000);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int32_t>(i * 7919 % 10007);
    const auto [low, high] = std::minmax_element(x.begin(), x.end());
    for (const std::size_t lanes : {std::size_t{1}, std::size_t{4}, std::size_t{2048}}) {
        EXPECT_EQ((reduce<std::int64_t>(gf::reduce_op::range, DType::i64, x, lanes)), *high - *low);
        EXPECT_EQ((reduce<double>(gf::reduce_op::range, DType::f64, x, lanes)), *high - *low);
    }
}

TEST(OwnReduction, SkipsWhatItsMaskSays) {
    const float x[]{5, 100, 2, 9, 8, 8, -3, 8};
    const bool mask[]{true, false, true, true, true, true, false, true};
    for (const InstructionSet set : sets_of_this_machine()) {
        const auto& kernels = *gf::reduce_op::range.monoid->user_kernels(DType::f32, DType::f32, set);
        std::vector<Line> lanes(kernels.lanes * kernels.state_bytes / sizeof(Line));
        kernels.identity(lanes.data(), kernels.lanes);
        kernels.fold(lanes.data(), {.n = 4, .rows = 2, .x = x, .x_row = 16, .mask = mask, .mask_row = 4});
        float state[2];
        kernels.finish(lanes.data(), kernels.lanes, state);
        EXPECT_EQ(state[0], 2);
        EXPECT_EQ(state[1], 9);
    }
}

TEST(OwnReduction, KeepsTheLanesThatItsStructDeclares) {
    const auto lanes = [](const gf::ReduceOp& row) {
        return row.monoid->user_kernels(DType::f32, DType::f32, InstructionSet::baseline)->lanes;
    };
    EXPECT_EQ(lanes(gf::reduce_op::mean_of_squares), gf::cpu::lane_count);
    EXPECT_LT(lanes(gf::reduce_op::range), gf::cpu::lane_count);
}

TEST(OwnReduction, FoldsAsItsStructDeclares) {
    using gf::reduce_op::range, gf::reduce_op::mean_of_squares;
    const gf::FoldTraits one = range.monoid->traits(DType::f32, DType::f32, false);
    EXPECT_TRUE(one.joins);
    EXPECT_TRUE(one.shifts);
    EXPECT_EQ(one.thread_words(4), 2);
    EXPECT_TRUE(range.monoid->traits(DType::f32, DType::f32, true).joins);
    const gf::FoldTraits many = mean_of_squares.monoid->traits(DType::f32, DType::f32, false);
    EXPECT_FALSE(many.joins);
    EXPECT_FALSE(many.shifts);
    EXPECT_EQ(many.thread_words(4), 16);
    // Only declared functions are detected.
    for (const gf::FoldTraits& traits : {one, many})
        EXPECT_FALSE(traits.in_steps || traits.in_packs || traits.of_block);
}

TEST(OwnReduction, SaysItsTypesAndWhatNothingIs) {
    EXPECT_EQ(gf::reduce_op::range.on_empty, gf::OnEmpty::undefined);
    EXPECT_EQ(gf::reduce_op::mean_of_squares.on_empty, gf::OnEmpty::value);
    const auto typing = [](const gf::ReduceOp& row, DType element, std::optional<DType> chosen = {}) {
        return gf::reduce_typing(row, {&element, 1}, chosen);
    };
    EXPECT_EQ(typing(gf::reduce_op::range, DType::u8).accumulator, DType::u64);
    EXPECT_EQ(typing(gf::reduce_op::mean_of_squares, DType::u8).accumulator, DType::f64);
    EXPECT_EQ(typing(gf::reduce_op::range, DType::u8, DType::u64).result, DType::u64);
    EXPECT_EQ(typing(gf::reduce_op::mean_of_squares, DType::f16, DType::f32).result, DType::f32);
    const std::string_view text = gf::monoid_source(*gf::reduce_op::range.monoid);
    EXPECT_TRUE(text.starts_with("template <class E, class A> struct monoid_range {"));
    EXPECT_NE(text.find("GRIDFOLD_FN static State identity()"), std::string_view::npos)
        << "the device's own mark is expanded there";
}
