// Random graphs on the CPU backend against the naive oracle, by bits.
#include <exception>
#include <functional>

#include <fmt/format.h>
#include <gridfold/ops/text.hpp>
#include <gtest/gtest.h>

#include "generate.hpp"
#include "minimise.hpp"
#include "settings.hpp"
#include "subject.hpp"

namespace gf::oracle {
namespace {

constexpr std::uint64_t shards = 8;
constexpr GenerateOptions options{};

constexpr std::uint64_t all_graphs = 20'000;
std::uint64_t graphs() { return graph_count(all_graphs); }

/// What is wrong with the library's answer to a case; nothing where it agrees with the oracle.
using Check = std::function<std::optional<std::string>(const Case&)>;

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

std::optional<std::string> outcome(const Check& check, const Case& test) {
    try {
        return check(test);
    } catch (const std::exception& error) {
        return fmt::format("throws: {}", error.what());
    }
}

/// Fails with a small case that shows what is wrong.
void expect_agreement(std::string_view what, const Check& check, const Case& test) {
    if (!outcome(check, test)) return;
    const Case small = minimise(test, [&](const Case& c) { return outcome(check, c).has_value(); });
    ADD_FAILURE() << what << ": " << *outcome(check, small) << "\n" << describe(small);
}

class RandomGraphs : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomGraphs, give_the_oracles_bits_on_the_cpu) {
    Coverage coverage;
    for (std::uint64_t i = GetParam(); i < graphs() && !HasFailure(); i += shards) {
        const Case test = generate(first_seed() + i, options, coverage);
        expect_agreement("fused", fused, test);
        if (i / shards % 4 == 0) expect_agreement("unfused", unfused, test);
        if (i / shards % 4 == 1) expect_agreement("through its text form", through_text, test);
    }
}

INSTANTIATE_TEST_SUITE_P(shards, RandomGraphs, testing::Range(std::uint64_t{0}, shards));

TEST(RandomGraphs, reach_every_row_and_type) {
    Coverage coverage;
    for (std::uint64_t i = 0; i < all_graphs; ++i) generate(first_seed() + i, options, coverage);
    fmt::print("{}", to_text(coverage));
    EXPECT_EQ(missing(coverage, options), std::vector<std::string>{});
}

// 1,024 blocks, the most there are, of several slabs each, and a ragged end.
TEST(LargeReduction, gives_the_oracles_bits_on_the_cpu) {
    constexpr std::int64_t n = (std::int64_t{2} * 1024 * 4 + 3) * 1024 + 5;
    const Case test{
        7, parse("large(x: f32[n], y: f32[n]) -> s = sum(x * y), p = max(x where y > 0.0), m = variance(x)"), {n}};
    EXPECT_EQ(fused(test), std::nullopt);
}

} // namespace
} // namespace gf::oracle
