// Folds over dims that have kept ones inside, on the CPU: what one call folds has the bits that each fold has alone, on
// every instruction set, for bands of blocks and of parts, with zeros of both signs, infinities and NaN.
#include <array>
#include <cstddef>
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
constexpr std::array<std::int64_t, 3> shapes[] = {{50, 16, 8},     {7, 5, 100},    {1, 20'000, 8},
                                                  {2, 700, 300},   {3, 9, 5'000},  {3, 9, 70'000},
                                                  {1, 200, 4'500}, {1, 65, 4'097}, {2, 20'001, 1}};

/// A fold that one call of the CPU's kernels computes with its map, or with other folds of the operand; and the same
/// with its map stored, too, or by itself in a graph.
struct Case {
    const char *together, *map, *alone;
};
constexpr Case cases[] = {
    {"sum(x * y over [n])", "x * y", "r = sum(m over [n]), p = m"},
    {"sum(x * x over [n])", "x * x", "r = sum(m over [n]), p = m"},
    {"sum(x * y0 over [n])", "x * y0", "r = sum(m over [n]), p = m"},
    {"sum(x * y where y > x over [n])", "x * y", "r = sum(m where y > x over [n]), p = m"},
    {"min(x over [n])", "x", "r = min(m over [n])"},
    {"max(x over [n])", "x", "r = max(m over [n])"},
    {"min(x + y0 over [n])", "x + y0", "r = min(m over [n]), p = m"},
    {"max(x - y0 over [n])", "x - y0", "r = max(m over [n]), p = m"},
    {"count(x > y0 over [n])", "x > y0", "r = count(m over [n]), p = m"},
    {"any(x > y0 over [n])", "x > y0", "r = any(m over [n]), p = m"},
    {"all(x > y0 over [n])", "x > y0", "r = all(m over [n]), p = m"},
    {"count(x > y0 where y > x over [n])", "x > y0", "r = count(m where y > x over [n]), p = m"},
    {"sum(x over [n])", "x", "r = sum(m over [n])"},
};

/// All cases in one graph.
std::string all_together() {
    std::string text = "-> ";
    for (std::size_t c = 0; c < std::size(cases); ++c)
        text += fmt::format("{}r{} = {}", c == 0 ? "" : ", ", c, cases[c].together);
    return text;
}

gf::Graph parsed(const char* type, const std::string& results) {
    return gf::parse(fmt::format("boxes(x: {0}[a, n, k], y: {0}[a, n, k], y0: {0}) {1}", type, results));
}

template <class E> Elements<E> elements(const std::array<std::int64_t, 3>& shape) {
    const auto count = static_cast<std::size_t>(shape[0] * shape[1] * shape[2]);
    Elements<E> x(count);
    if constexpr (std::is_floating_point_v<E>) {
        const auto columns = static_cast<std::size_t>(shape[2]);
        constexpr E infinity = std::numeric_limits<E>::infinity(), nan = std::numeric_limits<E>::quiet_NaN();
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t column = i % columns;
            E& value = x[static_cast<std::int64_t>(i)];
            if (column % 11 == 1) value = i / columns % 3 == 0 ? E{0} : -E{0};
            if (column % 11 == 5 && i % 13 == 0) value = infinity;
            if (column % 11 == 6 && i % 17 == 0) value = i % 2 == 0 ? infinity : -infinity;
            if (column % 11 == 8 && i % 19 == 0) value = i % 2 == 0 ? nan : -nan;
        }
    }
    return x;
}

/// The bytes of a result's elements, the same for each NaN.
std::vector<std::uint64_t> bits_of(const gf::Results& results, std::size_t number) {
    const gf::Results::Entry& entry = results.entries()[number];
    const std::size_t bytes = gf::size_of(entry.type), count = gf::element_count(entry.array.extents);
    std::vector<std::uint64_t> bits(count);
    const auto* const first = static_cast<const std::byte*>(entry.array.address);
    for (std::size_t i = 0; i < count; ++i) bits[i] = gf::test::bits_of_element(first + i * bytes, entry.type);
    return bits;
}

template <class E> void folds_have_the_bits_that_they_have_alone(const char* type) {
    const ChosenSet baseline("baseline");
    std::vector<gf::Executable> expected, sets;
    for (const Case& of : cases)
        expected.push_back(gf::compile(parsed(type, fmt::format("let m = {}; -> {}", of.map, of.alone)),
                                       {.device = "cpu", .threads = 1}));
    for (const char* set : sets_of_this_machine())
        for (const int threads : {1, 2, 3}) {
            const ChosenSet chosen(set);
            sets.push_back(gf::compile(parsed(type, all_together()), {.device = "cpu", .threads = threads}));
        }
    for (const auto& shape : shapes) {
        const Elements<E> x = elements<E>(shape), y(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]), 2);
        const gf::Extents extents{shape[0], shape[1], shape[2]};
        const gf::Bindings bindings{
            {"x", gf::view(x.data(), extents)}, {"y", gf::view(y.data(), extents)}, {"y0", E{3}}};
        std::vector<gf::Results> of_alone;
        for (const gf::Executable& exe : expected) of_alone.push_back(exe.run(bindings));
        for (const gf::Executable& exe : sets) {
            const gf::Results results = exe.run(bindings);
            for (std::size_t c = 0; c < std::size(cases); ++c)
                ASSERT_EQ(bits_of(results, c), bits_of(of_alone[c], 0))
                    << cases[c].together << " of " << type << ", " << shape[0] << " x " << shape[1] << " x " << shape[2]
                    << ", " << exe.device();
        }
    }
}

TEST(Boxes, of_f32_have_the_bits_of_each_fold_alone) { folds_have_the_bits_that_they_have_alone<float>("f32"); }
TEST(Boxes, of_f64_have_the_bits_of_each_fold_alone) { folds_have_the_bits_that_they_have_alone<double>("f64"); }
TEST(Boxes, of_i32_have_the_bits_of_each_fold_alone) { folds_have_the_bits_that_they_have_alone<std::int32_t>("i32"); }
TEST(Boxes, of_i16_have_the_bits_of_each_fold_alone) { folds_have_the_bits_that_they_have_alone<std::int16_t>("i16"); }
TEST(Boxes, of_u8_have_the_bits_of_each_fold_alone) { folds_have_the_bits_that_they_have_alone<std::uint8_t>("u8"); }

TEST(Boxes, of_a_prepared_that_is_bound_anew_have_the_bits_of_a_new_one) {
    for (const int threads : {1, 3}) {
        const gf::Executable exe =
            gf::compile(gf::parse("boxes(x: f32[a, n, k]) -> s = sum(x * x over [n]), v = variance(x over [n]), "
                                  "c = count(x > 0 over [n]), t = sum(x over [n])"),
                        {.device = "cpu", .threads = threads});
        const Elements<float> x(600'000);
        gf::Prepared prepared = exe.prepare({{"x", gf::view(x.data(), {2, 3, 4})}});
        for (const auto& shape : std::vector<std::array<std::int64_t, 3>>{
                 {2, 3, 100'000}, {0, 3, 4}, {1, 65, 4'097}, {50, 16, 8}, {1, 20'001, 1}, {3, 700, 256}, {2, 3, 4}}) {
            const gf::View view = gf::view(x.data(), {shape[0], shape[1], shape[2]});
            prepared.rebind("x", view);
            const gf::Results again = prepared.run(), anew = exe.run({{"x", view}});
            for (std::size_t r = 0; r < 4; ++r) EXPECT_EQ(bits_of(again, r), bits_of(anew, r)) << shape[2];
        }
    }
}

} // namespace
