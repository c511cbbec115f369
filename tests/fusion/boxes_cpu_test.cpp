// Folds over dims that have kept ones inside, on the CPU: what one call folds has the bits that each fold has alone, on
// every instruction set, for bands of blocks and of parts, with zeros of both signs, infinities and NaN.
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

#include "fusion/cpu_run.hpp"

namespace {

using gf::test::ChosenSet;
using gf::test::Elements;
using gf::test::sets_of_this_machine;

/// Extents of [a, n, k], where n is folded: short parts, blocks of few columns, chunks of many with one block and with
/// several, chunks of n whose last is shorter, and one result.
constexpr std::array<std::int64_t, 3> shapes[] = {{50, 16, 8},   {7, 5, 100},     {1, 20'000, 8}, {2, 700, 300},
                                                  {3, 9, 5'000}, {1, 200, 4'500}, {1, 65, 4'097}, {2, 20'001, 1}};

/// One call of the CPU's kernels computes several of these, or a map with its fold.
const std::vector<std::string> together{"sum(x * y over [n])",  "sum(x * x over [n])",    "min(x over [n])",
                                        "max(x over [n])",      "count(x > y0 over [n])", "any(x > y0 over [n])",
                                        "all(x > y0 over [n])", "sum(x over [n])"};

/// The same, each in a graph of its own, where the map is stored, too.
constexpr const char* alone[] = {
    "r = sum(m over [n]), p = m",   "r = sum(m over [n]), p = m", "r = min(x over [n])",        "r = max(x over [n])",
    "r = count(m over [n]), p = m", "r = any(m over [n]), p = m", "r = all(m over [n]), p = m", "r = sum(x over [n])"};
constexpr const char* maps[] = {"x * y", "x * x", "x", "x", "x > y0", "x > y0", "x > y0", "x"};

gf::Graph parsed(const char* type, const std::string& results) {
    return gf::parse(fmt::format("boxes(x: {0}[a, n, k], y: {0}[a, n, k], y0: {0}) {1}", type, results));
}

template <class E> Elements<E> elements(const std::array<std::int64_t, 3>& shape) {
    const auto count = static_cast<std::size_t>(shape[0] * shape[1] * shape[2]);
    Elements<E> x(count);
    if constexpr (std::is_floating_point_v<E>) {
        const auto columns = static_cast<std::size_t>(shape[2]);
        constexpr E infinity = std::numeric_limits<E>::infinity();
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t column = i % columns;
            E& value = x[static_cast<std::int64_t>(i)];
            if (column % 11 == 1) value = i / columns % 3 == 0 ? E{0} : -E{0};
            if (column % 11 == 5 && i % 13 == 0) value = infinity;
            if (column % 11 == 6 && i % 17 == 0) value = i % 2 == 0 ? infinity : -infinity;
            if (column % 11 == 8 && i % 19 == 0) value = std::numeric_limits<E>::quiet_NaN();
        }
    }
    return x;
}

template <class T> bool same(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
        return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
    else
        return a == b;
}

template <class T> void expect_same(const gf::Results& results, const char* name, const gf::Results& of_alone) {
    const auto some = results.span<T>(name), expected = of_alone.span<T>("r");
    ASSERT_EQ(some.size(), expected.size());
    for (std::size_t i = 0; i < some.size(); ++i)
        ASSERT_TRUE(same(some[i], expected[i])) << name << ", result " << i << ": " << some[i] << ", " << expected[i];
}

template <class E> void folds_have_the_bits_that_they_have_alone(const char* type) {
    std::string text = "-> ";
    for (std::size_t f = 0; f < together.size(); ++f)
        text += fmt::format("{}r{} = {}", f == 0 ? "" : ", ", f, together[f]);
    const ChosenSet baseline("baseline");
    std::vector<gf::Executable> expected, sets;
    for (std::size_t f = 0; f < together.size(); ++f)
        expected.push_back(gf::compile(parsed(type, fmt::format("let m = {}; -> {}", maps[f], alone[f])),
                                       {.device = "cpu", .threads = 1}));
    for (const char* set : sets_of_this_machine())
        for (const int threads : {1, 3}) {
            const ChosenSet chosen(set);
            sets.push_back(gf::compile(parsed(type, text), {.device = "cpu", .threads = threads}));
        }
    for (const auto& shape : shapes) {
        const Elements<E> x = elements<E>(shape), y(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]));
        const gf::Extents extents{shape[0], shape[1], shape[2]};
        const gf::Bindings bindings{
            {"x", gf::view(x.data(), extents)}, {"y", gf::view(y.data(), extents)}, {"y0", E{1}}};
        std::vector<gf::Results> of_alone;
        for (const gf::Executable& exe : expected) of_alone.push_back(exe.run(bindings));
        for (const gf::Executable& exe : sets) {
            SCOPED_TRACE(fmt::format("{}x{}x{}, {}", shape[0], shape[1], shape[2], exe.device()));
            const gf::Results results = exe.run(bindings);
            using Sum = std::conditional_t<std::is_floating_point_v<E>, E, std::int64_t>;
            expect_same<Sum>(results, "r0", of_alone[0]);
            expect_same<Sum>(results, "r1", of_alone[1]);
            expect_same<E>(results, "r2", of_alone[2]);
            expect_same<E>(results, "r3", of_alone[3]);
            expect_same<std::int64_t>(results, "r4", of_alone[4]);
            expect_same<bool>(results, "r5", of_alone[5]);
            expect_same<bool>(results, "r6", of_alone[6]);
            expect_same<Sum>(results, "r7", of_alone[7]);
        }
    }
}

TEST(Boxes, of_f32_have_the_bits_of_each_fold_alone) { folds_have_the_bits_that_they_have_alone<float>("f32"); }
TEST(Boxes, of_f64_have_the_bits_of_each_fold_alone) { folds_have_the_bits_that_they_have_alone<double>("f64"); }
TEST(Boxes, of_i32_have_the_bits_of_each_fold_alone) { folds_have_the_bits_that_they_have_alone<std::int32_t>("i32"); }
TEST(Boxes, of_i16_have_the_bits_of_each_fold_alone) { folds_have_the_bits_that_they_have_alone<std::int16_t>("i16"); }

} // namespace
