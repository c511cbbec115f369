// Rows of few elements, which the CPU's kernels fold several at a time, against the same rows alone: each length around
// those at which another loop takes over, on every instruction set, with zeros of both signs, infinities and NaN.
#include <cmath>
#include <cstdint>
#include <cstring>
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

/// The folds of some graphs: together, and those alone that are folded otherwise then.
const std::vector<std::vector<std::string>> graphs{
    {"sum(x{0})", "sum_of_squares(x{0})", "product(x{0})", "min(x{0})", "max(x{0})", "count(x > 0{0})", "any(x > 0{0})",
     "all(x > 0{0})", "mean(x{0})", "stddev(x{0})"},
    {"sum(x{0})"},
    {"sum(x * y{0})", "count(x{0})", "all(x{0})", "min(y{0})"},
    {"max(x{0})"},
    {"min(x{0})", "max(x{0})"},
    {"min(x{0})", "max(x{0})", "count(x{0})", "any(x{0})"},
    {"count(x <= 0{0})"},
    {"covariance(x, y{0})", "correlation(x, y{0})", "argmax(x{0})"},
    {"sum(x where y > x{0})", "variance(x where y > x{0})", "max(x where y > x{0})"},
};

constexpr std::int64_t lengths[] = {1,     2,     3,     4,     5,     7,     8,     15,    16,    17,
                                    31,    32,    33,    63,    64,    65,    100,   127,   128,   129,
                                    255,   256,   257,   500,   511,   520,   1'000, 1'024, 1'025, 2'047,
                                    2'048, 2'049, 3'000, 4'095, 4'096, 4'097, 6'144, 8'000, 8'192, 8'193};

template <class E> constexpr const char* name = nullptr;
template <> constexpr const char* name<float> = "f32";
template <> constexpr const char* name<double> = "f64";
template <> constexpr const char* name<std::int32_t> = "i32";
template <> constexpr const char* name<std::uint64_t> = "u64";
template <> constexpr const char* name<std::int16_t> = "i16";
template <> constexpr const char* name<std::uint8_t> = "u8";

gf::Graph graph(const std::vector<std::string>& folds, const char* type, bool of_rows) {
    std::string text = fmt::format("rows(x: {0}[{1}k], y: {0}[{1}k]) -> ", type, of_rows ? "i, " : "");
    for (std::size_t f = 0; f < folds.size(); ++f)
        text += fmt::format("{}r{} = {}", f == 0 ? "" : ", ", f,
                            fmt::format(fmt::runtime(folds[f]), of_rows ? " over [k]" : ""));
    return gf::parse(text);
}

/// Rows of zeros of both signs, of one infinity, of two and of a NaN, and others.
template <class E> Elements<E> rows(std::int64_t count, std::int64_t length) {
    Elements<E> x(static_cast<std::size_t>(count * length));
    if constexpr (std::is_floating_point_v<E>) {
        constexpr E infinity = std::numeric_limits<E>::infinity();
        for (std::int64_t row = 0; row < count; ++row) {
            E* const first = &x[row * length];
            E &some = first[row * 7 % length], &last = first[length - 1];
            switch (row % 6) {
            case 1: std::fill(first, first + length, -E{0}); break;
            case 2: std::fill(first, first + length, -E{0}), some = 0; break;
            case 3: some = infinity; break;
            case 4: some = infinity, last = -infinity; break;
            case 5: last = row % 12 == 5 ? std::numeric_limits<E>::quiet_NaN() : -std::numeric_limits<E>::quiet_NaN();
            }
        }
    }
    return x;
}

template <class E> void rows_have_the_bits_that_they_have_alone() {
    for (const auto& folds : graphs) {
        const ChosenSet baseline("baseline");
        const gf::Executable alone = gf::compile(graph(folds, name<E>, false), {.device = "cpu", .threads = 1});
        std::vector<gf::Executable> sets;
        for (const char* set : sets_of_this_machine()) {
            const ChosenSet chosen(set);
            sets.push_back(gf::compile(graph(folds, name<E>, true), {.device = "cpu", .threads = 1}));
        }
        for (const std::int64_t length : lengths) {
            const std::int64_t count = length < 10 ? 1'201 : 13;
            const Elements<E> x = rows<E>(count, length), y(static_cast<std::size_t>(count * length), 2);
            std::vector<gf::Results> expected;
            for (std::int64_t row = 0; row < count; ++row)
                expected.push_back(alone.run(
                    {{"x", gf::view(&x[row * length], {length})}, {"y", gf::view(&y[row * length], {length})}}));
            for (const gf::Executable& exe : sets) {
                const gf::Results results =
                    exe.run({{"x", gf::view(x.data(), {count, length})}, {"y", gf::view(y.data(), {count, length})}});
                std::size_t f = 0;
                for (const gf::Results::Entry& entry : results.entries()) {
                    const auto* const first = static_cast<const std::byte*>(entry.array.address);
                    for (std::int64_t row = 0; row < count; ++row) {
                        std::uint64_t of_row = 0;
                        const auto entries = expected[static_cast<std::size_t>(row)].entries();
                        std::memcpy(&of_row, &entries[f].bits, gf::size_of(entry.type));
                        ASSERT_EQ(gf::test::bits_of_element(
                                      first + static_cast<std::size_t>(row) * gf::size_of(entry.type), entry.type),
                                  gf::test::bits_of_element(reinterpret_cast<const std::byte*>(&of_row), entry.type))
                            << folds[f] << " of " << name<E> << ", row " << row << " of " << length << " elements, "
                            << exe.device();
                    }
                    ++f;
                }
            }
        }
    }
}

TEST(ShortRows, of_f32_have_the_bits_that_they_have_alone) { rows_have_the_bits_that_they_have_alone<float>(); }
TEST(ShortRows, of_f64_have_the_bits_that_they_have_alone) { rows_have_the_bits_that_they_have_alone<double>(); }
TEST(ShortRows, of_i32_have_the_bits_that_they_have_alone) { rows_have_the_bits_that_they_have_alone<std::int32_t>(); }
TEST(ShortRows, of_u64_have_the_bits_that_they_have_alone) { rows_have_the_bits_that_they_have_alone<std::uint64_t>(); }
TEST(ShortRows, of_i16_have_the_bits_that_they_have_alone) { rows_have_the_bits_that_they_have_alone<std::int16_t>(); }
TEST(ShortRows, of_u8_have_the_bits_that_they_have_alone) { rows_have_the_bits_that_they_have_alone<std::uint8_t>(); }

TEST(ShortRows, of_negative_zeros_sum_to_a_positive_one) {
    for (const std::int64_t length : {1, 8, 50, 64, 1'000, 4'096, 5'000}) {
        const std::vector<float> x(static_cast<std::size_t>(3 * length), -0.0F);
        const gf::Results results =
            gf::compile(gf::parse("rows(x: f32[i, k]) -> s = sum(x over [k])"), {.device = "cpu"})
                .run({{"x", gf::view(x.data(), {3, length})}});
        for (const float sum : results.span<float>("s")) EXPECT_FALSE(std::signbit(sum)) << length;
    }
}

} // namespace
