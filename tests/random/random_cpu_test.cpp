// Random graphs and regressions on the CPU backend against the naive oracle, by bits.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/text.hpp>
#include <gtest/gtest.h>

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
        expect_agreement("fused", fused, test);
        if (i / shards % 4 == 0) expect_agreement("unfused", unfused, test);
        if (i / shards % 4 == 1) expect_agreement("through its text form", through_text, test);
    }
    fmt::print("count: {} random graphs on the CPU backend\n", done);
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

/// Regressions: the printed texts of earlier failures, each added before its fix.
TEST(Regressions, give_the_oracles_bits_on_the_cpu) {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(GRIDFOLD_RANDOM_REGRESSIONS)) {
        SCOPED_TRACE(entry.path().filename());
        std::ifstream file(entry.path());
        const Case test = read_case(std::string{std::istreambuf_iterator<char>(file), {}});
        expect_agreement("fused", fused, test);
        expect_agreement("unfused", unfused, test);
        expect_agreement("through its text form", through_text, test);
        ++files;
    }
    EXPECT_GT(files, 0);
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
