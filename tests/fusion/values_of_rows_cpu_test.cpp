// Maps of elements by a value of their row on the CPU, which take it as one number for all elements of a row: the bits
// of a loop, whatever the rows' length and the value's type.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

#include "fusion/chains.hpp"

namespace gf {
namespace {

using test::numbers;

struct Shape {
    std::int64_t i, j, k;
    std::int64_t row() const { return j * k; }
};

constexpr Shape shapes[] = {{3, 4, 40}, {5, 1, 70}, {1'001, 1, 3}, {7, 33, 1}, {2, 1, 30'000}, {300, 2, 31}, {1, 3, 9}};

/// `text` of x: f32[i, j, k] and w: f32[i], or w of another type with the same numbers, and of a loop.
template <class W, class F> void expect_loop(const std::string& text, F of_loop) {
    for (const int threads : {1, 2}) {
        const Executable exe = compile(parse(text), {.device = "cpu", .threads = threads});
        for (const Shape& shape : shapes) {
            const std::vector<float> x = numbers(shape.i * shape.row());
            std::vector<W> w;
            for (const float value : numbers(shape.i)) w.push_back(static_cast<W>(std::round(value * 8) + 17));
            std::vector<float> expected;
            for (std::size_t e = 0; e < x.size(); ++e)
                expected.push_back(of_loop(x[e], static_cast<float>(w[e / static_cast<std::size_t>(shape.row())])));
            const Results results =
                exe.run({{"x", view(x.data(), {shape.i, shape.j, shape.k})}, {"w", view(w.data(), {shape.i})}});
            EXPECT_EQ(results.to_vector<float>("y"), expected) << text << ", " << shape.i << " rows of " << shape.row();
        }
    }
}

TEST(ValuesOfRowsOnTheCpu, are_the_second_operand_of_arithmetic) {
    expect_loop<float>("f(x: f32[i, j, k], w: f32[i]) -> y = x + w", [](float x, float w) { return x + w; });
    expect_loop<float>("f(x: f32[i, j, k], w: f32[i]) -> y = x - w", [](float x, float w) { return x - w; });
    expect_loop<float>("f(x: f32[i, j, k], w: f32[i]) -> y = x * w", [](float x, float w) { return x * w; });
    expect_loop<float>("f(x: f32[i, j, k], w: f32[i]) -> y = x / w", [](float x, float w) { return x / w; });
}

TEST(ValuesOfRowsOnTheCpu, of_other_types_are_converted) {
    expect_loop<f16>("f(x: f32[i, j, k], w: f16[i]) -> y = x * w", [](float x, float w) { return x * w; });
    expect_loop<std::uint8_t>("f(x: f32[i, j, k], w: u8[i]) -> y = x * w", [](float x, float w) { return x * w; });
}

TEST(ValuesOfRowsOnTheCpu, are_other_operands_too) {
    expect_loop<float>("f(x: f32[i, j, k], w: f32[i]) -> y = w - x", [](float x, float w) { return w - x; });
    expect_loop<float>("f(x: f32[i, j, k], w: f32[i]) -> y = x * w + w * w",
                       [](float x, float w) { return x * w + w * w; });
    expect_loop<float>("f(x: f32[i, j, k], w: f32[i]) -> y = max(x - w, w)",
                       [](float x, float w) { return std::fmax(x - w, w); });
}

// The tile of a whole fold has several slabs, which do not follow each other.
TEST(ValuesOfRowsOnTheCpu, are_those_of_each_slab_of_a_whole_fold) {
    const Graph graph = parse("f(x: f32[i, k], w: f32[i]) -> s = sum(abs(sqrt(x * x) - w)), m = max(sqrt(abs(x)) * w)");
    for (const auto& [rows, length] : std::vector<std::pair<std::int64_t, std::int64_t>>{{999, 1'001}, {40'000, 33}}) {
        const std::vector<float> x = numbers(rows * length), w = numbers(rows);
        const Bindings inputs{{"x", view(x.data(), {rows, length})}, {"w", view(w.data(), {rows})}};
        const Results expected = compile(graph, {.device = "cpu", .fuse = false, .threads = 1}).run(inputs);
        const Results results = compile(graph, {.device = "cpu", .threads = 2}).run(inputs);
        for (const char* const name : {"s", "m"})
            EXPECT_EQ(results.get<float>(name), expected.get<float>(name)) << name;
    }
}

} // namespace
} // namespace gf
