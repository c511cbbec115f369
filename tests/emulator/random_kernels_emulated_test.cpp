// Generated kernels of random graphs in the emulator against the CPU backend, by bits: three launches on one workspace,
// the second with other extents, so that the grid shrinks or grows under it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <gridfold/fusion/executable.hpp>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/text.hpp>
#include <gtest/gtest.h>

#include "batch.hpp"
#include "bound_case.hpp"
#include "emulated_plan.hpp"
#include "failures.hpp"
#include "generate.hpp"
#include "plan/join_phases.hpp"
#include "settings.hpp"

namespace gf::emulator {
namespace {

constexpr std::uint64_t batches = 16;
#if defined(GRIDFOLD_SANITIZED) // kernels are sanitized, too, which takes a compiler ten times as long
constexpr std::uint64_t all_graphs = 16;
constexpr const char* kernel_flags = "-fsanitize=address,undefined -fno-sanitize-recover=all -g1";
#else
constexpr std::uint64_t all_graphs = 96;
constexpr const char* kernel_flags = "";
#endif
std::uint64_t graphs_per_batch() { return oracle::setting("GRIDFOLD_RANDOM_GRAPHS", all_graphs) / batches; }
constexpr oracle::GenerateOptions options{.max_elements = 21'000}, keeping{.max_elements = 21'000, .keeps_dims = true};

/// A case, its plan and kernels.
struct Subject {
    oracle::Case test;
    bool fused;
    Plan plan;
    std::vector<cuda::Kernel> kernels;
};

const char* name(const Subject& s) { return s.fused ? "emulated" : "emulated unfused"; }

/// The plan for inputs of which each may have strides.
Plan with_some_strides(const Plan& plan, oracle::Random random) {
    std::vector<bool> strided;
    for (const Array& array : plan.arrays)
        strided.push_back(random.chance(0.6) && array.role == ArrayRole::input && !array.dims.empty());
    return with_strides(plan, strided);
}

/// The case of the second launch: other sizes of dims that the graph does not fix. One dim grows: if all did, elements
/// would multiply.
oracle::Case resized(oracle::Case test) {
    bool grows = true;
    for (std::size_t d = 0; d < test.extents.size(); ++d) {
        std::int64_t& extent = test.extents[d];
        if (test.graph.dims()[d].extent) continue;
        if (extent > 4'096)
            extent /= 8;
        else if (std::exchange(grows, false))
            extent = extent > 0 ? extent * 3 + 1 : 0;
    }
    return test;
}

/// The longest row of the plan's sweeps for a case.
std::int64_t longest_row_of(const Plan& plan, const oracle::Case& test) {
    const oracle::Inputs inputs = inputs_of(test);
    const BoundCase bound(plan, test, inputs);
    std::int64_t longest = 0;
    for (const Sweep& sweep : plan.sweeps)
        if (folds_rows(sweep)) longest = std::max(longest, fold_order(sweep, bound.bound().extents).folded);
    return longest;
}

/// The most elements, a power of 2 and at most 16, of which every row of an array of a launch begins at a multiple.
int alignment_of(const BoundArray& array, const FoldOrder& order, DType type) {
    const auto power = [](std::uint64_t n) {
        return std::uint64_t{1} << std::min(n == 0 ? 4 : std::countr_zero(n), 4);
    };
    const std::uint64_t bytes = power(reinterpret_cast<std::uintptr_t>(array.address));
    const std::uint64_t of_memory = bytes < 16 ? std::max<std::uint64_t>(bytes / size_of(type), 1) : 16;
    return int(std::min(of_memory, power(std::uint64_t(order.folded))));
}

/// The facts of the rows of a plan's sweeps in the launches of a case, whose longest one `rows` has, and which may be
/// less aligned than `rows` says.
cuda::RowFacts facts_of_rows(const Plan& plan, const oracle::Case& test, cuda::RowFacts rows) {
    rows.shortest = rows.longest;
    rows.stored_alignment = rows.alignment;
    for (const oracle::Case& launched : {test, resized(test)}) {
        const oracle::Inputs inputs = inputs_of(launched);
        const BoundCase bound(plan, launched, inputs);
        for (const Sweep& sweep : plan.sweeps) {
            if (!folds_rows(sweep)) continue;
            const FoldOrder order = fold_order(sweep, bound.bound().extents);
            rows.shortest = std::min(rows.shortest, order.folded);
            rows.slabs = std::max(rows.slabs, (order.slabs + order.blocks - 1) / order.blocks);
            const auto of = [&](ArrayId a) {
                return alignment_of(bound.bound().arrays[a.index()], order, plan.arrays[a].type);
            };
            for (const ArrayId a : cuda::loaded_arrays(sweep)) rows.alignment = std::min(rows.alignment, of(a));
            for (const Store& s : cuda::element_stores(sweep))
                rows.stored_alignment = std::min(rows.stored_alignment, of(s.array));
        }
    }
    return rows;
}

/// The plan with its first chain joined, if the chain's rows can be held.
std::optional<Plan> with_held_rows(const Plan& plan, const cuda::RowFacts& rows) {
    const std::vector<Chain> chains = find_chains(plan);
    if (chains.empty()) return {};
    Plan joined = join_phases(plan, {chains[0]});
    for (const Sweep& sweep : joined.sweeps)
        if (phase_count(sweep) > 1 && !for_held_rows(rows, joined, sweep, cuda::Problems::one)) return {};
    return joined;
}

/// In a quarter of the cases inputs have strides. Half of the cases hold the rows of a chain, where there is one.
Subject subject(oracle::Case test, bool fused) {
    FuseOptions how;
    how.fuse = fused;
    Plan plan = fuse(test.graph, how);
    if (test.seed / 2 % 4 == 1) plan = with_some_strides(plan, oracle::Random(test.seed));
    std::optional<cuda::RowFacts> rows;
    if (test.seed % 2 == 0)
        rows = {.longest = std::max(longest_row_of(plan, test), longest_row_of(plan, resized(test))),
                .blocks = 1 << 20,
                .alignment = 1 << test.seed / 2 % 5};
    if (rows) {
        rows = facts_of_rows(plan, test, *rows);
        if (auto joined = with_held_rows(plan, *rows)) plan = std::move(*joined);
    }
    std::vector<cuda::Kernel> kernels = kernels_of(plan, rows);
    return {std::move(test), fused, std::move(plan), std::move(kernels)};
}

/// The first difference in the results of a subject, or nothing. Its kernels are in `module` from `first_entry` on.
std::optional<std::string> what_is_wrong(const Subject& s, const HostModule& module, std::size_t first_entry) {
    EmulatedPlan emulated(s.plan, s.kernels, module, first_entry);
    const Executable reference = compile(s.test.graph, {.device = "cpu"});
    int launch = 0;
    for (const oracle::Case& test : {s.test, resized(s.test), s.test}) {
        const Order order = all_orders[(s.test.seed + static_cast<std::uint64_t>(launch)) % std::size(all_orders)];
        ++launch;
        const oracle::Inputs inputs = inputs_of(test);
        const BoundCase bound(s.plan, test, inputs);
        try {
            const auto scalars = emulated.run(bound.bound(), order, test.seed);
            if (const auto wrong = difference(run(reference, test, inputs), bound.results(scalars)))
                return fmt::format("launch {}: {}", launch, *wrong);
        } catch (const std::exception& error) {
            return fmt::format("launch {}: {}", launch, error.what());
        }
    }
    return {};
}

std::vector<std::string> sources_of(const std::vector<Subject>& subjects) {
    std::vector<std::string> sources;
    for (const Subject& s : subjects)
        for (const cuda::Kernel& kernel : s.kernels) sources.push_back(kernel.source);
    return sources;
}

/// Runs all cases' kernels, compiled together, and compares. The first wrong case is run again alone and minimised.
void expect_the_cpus_bits(const std::vector<Subject>& subjects) {
    constexpr int most_compilations = 300;
    const auto made_small = [](const Subject& s) {
        const auto alone = [&](const oracle::Case& test) {
            const std::vector<Subject> one{subject(test, s.fused)};
            return what_is_wrong(one[0], HostModule(sources_of(one), kernel_flags), 0);
        };
        return failure(name(s), alone, s.test, most_compilations);
    };
    const std::vector<std::string> sources = sources_of(subjects);
    std::optional<HostModule> compiled;
    try {
        compiled.emplace(sources, kernel_flags);
    } catch (const std::exception&) { // finds the case that does not compile
        for (const Subject& s : subjects)
            if (const auto small = made_small(s)) {
                ADD_FAILURE() << *small;
                return;
            }
        throw;
    }
    const HostModule& module = *compiled;
    std::size_t first_entry = 0;
    int others = 0;
    for (const Subject& s : subjects) {
        const auto together = [&] {
            const oracle::Running running(name(s), s.test);
            return what_is_wrong(s, module, first_entry);
        }();
        first_entry += s.kernels.size();
        if (!together) continue;
        if (testing::Test::HasFailure()) { // minimising takes minutes, and one case is enough
            ++others;
            continue;
        }
        ADD_FAILURE() << *together << "\n" << made_small(s).value_or("not seen again alone\n" + describe(s.test));
    }
    if (others != 0) ADD_FAILURE() << others << " other graphs of this batch are wrong as well";
    fmt::print("count: {} kernels in the emulator{}\n", sources.size(),
               *kernel_flags ? ", with sanitizers of their own" : "");
}

class RandomKernels : public testing::TestWithParam<std::uint64_t> {
protected:
    void SetUp() override {
        if (host_compiler().empty()) GTEST_SKIP() << "no host compiler: generated kernels cannot be executed here";
    }
};

TEST_P(RandomKernels, give_the_cpus_bits_in_the_emulator) {
    oracle::Coverage coverage;
    std::vector<Subject> subjects;
    for (std::uint64_t i = GetParam(); i < batches * graphs_per_batch(); i += batches)
        subjects.push_back(
            subject(oracle::generate(1'000'000 + oracle::first_seed() + i, i % 3 == 0 ? keeping : options, coverage),
                    i % 5 != 4));
    expect_the_cpus_bits(subjects);
}

// The CPU gives each problem of a batch the bits that it has alone: random_cpu_test.
TEST_P(RandomKernels, of_batches_give_the_cpus_bits_in_the_emulator) {
    oracle::Coverage coverage;
    std::vector<Subject> subjects;
    for (std::uint64_t i = GetParam(); i < batches * graphs_per_batch() / 4; i += batches) {
        oracle::GenerateOptions small = i % 2 == 0 ? keeping : options;
        small.max_elements = 4'000;
        const oracle::Case test = oracle::generate(8'000'000 + oracle::first_seed() + i, small, coverage);
        const auto batch = oracle::batch_of(test, i % 3 == 0 ? 1 : i % 3 == 1 ? 3 : 5);
        if (batch) subjects.push_back(subject(batch->test, true));
    }
    expect_the_cpus_bits(subjects);
}

INSTANTIATE_TEST_SUITE_P(batches, RandomKernels, testing::Range(std::uint64_t{0}, batches));

/// Graphs of the documentation and the examples.
TEST_F(RandomKernels, of_the_examples_give_the_cpus_bits) {
    std::vector<Subject> subjects;
    std::uint64_t seed = 1;
    for (const char* text : {
             "cubes(x: f32[n]) -> s = sum(x * x * x)",
             "cubes(x: i32[n]) -> s = sum(x * x * x)",
             "cubes(x: i64[n]) -> s = sum(x * x * x)",
             "dozen(x: f32[n]) -> a = sum(x), b = sum_of_squares(x), c = l2_norm(x), d = mean(x), e = variance(x), "
             "f = stddev(x), g = min(x), h = max(x), i = count(x > f32(0)), j = any(x), k = all(x), l = product(x)",
             "dozen(x: f16[n]) -> a = sum(x), b = argmin(x), c = argmax(x), d = mean(x where x > f16(0))",
             "z(x: f32[n]) -> z = (x - mean(x)) / stddev(x)",
             "unit(x: f64[n]) -> y = x / sqrt(sum(x * x))",
             "none(x: i32[n]) let m = min(x where x > i32(2147483647)); -> m = m, half = f64(m) / 2.0, y = x + (m + "
             "i32(1))",
             "pick(x: i32[n]) let m = min(x where x > 2147483647); let none = count(x > 2147483647) == 0; "
             "-> a = select(none, -1, m), b = select(none, m, -1), c = select(m > 0, 1, 2)",
             "either(x: i32[n]) -> d = max(x where x > 2147483647) + max(x where x <= 2147483647)",
             "stats(x: f32[i, j], w: f32[j], alpha: f32) let y = x * w; "
             "-> mean = mean(y), hot = sum(y where y > alpha, accumulate = f64)",
             "stats(x: i32[i, j], w: i32[j], alpha: i32) let y = x * w; "
             "-> mean = mean(y), hot = sum(y where y > alpha), y = y",
             "places(x: f32[i, j]) -> place = index(i) * 1000 + index(j), s = sum(x * f32(index(i)))",
         }) {
        const Graph graph = parse(text);
        subjects.push_back(subject(
            {seed++, graph, std::vector<std::int64_t>(graph.dims().size(), graph.dims().size() == 1 ? 20'011 : 141)},
            true));
    }
    expect_the_cpus_bits(subjects);
}

/// Cases of earlier failures (tests/random/regressions).
TEST_F(RandomKernels, that_were_wrong_once_give_the_cpus_bits) {
    std::vector<Subject> subjects;
    for (const auto& entry : std::filesystem::directory_iterator(GRIDFOLD_RANDOM_REGRESSIONS)) {
        std::ifstream file(entry.path());
        const oracle::Case test = oracle::read_case(std::string{std::istreambuf_iterator<char>(file), {}});
        for (const bool fused : {true, false}) subjects.push_back(subject(test, fused));
    }
    expect_the_cpus_bits(subjects);
}

} // namespace
} // namespace gf::emulator
