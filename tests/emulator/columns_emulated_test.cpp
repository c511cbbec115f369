// The course of columns (columns.cuh) in the emulator against the CPU backend, by bits.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gridfold/fusion/executable.hpp>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/fusion/order.hpp>
#include <gridfold/ops/text.hpp>
#include <gtest/gtest.h>

#include "against_cpu.hpp"

namespace gf::emulator {
namespace {

/// A graph whose sweeps fold columns, and the extents of its first launch.
struct ColumnsCase {
    const char* text;
    std::vector<std::int64_t> extents;
};

constexpr auto sums = "f(x: f32[i, j]) -> s = sum(x over [i])";
constexpr auto halves = "f(x: bf16[i, j]) -> s = sum(x over [i]), high = max(x over [i]), low = f32(min(x over [i]))";
constexpr auto sums_of_halves = "f(x: bf16[i, j]) -> s = f32(sum(x over [i]))";
constexpr auto doubles = "f(x: f64[i, j]) -> v = variance(x over [i])";
constexpr auto spreads = "f(x: f32[i, j], m: bool[i, j]) -> v = variance(x where m over [i])";
constexpr auto several =
    "f(x: f32[i, j], w: f32[j], m: bool[i, j]) let y = x * w; -> s = sum(y over [i]), at = argmax(y over [i]), "
    "t = sum(x where m over [i]), n = count(x where m over [i]), y = y, "
    "k = sum(x * f32(index(i)) over [i])";
constexpr auto batches = "f(x: f32[b, i, j], w: f32[b, i]) -> s = sum(x * w over [i]), at = argmax(x over [i]), "
                         "z[j, i, b] = x + f32(1), m[j, b] = min(x over [i])";
constexpr auto sums_of_bytes = "f(x: u8[b, i, j]) -> s = sum(x over [i]), high = max(x over [i])";
constexpr auto batches_of_bytes = "f(x: u8[b, i, j]) -> s = sum(x over [i]), v = variance(x over [i])";

/// The plan of a case, its kernels, and the CPU's executable.
class Subject : public SubjectOfCourse {
public:
    explicit Subject(const ColumnsCase& given)
        : SubjectOfCourse(given.text, [](const Graph& graph) { return fuse(graph); }), given_(given) {
        kernels_ = kernels_of(plan_, facts_of(order()));
    }

    FoldOrder order() const { return fold_order(plan_.sweeps[SweepId(0)], given_.extents); }
    /// Launches three times with the case's extents, the last block first in the third; then with one row more, with
    /// few rows, and without rows, in aligned memory. A kernel for columns of one lane, or a staggered one, keeps their
    /// number of rows, or has none.
    std::optional<std::string> what_is_wrong(const HostModule& module, std::size_t first_entry) const {
        EmulatedPlan emulated(plan_, kernels_, module, first_entry);
        for (std::uint64_t seed = 1; seed <= 6; ++seed) {
            oracle::Case test{seed, graph_, given_.extents};
            std::int64_t& rows = test.extents[test.extents.size() - 2];
            if (!schedule().one_lane && !schedule().staggered)
                rows = seed == 4 ? rows + 1 : seed == 5 ? rows / 5 + 1 : rows;
            if (seed == 6 && given_.text == sums) rows = 0;
            align(test, plan_);
            if (auto wrong = emulator::what_is_wrong(emulated, plan_, reference_, test, seed, 100)) return wrong;
        }
        return {};
    }
    std::string name() const { return fmt::format("{} of {}", given_.text, fmt::join(given_.extents, " x ")); }

private:
    static cuda::RowFacts facts_of(const FoldOrder& order) {
        cuda::RowFacts facts{.slabs = (order.slabs + order.blocks - 1) / order.blocks};
        facts.columns.add(order);
        return facts;
    }

    ColumnsCase given_;
};

void expect_the_cpus_bits(const std::vector<ColumnsCase>& cases) {
    for (const ColumnsCase& given : cases) {
        const Subject subject(given);
        EXPECT_EQ(subject.schedule().course, cuda::Course::columns) << subject.name();
    }
    expect_the_cpus_bits_of<Subject>(cases);
}

TEST(Columns, of_many_lanes) {
    expect_the_cpus_bits({{sums, {9'000, 8}}, {several, {700, 64}}, {halves, {1'300, 24}}, {doubles, {100, 12}}});
}

TEST(Columns, of_many_blocks) {
    expect_the_cpus_bits({{sums, {5'700, 64}}, {several, {2'100, 128}}, {spreads, {61, 128}}});
}

TEST(Columns, of_blocks_that_a_thread_block_folds_together) {
    expect_the_cpus_bits({{sums, {140, 1'024}},
                          {halves, {270, 1'504}},
                          {several, {200, 768}},
                          {sums, {150, 2'304}},
                          {spreads, {5, 1'032}}});
}

TEST(Columns, of_one_lane) {
    expect_the_cpus_bits({{sums, {7, 4'096}}, {several, {1, 72}}, {batches, {3, 5, 2'112}}, {halves, {3, 1'032}}});
}

TEST(Columns, of_batches) {
    expect_the_cpus_bits({{batches, {5, 3, 16}},
                          {batches, {3, 100, 64}},
                          {batches, {2, 300, 136}},
                          {sums_of_bytes, {9, 8, 64}},
                          {batches_of_bytes, {9, 40, 16}},
                          {batches_of_bytes, {2, 75, 1'552}}});
}

TEST(Columns, of_rows_that_begin_anywhere) {
    expect_the_cpus_bits({{sums, {700, 1'001}}, // lanes of two rows
                          {sums, {7, 2'049}},   // one lane
                          {sums, {90, 2'501}},
                          {sums_of_halves, {260, 513}},
                          {halves, {300, 523}},
                          {halves, {140, 2'303}},
                          {halves, {250, 2'303}},
                          {doubles, {40, 1'025}},
                          {spreads, {5, 1'031}},
                          {sums_of_bytes, {3, 40, 2'051}},
                          {batches_of_bytes, {2, 75, 1'553}}});
}

} // namespace
} // namespace gf::emulator
