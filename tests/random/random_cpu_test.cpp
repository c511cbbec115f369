// Random graphs and regressions on the CPU backend against the naive oracle, by bits.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/text.hpp>
#include <gtest/gtest.h>

#include "batch.hpp"
#include "environment.hpp"
#include "failures.hpp"
#include "generate.hpp"
#include "settings.hpp"
#include "subject.hpp"

namespace gf::oracle {

using namespace plan;
namespace {

constexpr std::uint64_t shards = 8;
constexpr GenerateOptions options{};

constexpr std::uint64_t all_graphs = 20'000;
std::uint64_t graphs() { return graph_count(all_graphs); }

std::optional<std::string> run_and_compare(const Case& test, const Graph& graph, const Options& how) {
    const Inputs inputs = inputs_of(test);
    return difference(evaluate(test.graph, test.extents, inputs), run(compile(graph, how), test, inputs));
}

std::optional<std::string> fused(const Case& test) { return run_and_compare(test, test.graph, {.device = "cpu"}); }

/// Outputs of any length are stored around the caches.
std::optional<std::string> with_far_memory(const Case& test) {
    const test::ChosenFarMemory far("all");
    return fused(test);
}

std::optional<std::string> unfused(const Case& test) {
    return run_and_compare(test, test.graph, {.device = "cpu", .fuse = false});
}

std::optional<std::string> through_text(const Case& test) {
    const std::string text = to_text(test.graph);
    const Graph again = parse(text);
    if (to_text(again) != text) return "printed, parsed and printed again it is another text:\n" + to_text(again);
    return run_and_compare(test, again, {.device = "cpu"});
}

/// Fails with the text of a regression file.
void expect_agreement(std::string_view what, const Check& check, const Case& test) {
    if (const auto text = failure(what, check, test)) ADD_FAILURE() << "\n" << *text;
}

class RandomGraphs : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomGraphs, give_the_oracles_bits_on_the_cpu) {
    Coverage coverage;
    std::uint64_t done = 0;
    for (std::uint64_t i = GetParam(); i < graphs() && !HasFailure(); i += shards, ++done) {
        const Case test = oracle::generate(first_seed() + i, options, coverage);
        if (i / shards % 2 == 0)
            expect_agreement("fused", fused, test);
        else
            expect_agreement("fused, with far memory", with_far_memory, test);
        if (i / shards % 4 == 0) expect_agreement("unfused", unfused, test);
        if (i / shards % 4 == 1) expect_agreement("through its text form", through_text, test);
    }
    fmt::print("count: {} random graphs on the CPU backend\n", done);
}

TEST_P(RandomGraphs, that_fold_some_dims_give_the_oracles_bits_on_the_cpu) {
    GenerateOptions keeping = options;
    keeping.keeps_dims = true;
    Coverage coverage;
    std::uint64_t done = 0;
    for (std::uint64_t i = GetParam(); i < graphs() && !HasFailure(); i += shards, ++done) {
        const Case test = oracle::generate(5'000'000 + first_seed() + i, keeping, coverage);
        if (i / shards % 2 == 0)
            expect_agreement("fused", fused, test);
        else
            expect_agreement("fused, with far memory", with_far_memory, test);
        if (i / shards % 4 == 0) expect_agreement("unfused", unfused, test);
        if (i / shards % 4 == 1) expect_agreement("through its text form", through_text, test);
    }
    fmt::print("count: {} random graphs that fold some dims on the CPU backend\n", done);
}

/// The first problem of a batch whose results differ from those that it has alone, or nothing. Also of a part of the
/// batch, and of its oracle.
std::optional<std::string> batched_differs(const Case& test, std::int64_t count, bool by_oracle) {
    const std::optional<Batch> batch = batch_of(test, count);
    if (!batch) return {};
    const Executable alone = compile(test.graph, {.device = "cpu"}),
                     together = compile(batch->test.graph, {.device = "cpu"});
    const Inputs inputs = stacked(test, *batch);
    const std::vector<Result> results = run(together, batch->test, inputs);
    if (by_oracle)
        if (const auto wrong = difference(evaluate(batch->test.graph, batch->test.extents, inputs), results))
            return "by the oracle: " + *wrong;
    const std::int64_t some = (count + 1) / 2; // the first problems, as a batch of their own
    const std::optional<Batch> part = batch_of(test, some);
    const std::vector<Result> of_part = run(together, part->test, stacked(test, *part));
    for (std::int64_t i = 0; i < count; ++i) {
        const std::vector<Result> expected = run(alone, test, inputs_of_problem(test, *batch, i));
        if (const auto wrong = difference(expected, results_of_problem(test.graph, results, i, count)))
            return fmt::format("problem {} of {}: {}", i, count, *wrong);
        if (i >= some) continue;
        if (const auto wrong = difference(expected, results_of_problem(test.graph, of_part, i, some)))
            return fmt::format("problem {} of the first {}: {}", i, some, *wrong);
    }
    return {};
}

TEST_P(RandomGraphs, give_each_problem_of_a_batch_the_bits_that_it_has_alone) {
    GenerateOptions small = options, middle = options;
    small.max_elements = 300;
    middle.max_elements = 12'000;
    Coverage coverage;
    int done = 0;
    for (std::uint64_t i = GetParam(); i < graphs() / 16 && !HasFailure(); i += shards) {
        GenerateOptions how = i % 3 == 2 ? small : middle;
        how.keeps_dims = i / shards % 2 == 0;
        const Case test = oracle::generate(7'000'000 + first_seed() + i, how, coverage);
        const std::int64_t count = i % 3 == 0 ? 1 : i % 3 == 1 ? 3 : 150 + static_cast<std::int64_t>(i % 200);
        const auto differs = [&](const Case& smaller) { return batched_differs(smaller, count, i / shards % 4 == 0); };
        expect_agreement("batched", differs, test);
        ++done;
    }
    fmt::print("count: {} random graphs in batches on the CPU backend\n", done);
}

INSTANTIATE_TEST_SUITE_P(shards, RandomGraphs, testing::Range(std::uint64_t{0}, shards));

TEST(RandomGraphs, reach_every_row_in_every_type_and_every_branch) {
    constexpr int at_least = 3;
    Coverage coverage;
    for (std::uint64_t i = 0; i < all_graphs; ++i)
        count(fuse(oracle::generate(first_seed() + i, options, coverage).graph), coverage);
    fmt::print("{}", to_text(coverage));
    const std::vector<std::string> wanted = everything();
    EXPECT_EQ(missing(coverage, wanted, at_least), std::vector<std::string>{});
    const auto rarest = std::ranges::min(wanted, {}, [&](const std::string& what) { return coverage[what]; });
    fmt::print("reached: {} rows in their types, and branches, by {} random graphs; the rarest, \"{}\", {} times\n",
               wanted.size(), all_graphs, rarest, coverage[rarest]);
}

TEST(RandomGraphs, that_fold_some_dims_reach_every_kind_of_kept_dims) {
    GenerateOptions keeping = options;
    keeping.keeps_dims = true;
    Coverage coverage;
    for (std::uint64_t i = 0; i < all_graphs; ++i)
        count(fuse(oracle::generate(5'000'000 + first_seed() + i, keeping, coverage).graph), coverage);
    std::vector<std::string> wanted;
    for (const char* pattern : {"keeps k f", "keeps f k", "keeps k f k", "keeps f k f", "keeps f k f k"})
        for (const char* mask : {"", " masked"}) wanted.push_back(fmt::format("{}{}", pattern, mask));
    for (const char* what : {"finalize a value", "finalize what may be nothing", "map"})
        wanted.push_back(fmt::format("results {}", what));
    for (const char* what : {"sweep because of other dims", "results that may be empty", "maps that may be empty",
                             "otherwise", "shift of results"})
        wanted.emplace_back(what);
    EXPECT_EQ(missing(coverage, wanted, 3), std::vector<std::string>{});
}

/// Regressions: the printed texts of earlier failures, each added before its fix.
TEST(Regressions, give_the_oracles_bits_on_the_cpu) {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(GRIDFOLD_RANDOM_REGRESSIONS)) {
        SCOPED_TRACE(entry.path().filename());
        std::ifstream file(entry.path());
        const Case test = read_case(std::string{std::istreambuf_iterator<char>(file), {}});
        expect_agreement("fused", fused, test);
        expect_agreement("fused, with far memory", with_far_memory, test);
        expect_agreement("unfused", unfused, test);
        expect_agreement("through its text form", through_text, test);
        ++files;
    }
    EXPECT_GT(files, 0);
}

// Several blocks where kept dims lie inside folded ones, some of which hold only short slabs.
TEST(LargeReduction, over_some_dims_gives_the_oracles_bits_on_the_cpu) {
    const Graph columns = parse("columns(x: f32[n, k], m: bool[n]) -> s = sum(x over [n]), v = variance(x over [n]), "
                                "w = mean(x where m over [n]), a = argmax(x over [n]), r = mean(x over [k])");
    for (const auto& [n, k] : {std::pair{20'000, 8}, {9'000, 64}, {2'100, 256}, {70'000, 1}, {40, 5'000}, {70, 2'100}})
        EXPECT_EQ(fused({7, columns, {n, k}}), std::nullopt) << n << " by " << k;
    const Graph between = parse("between(x: f32[n, c, p]) -> s = sum(x over [n, p]), v = variance(x over [n, p]), "
                                "a = argmin(x over [n, p]), l = mean(x over [n, c]), b = sum(x over [c])");
    for (const Extents& e : {Extents{64, 3, 3'136}, Extents{200, 40, 49}, Extents{40, 2, 2'100}})
        EXPECT_EQ(fused({7, between, {e[0], e[1], e[2]}}), std::nullopt) << to_text(e);
}

// The most blocks, of several slabs each, and a tail.
TEST(LargeReduction, gives_the_oracles_bits_on_the_cpu) {
    constexpr std::int64_t n = (std::int64_t{2} * 1024 * 4 + 3) * 1024 + 5;
    const Case test{
        7, parse("large(x: f32[n], y: f32[n]) -> s = sum(x * y), p = max(x where y > 0.0), m = variance(x)"), {n}};
    EXPECT_EQ(fused(test), std::nullopt);
}

} // namespace
} // namespace gf::oracle
