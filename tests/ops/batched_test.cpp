// batched(): which values vary, what is broadcast, and the dims of all.
#include <gtest/gtest.h>

#include <gridfold/ops/batched.hpp>
#include <gridfold/ops/text.hpp>

namespace gf {
namespace {

/// The batched graph as text, without line breaks.
std::string batched_text(const char* graph, const std::vector<std::string>& names) {
    std::string text = to_text(batched(parse(graph), "b", names));
    for (std::size_t at = 0; (at = text.find("\n    ", at)) != std::string::npos;) text.replace(at, 5, " ");
    return text;
}

TEST(Batched, what_varies_gets_the_dim_in_front_and_whole_folds_keep_it) {
    EXPECT_EQ(
        batched_text("f(x: f32[n], w: f32[n], limit: f32) -> y = x * w, hot = sum(x where x > limit)", {"x", "limit"}),
        "f(x: f32[b, n], w: f32[n], limit: f32[b]) let v0 = x * w; let v1 = x > limit; "
        "let v2 = sum(x where v1 over [n]); -> y = v0, hot = v2");
    EXPECT_EQ(batched_text("f(x: f32[k, i]) -> s = sum(x over [k]), a = argmax(x), n = extent(k)", {"x"}),
              "f(x: f32[b, k, i]) let v0 = sum(x over [k]); let v1 = argmax(x over [k, i]); let v2 = extent(k); "
              "let v3 = index(b); let v4 = v3 >= i64(0); let v5 = select(v4, v2, v2); -> s = v0, a = v1, n = v5");
}

TEST(Batched, dims_keep_their_order_and_extents) {
    const Graph made = batched(parse("f([j = 4, i], x: f32[i, j]) let y = x + 1; -> y = y, p = index(i)"), "b", {"x"});
    ASSERT_EQ(made.dims().size(), 3U);
    EXPECT_EQ(made.dims()[0].name, "b");
    EXPECT_EQ(made.dims()[1].extent, 4);
    EXPECT_EQ(made.dims()[2].name, "i");
    EXPECT_EQ(to_text(parse(to_text(made))), to_text(made));
}

TEST(Batched, the_dim_is_in_front_in_every_order_of_an_output) {
    EXPECT_EQ(batched_text("f(x: f32[i, j], w: f32[i, j]) -> y[j, i] = x * w, z[j, i] = w, s = sum(x)", {"x"}),
              "f(x: f32[b, i, j], w: f32[i, j]) let v0 = x * w; let v1 = sum(x over [i, j]); "
              "let v2 = index(b); let v3 = v2 >= i64(0); let v4 = select(v3, w, w); "
              "-> y[b, j, i] = v0, z[b, j, i] = v4, s = v1");
}

TEST(Batched, shared_values_are_computed_once) {
    EXPECT_EQ(batched_text("f(x: f32[n], w: f32[n]) -> y = x / sum(w)", {"x"}),
              "f(x: f32[b, n], w: f32[n]) let v0 = sum(w); let v1 = x / v0; -> y = v1");
}

TEST(Batched, a_shared_operand_is_broadcast_under_a_mask_that_varies) {
    EXPECT_EQ(
        batched_text("f(x: f32[n], m: bool[n]) -> s = sum(x where m)", {"m"}),
        "f([b, n], x: f32[n], m: bool[b, n]) let v0 = index(b); let v1 = v0 >= i64(0); let v2 = select(v1, x, x); "
        "let v3 = sum(v2 where m over [n]); -> s = v3");
}

TEST(Batched, a_fold_of_a_value_without_dims_folds_one_element) {
    EXPECT_EQ(
        batched_text("f([b_one], a: f32, x: f32[b_one]) -> s = sum(a) + sum(x)", {"a"}),
        "f([b, b_one, b_one_ = 1], a: f32[b], x: f32[b_one]) let v0 = index(b_one_); let v1 = v0 >= i64(0); "
        "let v2 = select(v1, a, a); let v3 = sum(v2 over [b_one_]); let v4 = sum(x); let v5 = v3 + v4; -> s = v5");
}

// An empty operand with the dims of its map makes it empty; broadcast along the batch it would count as 0.
TEST(Batched, what_may_be_empty_varies_where_its_map_does) {
    const std::string text =
        batched_text("f(x: i32[n], a: i32) let low = min(x where x > 9); -> s = low + a, y = x - low", {"a"});
    EXPECT_NE(text.find("a: i32[b]"), std::string::npos) << text;
    EXPECT_NE(text.find("let low = min(v3 where v0 over [n])"), std::string::npos) << text;
    const std::string apart =
        batched_text("f(x: i32[n], y: i32[n]) let low = min(x where x > 9); -> z = y - low", {"y"});
    EXPECT_NE(apart.find("let low = min(x where v0);"), std::string::npos) << apart;
}

TEST(Batched, of_no_varying_input_repeats_the_results) {
    EXPECT_EQ(batched_text("f(x: f32[n]) -> s = sum(x)", {}),
              "f([b, n], x: f32[n]) let v0 = sum(x); let v1 = index(b); let v2 = v1 >= i64(0); "
              "let v3 = select(v2, v0, v0); -> s = v3");
}

} // namespace
} // namespace gf
