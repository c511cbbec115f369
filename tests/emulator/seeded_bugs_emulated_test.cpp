// The emulator must find each deliberate defect in generated kernels, by a wrong bit or by an error. The defects are
// the entries of tests/seeded/catalogue.txt that edit a kernel's text; an entry that does not apply fails.
#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gridfold/core/half.hpp>
#include <gridfold/fusion/executable.hpp>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/text.hpp>
#include <gtest/gtest.h>

#include "bound_case.hpp"
#include "catalogue.hpp"
#include "emulated_plan.hpp"
#include "plan/join_phases.hpp"

namespace gf::emulator {
namespace {

using seeded::Defect;

/// The text with every `from` replaced.
std::string edited(std::string text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
}

/// A seed that misaligns none of the first three arrays.
std::uint64_t aligned_seed() {
    for (std::uint64_t seed = 1;; ++seed) {
        oracle::Random random(seed);
        if (random.below(4) + random.below(4) + random.below(4) == 0) return seed;
    }
}

/// A seed that puts the first array 1 to 3 elements behind a multiple of 16 bytes.
std::uint64_t misaligned_seed() {
    for (std::uint64_t seed = 1;; ++seed) {
        oracle::Random random(seed);
        if (draw_snug(random) == Snug::at_begin && random.below(4) != 0) return seed;
    }
}

/// A seed that puts the first of two arrays at the end of its page, and the second beside a multiple of 16 bytes.
std::uint64_t one_misaligned_seed() {
    for (std::uint64_t seed = 1;; ++seed) {
        oracle::Random random(seed);
        const bool first_at_end = draw_snug(random) != Snug::at_begin;
        if (first_at_end && draw_snug(random) == Snug::at_begin && random.below(4) != 0) return seed;
    }
}

/// A case, and what its kernels are for. The catalogue names the one that finds a defect.
struct UnderTest {
    std::string name;
    oracle::Case test;
    std::optional<cuda::RowFacts> rows = {};
};

/// The cheapest first. Five blocks of a single fold, aligned and not. One array that ends with a page and a slab, and
/// one that is not aligned. Narrow arrays that are not aligned to words, with few NaN. Two dims, one of them broadcast.
/// One block, aligned: a batch of slabs and a tail; folds in steps. Five blocks with several folds of different widths
/// and monoids, a store, and masks (one accepts nothing): a state that many threads collect; and moments of few
/// elements a lane about 0 (y is 1.000475 where x is about 0.975). 37 blocks whose states two warps collect; 74 blocks,
/// three warps, two states a lane; 129 blocks, one warp, eight states a lane.
///
/// Folds over some dims: rows of four blocks; columns of four blocks, aligned; columns of two parts, the second short,
/// that are not, read element by element and in windows; channels of three blocks, and channels whose slabs are cut
/// along a folded dim; channels whose lanes combine in pairs before shared memory has room for the rest, or fold after
/// fold; small parts that share tiles, the last not full, and larger ones of a batch that are not aligned, and one that
/// is; rows without elements; then rows by warps: short ones side by side, aligned and not; longer ones of a warp; and
/// of four warps each; and functions of operands that are plain, and of others.
std::vector<UnderTest> graphs_under_test() {
    const char* sum = "g(x: i8[n]) -> s = sum(x)";
    const char* dims =
        "g(x: f32[i, j], w: f16[j], m: bool[i]) let y = x * w; -> at = argmax(x + f32(index(j))), "
        "any = any(y * f32(-0.0)), all = all(x > f32(-1)), low = min(y + f32(1)), high = max(-y - f32(1)), "
        "log = logsumexp(y where m), half = f16(x) * w, squares = sum_of_squares(y)";
    const char* block = "g(x: f32[n], y: f64[n]) -> s = sum(x), at = argmin(x), top = argmax(floor(x * f32(4))), "
                        "v = variance(y, ddof = 1), c = count(x), z = y * f64(2)";
    const char* wide =
        "g(x: f32[n], y: f64[n]) -> s = sum(x), p = product(y), low = argmin(y where x > f32(0.5)), "
        "v = variance(y - f64(1.000475) where x > f32(0.95)), z = x * f32(2), none = argmax(x where x > f32(9))";
    const char* pairs =
        "g(x: f32[n], y: f64[n]) let z = f32(y) * x; -> c = covariance(x, z, ddof = 1), r = correlation(x, z), "
        "high = at_max(x, y), third = largest(x, rank = 2), last = last(y), w = weighted_mean(x, z where x > f32(0.5))";
    const char* narrow = "g(x: i8[n], h: f16[n]) -> s = sum(x), high = max(sqrt(f32(h) - f32(0.001))), t = sum(h)";
    const char* beside = "g(x: f32[n], y: f32[n]) -> s = sum(x + y)";
    const char* one_each = "g(x: f32[n]) -> at = argmax(x)";
    const char* two_each = "g(x: f32[n]) -> s = sum(x), p = product(x), low = min(x), high = max(x)";
    const char* rows = "g(x: f32[i, j], w: f32[j], m: bool[i]) -> s = sum(x over [j]), at = argmax(x * w over [j]), "
                       "v = variance(f64(x) over [j]), t = sum(x where m over [j]), y = x * f32(2)";
    const char* columns = "g(x: f32[i, j], m: bool[j]) -> s = sum(x over [i]), at = argmin(x over [i]), "
                          "t = sum(x where x > f32(0.5) over [i]), y = x * f32(2)";
    const char* column = "g(x: f32[i, j]) -> s = sum(x over [i]), at = argmax(x over [i])";
    const char* channels =
        "g(x: f32[n, c, h]) -> v = variance(f64(x) + f64(1000) over [n, h]), at = argmax(x over [n, h])";
    const char* wide_channels =
        "g(x: f32[n, c, h]) -> v = covariance(x, sqrt(x) over [n, h]), at = argmax(x over [n, h])";
    const char* middle = "g(x: f32[b, i, k]) -> s = sum(x over [i]), at = argmax(x over [i])";
    const char* none = "g(x: f32[i, j]) -> s = sum(x over [j])";
    const char* short_rows =
        "g(x: f32[i, j]) -> m = mean(x over [j]), v = variance(x over [j]), at = argmax(x over [j])";
    const char* functions = "g(x: f32[n]) -> y = exp(x * f32(200) - f32(100)), z = log1p(x * f32(4) - f32(2))";
    const char* beside_in_rows = "g(x: f16[i, j], y: f16[i, j]) -> s = sum(x + y over [j])";
    return {{"five blocks", {4, parse(sum), {17'000}}},
            {"five blocks, misaligned", {misaligned_seed(), parse(sum), {17'000}}},
            {"one misaligned", {one_misaligned_seed(), parse(beside), {12 * 2048}}},
            {"narrow", {1, parse(narrow), {30'011}}},
            {"dims", {3, parse(dims), {150, 133}}},
            {"block", {aligned_seed(), parse(block), {10'003}}},
            {"wide", {1, parse(wide), {19'937}}},
            {"one state each", {1, parse(one_each), {150'000}}},
            {"two states each", {1, parse(two_each), {300'000}}},
            {"many blocks", {2, parse(sum), {2'100'000}}},
            {"rows of blocks", {1, parse(rows), {3, 13'001}}},
            {"aligned columns", {aligned_seed(), parse(column), {80, 1104}}},
            {"columns", {aligned_seed(), parse(columns), {52, 2101}}},
            {"misaligned columns", {one_misaligned_seed(), parse(columns), {81, 2101}}, cuda::RowFacts{.slabs = 40}},
            {"channels", {2, parse(channels), {200, 3, 72}}},
            {"channels cut along a folded dim",
             {aligned_seed(), parse(channels), {3, 2, 3000}},
             cuda::RowFacts{.alignment = 16}},
            {"wide channels", {aligned_seed(), parse(wide_channels), {100, 25, 73}}},
            {"wide channels of whole packs", {aligned_seed(), parse(wide_channels), {200, 3, 72}}},
            {"channels of four lanes", {2, parse(channels), {1, 600, 4}}},
            {"middle", {1, parse(middle), {47, 9, 5}}},
            {"middle, larger", {1, parse(middle), {3, 501, 9}}},
            {"aligned parts", {aligned_seed(), parse(middle), {1, 1503, 9}}, cuda::RowFacts{.alignment = 16}},
            {"no elements", {1, parse(none), {2000, 0}}},
            {"short rows", {aligned_seed(), parse(short_rows), {70, 20}}, cuda::RowFacts{20, 70, 4}},
            {"short rows, one misaligned",
             {one_misaligned_seed(), parse(beside_in_rows), {6, 24}},
             cuda::RowFacts{24, 6, 1}},
            {"rows of a warp", {aligned_seed(), parse(rows), {30, 100}}, cuda::RowFacts{100, 30, 16}},
            {"misaligned rows of a warp", {misaligned_seed(), parse(rows), {41, 51}}, cuda::RowFacts{51, 41, 4}},
            {"longer rows of a warp", {aligned_seed(), parse(rows), {9, 700}}, cuda::RowFacts{700, 1000, 16}},
            {"misaligned longer rows of a warp",
             {misaligned_seed(), parse(rows), {3, 1101}},
             cuda::RowFacts{1101, 1000, 1}},
            {"rows of four warps", {aligned_seed(), parse(rows), {1, 12'500}}, cuda::RowFacts{12'500, 5000, 16}},
            {"functions", {aligned_seed(), parse(functions), {5'003}}},
            {"pairs", {1, parse(pairs), {19'937}}}}; // last: few defects are left, and its kernel compiles slowly
}

/// Numbers without special values, different for each launch.
oracle::Inputs inputs(const oracle::Case& test, int launch) {
    oracle::Inputs inputs;
    for (const NodeId node : test.graph.nodes()) {
        const Node& input = test.graph.node(node);
        if (input.kind != NodeKind::input) continue;
        std::vector<oracle::Bits>& bits = inputs[input.name];
        for (std::int64_t i = 0; i < oracle::element_count(test, input); ++i) {
            const std::int64_t k = (i * 7919 + launch * 31) % 1'999;
            const auto fraction = static_cast<double>(k) / 1'999;
            bits.push_back(input.type == DType::f32       ? oracle::to_bits(static_cast<float>(fraction))
                           : input.type == DType::f64     ? oracle::to_bits(1.0 + (fraction - 0.5) * 1e-3)
                           : input.type == DType::f16     ? f16(static_cast<float>(fraction)).bits
                           : input.type == DType::boolean ? k % 3 != 0
                                                          : static_cast<std::uint8_t>(k));
        }
    }
    return inputs;
}

/// One launch of a case: its order of threads, its bindings and its expected results.
struct Launch {
    Order order;
    bool after_the_wrap; ///< all tags but one have been used before
    oracle::Case test;
    oracle::Inputs inputs;
    std::vector<oracle::Result> expected;
};

/// A case, its plan, and one module with the kernel as it is and with each defect that it can show.
class Subject {
    static Plan joined(const Plan& plan) { return join_phases(plan, find_chains(plan)); }

public:
    Subject(const UnderTest& given, const std::vector<const Defect*>& defects)
        : plan_(joined(fuse(given.test.graph))), kernels_(kernels_of(plan_, given.rows)) {
        std::vector<std::string> sources{kernels_.at(0).source};
        for (const Defect* defect : defects) {
            const seeded::Edit edit = seeded::edit(*defect);
            if (sources[0].find(edit.from) == std::string::npos) continue;
            shown_.push_back(defect);
            sources.push_back(edited(sources[0], edit.from, edit.to));
        }
        if (kernels_.size() != 1) throw std::logic_error("a graph under test is one sweep");
        module_ = std::make_unique<HostModule>(sources);
        add_launches(given.test);
    }

    /// The defects that apply to the kernel: number i is in source i + 1. Source 0 has none.
    const std::vector<const Defect*>& shown() const { return shown_; }

    /// Launches a source under each order of threads, on one workspace. Returns the first error, or nothing.
    std::optional<std::string> outcome(std::size_t source) const {
        EmulatedPlan emulated(plan_, kernels_, *module_, source);
        try {
            for (std::size_t i = 0; i < launches_.size(); ++i) {
                const Launch& launch = launches_[i];
                if (launch.after_the_wrap) emulated.set_launches(0xfffffffeu);
                const BoundCase bound(plan_, launch.test, launch.inputs);
                const auto scalars = emulated.run(bound.bound(), launch.order, i);
                if (auto wrong = difference(launch.expected, bound.results(scalars))) return wrong;
            }
        } catch (const std::runtime_error& error) {
            return error.what();
        }
        return {};
    }

private:
    /// Between the first launch and the others all tags are used, the last one by a single block.
    void add_launches(const oracle::Case& test) {
        const bool keeps = !kept_dims(plan_.sweeps[0]).empty(); // then each part has numbers of its own
        oracle::Case short_test = test;
        if (!keeps) short_test.extents[0] = 5;
        const Executable reference = compile(test.graph, {.device = "cpu"});
        const auto add = [&](Order order, const oracle::Case& given) {
            const int number = static_cast<int>(launches_.size());
            Launch launch{order, &given == &short_test, given, inputs(given, number), {}};
            launch.expected = run(reference, given, launch.inputs);
            launches_.push_back(std::move(launch));
        };
        add(Order::forward, test);
        add(Order::last_block, short_test);
        for (const Order order :
             {Order::last_block, Order::backward, Order::shuffled, Order::starved, Order::starved, Order::last_block})
            add(order, test);
    }

    Plan plan_;
    std::vector<cuda::Kernel> kernels_;
    std::vector<const Defect*> shown_;
    std::unique_ptr<HostModule> module_;
    std::vector<Launch> launches_;
};

/// True if the source gives a wrong result. Runs in a child process: a defect may write outside its arrays, or hang.
bool is_found(const Subject& subject, std::size_t source) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(subject.outcome(source) ? 1 : 0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) throw std::runtime_error("no process for a seeded defect");
    return status != 0;
}

TEST(SeededBugs, are_all_found_by_the_emulator) {
    if (host_compiler().empty()) GTEST_SKIP() << "no host compiler: generated kernels cannot be executed here";
    const std::vector<Defect> catalogue = seeded::read_catalogue();
    std::vector<const Defect*> left;
    for (const Defect& defect : catalogue)
        if (defect.in_kernel) left.push_back(&defect);
    std::set<const Defect*> shown;
    for (const UnderTest& given : graphs_under_test()) {
        std::vector<const Defect*> tried; // one that survives is tried with one graph
        std::ranges::copy_if(left, std::back_inserter(tried), [&](const Defect* defect) {
            return defect->by.empty() ? !(shown.contains(defect) && !defect->survives.empty())
                                      : defect->by == given.name;
        });
        const oracle::Case& test = given.test;
        const Subject subject(given, tried);
        EXPECT_EQ(subject.outcome(0), std::nullopt) << "without a defect: " << oracle::describe(test);
        EXPECT_FALSE(is_found(subject, 0)) << "without a defect, in a process of its own: " << oracle::describe(test);
        for (std::size_t i = 0; i < subject.shown().size(); ++i) {
            const Defect* const defect = subject.shown()[i];
            shown.insert(defect);
            if (!is_found(subject, i + 1)) continue;
            fmt::print("found: {}\nby: {}\n", defect->name, given.name); // scripts/seeded-bugs reads the first line
            std::erase(left, defect);
        }
    }
    for (const Defect& defect : catalogue) {
        if (!defect.in_kernel) continue;
        EXPECT_TRUE(shown.contains(&defect))
            << defect.name << ": the edit shows in no kernel" << (defect.by.empty() ? "" : " of \"" + defect.by + '"');
        EXPECT_EQ(std::ranges::count(left, &defect), defect.survives.empty() ? 0 : 1)
            << defect.name << ": found, or not"
            << (defect.by.empty() ? "" : ", by \"" + defect.by + "\": without its line \"by:\" all graphs are tried");
    }
}

} // namespace
} // namespace gf::emulator
