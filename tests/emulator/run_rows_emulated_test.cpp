// Rows whose threads fold runs of neighbouring lanes (thread_rows.cuh, run_rows.cuh) in the emulator against the CPU
// backend, by bits.
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

/// A graph whose sweep folds rows, the extents of its first launch, and the course that many of its rows have.
struct RowsCase {
    const char* text;
    std::vector<std::int64_t> extents;
    int alignment; ///< of the rows, in elements
    cuda::Course course;
    std::int64_t rows = 1 << 20; ///< that the schedule is chosen for
};

constexpr auto sums = "f(x: f32[i, k]) -> s = sum(x over [k])";
constexpr auto halves = "f(x: bf16[i, k]) -> s = sum(x over [k]), high = max(x over [k]), low = f32(min(x over [k])), "
                        "n = count(x > 0 over [k])";
constexpr auto doubles = "f(x: f64[i, k]) -> v = variance(x over [k]), at = argmin(x over [k])";
constexpr auto extremes = "f(x: f64[i, k]) -> s = sum(x over [k]), low = min(x over [k]), high = max(x over [k])";
constexpr auto bytes = "f(x: u8[i, k]) -> s = sum(x over [k]), high = max(x over [k])";
constexpr auto bytes_and_more = "f(b: u8[i, k], x: f64[i, k]) -> s = sum(x * f64(b) over [k]), at = argmin(x over [k])";
constexpr auto several = "f(x: f32[i, k], h: bf16[i, k], m: bool[i, k]) let y = x * f32(h); -> s = sum(y over [k]), at "
                         "= argmax(x over [k]), "
                         "t = sum(x where m over [k]), n = count(x where m over [k])";
constexpr auto spreads = "f(x: f64[i, k]) -> v = variance(x where x > 0.0 over [k])";
constexpr auto pairs = "f(x: f32[i, k], h: f32[i, k]) -> c = covariance(x, h over [k])";
constexpr auto wide = "f(d: f64[i, k], u: u8[i, k]) -> v = variance(d over [k]), w = mean(u over [k]), c = "
                      "covariance(d, f64(u) over [k])";

/// The plan of a case, its kernel, and the CPU's executable.
class Subject : public SubjectOfCourse {
public:
    /// `takes_turns`: a thread block can have rows after its first.
    explicit Subject(const RowsCase& given, bool takes_turns = false)
        : SubjectOfCourse(given.text, [](const Graph& graph) { return fuse(graph); }), given_(given) {
        const FoldOrder order = fold_order(given.extents.back());
        kernels_ = kernels_of(plan_,
                              cuda::RowFacts{.longest = order.folded,
                                             .blocks = order.blocks * given.rows,
                                             .alignment = given.alignment,
                                             .shortest = order.folded,
                                             .slabs = (order.slabs + order.blocks - 1) / order.blocks},
                              {.cluster = 16}, takes_turns);
    }

    cuda::Course course() const { return given_.course; }
    /// Launches three times with the case's extents, the last block first in the third; then with one row more, with
    /// shorter rows, and without elements, at several alignments of memory.
    std::optional<std::string> what_is_wrong(const HostModule& module, std::size_t first_entry) const {
        EmulatedPlan emulated(plan_, kernels_, module, first_entry);
        for (std::uint64_t seed = 1; seed <= 6; ++seed) {
            oracle::Case test{seed, graph_, given_.extents};
            std::int64_t& elements = test.extents.back();
            if (seed == 4) ++test.extents.front();
            if (seed == 5 && !schedule().whole_packs) elements -= elements > given_.alignment ? given_.alignment : 0;
            if (seed == 6 && given_.text == sums) elements = 0;
            if (given_.alignment > 1) align(test, plan_);
            const std::int64_t most_clusters = seed == 2 ? 1 : 100; // one takes all rows in turn
            if (auto wrong = emulator::what_is_wrong(emulated, plan_, reference_, test, seed, most_clusters))
                return wrong;
        }
        return {};
    }
    std::string name() const { return fmt::format("{} of {}", given_.text, fmt::join(given_.extents, " x ")); }

private:
    RowsCase given_;
};

struct TakingTurns : Subject {
    explicit TakingTurns(const RowsCase& given) : Subject(given, true) {}
};

void expect_the_cpus_bits(const std::vector<RowsCase>& cases) {
    for (const RowsCase& given : cases) {
        const Subject subject(given);
        EXPECT_EQ(subject.schedule().course, subject.course()) << subject.name();
    }
    expect_the_cpus_bits_of<Subject>(cases);
    expect_the_cpus_bits_of<TakingTurns>(cases);
}

constexpr auto by_threads = cuda::Course::thread_rows, by_runs = cuda::Course::run_rows;

TEST(RunRows, of_a_thread) {
    expect_the_cpus_bits({{sums, {200, 3}, 1, by_threads},
                          {sums, {70, 129}, 1, by_threads},
                          {halves, {150, 127}, 1, by_threads},
                          {several, {67, 33}, 1, by_threads},
                          {spreads, {35, 71}, 1, by_threads},
                          {pairs, {40, 25}, 1, by_threads}});
}

TEST(RunRows, of_a_thread_that_gets_words) {
    expect_the_cpus_bits({{sums, {333, 20}, 4, by_threads},
                          {halves, {100, 54}, 2, by_threads},
                          {doubles, {40, 11}, 1, by_threads},
                          {bytes, {300, 37}, 1, by_threads},
                          {bytes, {90, 276}, 4, by_threads}});
}

TEST(RunRows, of_a_thread_that_fill_their_packs) {
    expect_the_cpus_bits({{halves, {100, 64}, 16, by_threads},
                          {doubles, {70, 16}, 16, by_threads},
                          {doubles, {33, 128}, 16, by_threads},
                          {bytes_and_more, {40, 32}, 16, by_threads}});
}

TEST(RunRows, of_a_warp) {
    expect_the_cpus_bits({{sums, {9, 600}, 1, by_runs},
                          {halves, {7, 1'001}, 1, by_runs},
                          {several, {5, 2'047}, 1, by_runs},
                          {spreads, {4, 700}, 1, by_runs},
                          {pairs, {4, 900}, 1, by_runs},
                          {bytes, {6, 1'501}, 1, by_runs},
                          {bytes_and_more, {7, 1'201}, 1, by_runs},
                          {doubles, {5, 1'400}, 16, by_runs}});
}

TEST(RunRows, of_several_slabs) {
    expect_the_cpus_bits({{sums, {5, 5'001}, 1, by_runs},
                          {halves, {6, 4'096}, 16, by_runs},
                          {halves, {3, 2'050}, 2, by_runs},
                          {doubles, {3, 4'001}, 1, by_runs}});
}

TEST(RunRows, of_several_blocks) {
    expect_the_cpus_bits({{sums, {3, 50'257}, 1, by_runs},
                          {halves, {2, 20'481}, 1, by_runs},
                          {several, {2, 12'301}, 1, by_runs},
                          {halves, {2, 131'072}, 16, by_runs},
                          {sums, {2, 300'003}, 1, by_runs}});
}

TEST(RunRows, of_a_cluster) {
    const std::vector<RowsCase> cases{{sums, {3, 50'257}, 1, by_runs, 600},
                                      {halves, {2, 131'072}, 16, by_runs, 300},
                                      {doubles, {3, 70'001}, 1, by_runs, 600},
                                      {halves, {2, 600'000}, 16, by_runs, 70}};
    for (const RowsCase& given : cases) EXPECT_GT(Subject(given).schedule().cluster, 1) << Subject(given).name();
    expect_the_cpus_bits(cases);
}

TEST(RunRows, of_slabs_that_warps_share) {
    const std::vector<RowsCase> cases{{extremes, {4, 5'001}, 1, by_runs},
                                      {extremes, {3, 16'384}, 16, by_runs},
                                      {extremes, {3, 30'001}, 1, by_runs, 600}};
    for (const RowsCase& given : cases) EXPECT_GT(Subject(given).schedule().slab_warps, 1) << Subject(given).name();
    expect_the_cpus_bits(cases);
}

// The states of runs would not fit in registers.
TEST(RunRows, of_wide_folds) { expect_the_cpus_bits({{wide, {2, 10'241}, 1, cuda::Course::rows}}); }

} // namespace
} // namespace gf::emulator
