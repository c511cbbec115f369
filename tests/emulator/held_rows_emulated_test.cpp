// Held rows (held_rows.cuh) in the emulator: joined sweeps of several phases against the CPU backend, which runs their
// sweeps one by one, by bits.
#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gridfold/fusion/executable.hpp>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/text.hpp>
#include <gtest/gtest.h>

#include "against_cpu.hpp"
#include "cuda/launch.hpp"
#include "plan/join_phases.hpp"

namespace gf::emulator {
namespace {

/// A graph whose sweeps are joined, and the extents of its first launch.
struct HeldCase {
    const char* text;
    std::vector<std::int64_t> extents;
    int alignment; ///< of the rows, in elements
    cuda::RowSharing sharing = {};
    bool whole_slabs = false;   ///< its kernels are for rows of whole slabs and aligned memory alone
    bool aligned = whole_slabs; ///< … for aligned memory alone
    std::int64_t rows = 1;      ///< that the schedule is chosen for
};

constexpr auto softmax = "f(x: f32[i, k]) let m = max(x over [k]); let e = exp(x - m); -> y = e / sum(e over [k])";
constexpr auto half_softmax =
    "f(x: bf16[i, k]) let m = max(x over [k]); let e = exp(f32(x) - f32(m)); -> y = bf16(e / sum(e over [k]))";
constexpr auto layer_norm = "f(x: f32[i, k], g: f32[k], b: f32[k], eps: f32) let d = x - mean(x over [k]); "
                            "-> y = d / sqrt(mean(d * d over [k]) + eps) * g + b";
constexpr auto norms = "f(x: f32[i, k], w: f32[i], m: bool[i, k]) let s = variance(x over [k]); "
                       "let at = argmax(x * w where m over [k]); let n = sum(x where m over [k]); "
                       "-> s = s, at = at, n = n, y = x / (sqrt(s) + w), far = i64(index(k)) - at";
constexpr auto deep = "f(x: f64[i, k], y: f16[i, k]) let a = mean(x over [k]); let b = variance(x - a over [k]); "
                      "let c = max(f64(y) * b over [k]); let d = sum(x * c - a over [k]); "
                      "-> d = d, c = c, z = x + d * f64(y)";

// A variance of what is held: its origin is of a row's first element.
constexpr auto of_held = "f(x: f32[i, k]) let e = exp(x - max(x over [k])); let s = sum(e over [k]); "
                         "-> v = variance(e / s over [k]), m = mean(e * e over [k])";
// What is held has another size than what it could take the place of.
constexpr auto masked_softmax = "f(z: bool[i, k], x: f32[i, k]) let m = max(x where z over [k]); let e = exp(x - m); "
                                "-> y = e / sum(e where z over [k])";
constexpr auto mixed_softmax = "f(h: f16[i, k], x: f32[i, k]) let a = f32(h) + x; let e = exp(a - max(a over [k])); "
                               "-> y = e / sum(e over [k])";

// Elements of which a word has several, results of several sizes, and packs of 4 and of 32 bytes.
constexpr auto bytes = "f(x: u8[i, k]) -> y = max(x over [k]) - x";
constexpr auto halves_and_flags =
    "f(x: bf16[i, k]) let d = f32(x) - f32(max(x over [k])); -> y = bf16(d), b = d < -1.0";
constexpr auto wide_and_narrow = "f(x: f64[i, k], u: u8[i, k]) let s = sum(x * f64(u) over [k]); "
                                 "-> y = x - s, v = u + u8(7)";

// What is held is wider than what it takes the place of, beside another that is needed.
constexpr auto weighted_softmax = "f(x: bf16[i, k], w: bf16[i, k]) let z = f32(x); let e = exp(z - max(z over [k])); "
                                  "-> y = bf16(e / sum(e over [k]) * f32(w))";

// Quotients halfway between two bfloat16 numbers, and quotients by a sum too large for the fast division.
constexpr auto midpoints =
    "f(x: f32[i, k]) let s = abs(sum(x over [k])) + 3.7; let u = x - floor(x) + 1.0; "
    "let m = (floor(u * 128.0) + 0.5) / 128.0; -> y = bf16(m * s / s), w = bf16(m / s * 3.0 - m)";
constexpr auto huge_shares = "f(x: bf16[i, k]) let a = f32(x) * 1e20; -> y = bf16(a / sum(a over [k]))";

// A quotient next to one that is subtracted from it: products with the reciprocal's neighbours are on both sides.
constexpr auto infinite = "f(x: i8[i, k], w: i16[i], v: i16[i]) let a = abs(f32(w)) * 0.0123 + 1.0 + 0.0 * f32(x); "
                          "let s = sum(f32(x) * 0.0 over [k]) + abs(f32(v)) * 0.0234 + 1.0; "
                          "let h = f32(f64(a) / f64(s)); -> y = bf16((a / s - h) * 1e30 * 1e30 * 0.0)";

constexpr auto half_extremes =
    "f(x: bf16[i, k], m: bool[i, k]) let lo = min(x over [k]); let hi = max(x over [k]); let at = argmax(x over [k]); "
    "let some = min(x where m over [k]); let v = variance(x over [k]); -> lo = lo, hi = hi, some = some, v = v, at = "
    "at, "
    "y = bf16((f32(x) - f32(lo)) / (f32(hi) - f32(lo))), z = f32(x) - v";
constexpr auto half_layer_norm = "f(x: bf16[i, k], g: bf16[k], b: f32[k]) let d = f32(x) - mean(f32(x) over [k]); "
                                 "-> y = bf16(d / sqrt(mean(d * d over [k]) + 0.001) * f32(g) + b)";

// Two values are held, of which one may take the place of what is loaded.
constexpr auto two_held = "f(x: f32[i, k]) let d = x - max(x over [k]); let e = exp(d); let t = tanh(d); "
                          "-> y = e / sum(e over [k]) + t / sum(t over [k])";

// What is held is narrower than a word.
constexpr auto narrow_held = "f(x: u8[i, k]) let p = pow(x, u8(3)); let m = max(p over [k]); -> y = m - p";

/// The joined plan of a case, its kernels, and the CPU's executable.
class Subject : public SubjectOfCourse {
public:
    explicit Subject(const HeldCase& given)
        : SubjectOfCourse(given.text, [](const Graph& graph) { return joined(fuse(graph)); }), given_(given) {
        const std::int64_t row = fold_order(plan_.sweeps[SweepId(0)], given.extents).folded;
        const FoldOrder order = fold_order(row);
        kernels_ = kernels_of(plan_,
                              cuda::RowFacts{.longest = row,
                                             .blocks = given.rows,
                                             .alignment = given.alignment,
                                             .shortest = row,
                                             .slabs = (order.slabs + order.blocks - 1) / order.blocks,
                                             .stored_alignment = given.aligned ? given.alignment : 1,
                                             .packs_aligned = given.aligned},
                              given.sharing);
    }

    /// Launches with the case's rows, with one more, and with shorter ones, at several alignments of memory. Where
    /// several thread blocks share a row, some are so short that the last ones have no elements.
    std::optional<std::string> what_is_wrong(const HostModule& module, std::size_t first_entry) const {
        EmulatedPlan emulated(plan_, kernels_, module, first_entry);
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
            oracle::Case test{seed, graph_, given_.extents};
            if (seed == 2 && !kept_dims(plan_.sweeps[SweepId(0)]).empty()) test.extents[0] += 1;
            if (seed == 3) test.extents.back() = shorter(test.extents.back(), 3);
            if (const cuda::Schedule& of = schedule(); seed == 4 && of.cluster > 1)
                test.extents.back() = !of.cooperates && !given_.whole_slabs
                                          ? 12'000
                                          : shorter(test.extents.back(), test.extents.back() / 8);
            if (given_.aligned || schedule().whole_packs) align(test, plan_);
            const std::int64_t most_clusters = seed == 1 ? 100 : 1; // one has rows after its first
            if (auto wrong = emulator::what_is_wrong(emulated, plan_, reference_, test, seed, most_clusters))
                return wrong;
        }
        return {};
    }
    /// All thread blocks of a launch together prefetch each byte of an input once, but for those of the first rows,
    /// which are loaded at once.
    void expect_all_but_the_first_to_be_prefetched(const HostModule& module) const {
        EmulatedPlan emulated(plan_, kernels_, module, 0);
        oracle::Case test{1, graph_, given_.extents};
        if (given_.aligned) align(test, plan_);
        const oracle::Inputs inputs = inputs_of(test);
        const BoundCase bound(plan_, test, inputs);
        emulated.run(bound.bound(), Order::shuffled, 1);
        const FoldOrder order = fold_order(plan_.sweeps[SweepId(0)], given_.extents);
        const std::int64_t at_once = parts_of_tile(kernels_.front(), order) * order.folded; // elements
        const std::int64_t ahead = std::max(schedule().elements_ahead / at_once, std::int64_t{1}) * at_once;
        for (const ArrayId a : cuda::arrays_in_order(plan_, plan_.sweeps[SweepId(0)])) {
            const Array& array = plan_.arrays[a];
            SCOPED_TRACE(array.name);
            const auto first = reinterpret_cast<std::uintptr_t>(bound.bound().arrays[a.index()].address);
            const auto after = [&](std::int64_t elements) {
                return first + std::uintptr_t(elements) * size_of(array.type);
            };
            const std::uintptr_t end = after(cuda::elements_of(array.dims, bound.bound().extents));
            std::vector<std::pair<std::uintptr_t, std::uintptr_t>> ranges;
            for (const Bytes& range : prefetched()) {
                const auto begin = reinterpret_cast<std::uintptr_t>(range.begin);
                if (begin >= first && begin < end)
                    ranges.emplace_back(begin, reinterpret_cast<std::uintptr_t>(range.end));
            }
            std::ranges::sort(ranges);
            ASSERT_FALSE(ranges.empty());
            constexpr std::uintptr_t rounded = 16; // ranges begin and end at multiples of it
            EXPECT_EQ(ranges.front().first, (after(ahead) + rounded - 1) / rounded * rounded);
            for (std::size_t i = 1; i < ranges.size(); ++i) {
                EXPECT_GE(ranges[i].first, ranges[i - 1].second);
                EXPECT_LE(ranges[i].first, ranges[i - 1].second + rounded);
            }
            EXPECT_EQ(ranges.back().second, end / rounded * rounded);
        }
    }
    std::string name() const {
        return fmt::format("{} rows of {}: {}", given_.extents[0], given_.extents.back(), given_.text);
    }

private:
    /// The length less `by`, in whole slabs or packs if kernels are for such rows; unchanged if nothing would be left,
    /// or if kernels are for rows of this length.
    std::int64_t shorter(std::int64_t length, std::int64_t by) const {
        if (schedule().even_blocks) return length;
        const bool gets_units = schedule().course == cuda::Course::held_thread_rows;
        const std::int64_t multiple = given_.whole_slabs       ? slab_elements
                                      : schedule().whole_packs ? 16
                                      : gets_units             ? given_.alignment
                                                               : 1;
        by = std::max(by / multiple, std::int64_t{1}) * multiple;
        return length > by ? length - by : length;
    }
    static Plan joined(const Plan& plan) { return join_phases(plan, find_chains(plan, Folded::rows_or_all)); }

    HeldCase given_;
};

void expect_the_cpus_bits(const std::vector<HeldCase>& cases) { expect_the_cpus_bits_of<Subject>(cases); }

TEST(HeldRows, of_part_of_a_warp) {
    expect_the_cpus_bits(
        {{softmax, {70, 20}, 4}, {half_softmax, {37, 40}, 8}, {softmax, {33, 3}, 1}, {norms, {41, 51}, 1}});
}

TEST(HeldRows, of_a_few_threads_with_several_packs_each) {
    std::vector<HeldCase> cases{{softmax, {19, 96}, 16, {}, true},
                                {half_softmax, {37, 96}, 16, {}, true},
                                {half_softmax, {9, 300}, 4},
                                {half_softmax, {9, 301}, 1},
                                {layer_norm, {5, 300}, 4},
                                {mixed_softmax, {6, 96}, 16},
                                {of_held, {5, 300}, 4}};
    for (HeldCase& given : cases) {
        given.rows = 1 << 20;
        const cuda::Schedule chosen = Subject(given).schedule();
        EXPECT_EQ(chosen.course, cuda::Course::held_rows) << given.text << given.extents.back();
        EXPECT_TRUE(chosen.row_threads < 32 && chosen.row_packs > 1) << given.text << given.extents.back();
    }
    expect_the_cpus_bits(cases);
}

TEST(HeldRows, of_a_warp) {
    expect_the_cpus_bits(
        {{softmax, {9, 700}, 4}, {layer_norm, {7, 300}, 4}, {norms, {5, 401}, 1}, {deep, {6, 200}, 8}});
}

TEST(HeldRows, of_warps_that_share_a_slab) {
    expect_the_cpus_bits(
        {{softmax, {5, 2048}, 16}, {half_softmax, {3, 4096}, 16}, {norms, {3, 5003}, 1}, {deep, {2, 2100}, 4}});
}

TEST(HeldRows, of_which_functions_are_held) {
    expect_the_cpus_bits({{of_held, {9, 20}, 4},
                          {of_held, {5, 2048}, 16},
                          {of_held, {2, 14'003}, 1},
                          {weighted_softmax, {3, 4096}, 16},
                          {weighted_softmax, {2, 14'003}, 1},
                          {masked_softmax, {9, 700}, 4},
                          {masked_softmax, {3, 5003}, 1},
                          {masked_softmax, {3, 4096}, 16},
                          {mixed_softmax, {3, 4096}, 16},
                          {mixed_softmax, {2, 14'003}, 1}});
}

TEST(HeldRows, of_elements_that_are_no_words) {
    expect_the_cpus_bits({{bytes, {3, 2055}, 1},
                          {bytes, {2, 5003}, 1},
                          {bytes, {3, 1031}, 1},
                          {halves_and_flags, {2, 5003}, 1},
                          {halves_and_flags, {3, 1500}, 4},
                          {wide_and_narrow, {2, 3001}, 1},
                          {wide_and_narrow, {3, 1028}, 4}});
    const HeldCase in_cluster{bytes, {2, 89'001}, 1, {4}};
    EXPECT_GT(Subject(in_cluster).schedule().cluster, 1);
    expect_the_cpus_bits({in_cluster});
}

constexpr auto narrowed = "f(x: f32[i, k]) -> y = u8(max(x over [k]) - x)";

// The last packs of a warp share words with the packs before, or are of fewer elements than a word.
TEST(HeldRows, of_packs_that_share_a_word) {
    expect_the_cpus_bits({{bytes, {5, 2'048 + 1'025}, 1},
                          {bytes, {5, 2'048 + 1}, 1},
                          {bytes, {5, 2'048 + 2}, 1},
                          {bytes, {5, 2'048 + 514}, 1},
                          {narrowed, {5, 4'096 + 130}, 1},
                          {narrowed, {5, 2'048 + 257}, 1},
                          {half_softmax, {3, 10'497}, 1},
                          {half_layer_norm, {3, 6'401}, 1}});
}

// A row is held by one thread block, a warp for each block, where a cluster would leave many warps without one.
TEST(HeldRows, of_a_warp_for_each_block) {
    const std::vector<HeldCase> cases{{half_layer_norm, {2, 50'257}, 1, {8}}, {half_layer_norm, {2, 37'003}, 1, {8}}};
    // Where it does not fit twice, a cluster has the row.
    EXPECT_GT(Subject({half_layer_norm, {2, 50'257}, 1, {8, 0, 101'376}}).schedule().cluster, 1);
    for (const HeldCase& given : cases) {
        const cuda::Schedule schedule = Subject(given).schedule();
        EXPECT_EQ(schedule.cluster, 1);
        EXPECT_EQ(schedule.threads, 32 * fold_order(given.extents.back()).blocks);
        EXPECT_EQ(schedule.resident, 2);
    }
    expect_the_cpus_bits(cases);
}

TEST(HeldRows, of_slabs_that_are_whole_but_for_the_last) {
    expect_the_cpus_bits({{layer_norm, {3, 5'000}, 8, {}, false, true},
                          {layer_norm, {3, 5'003}, 1, {}, false, true},
                          {layer_norm, {3, 300}, 4, {}, false, true},
                          {half_softmax, {2, 10'000}, 16, {}, false, true},
                          {norms, {2, 5'003}, 1, {}, false, true},
                          {layer_norm, {2, 33'000}, 8, {8}, false, true}});
}

TEST(HeldRows, of_warps_that_share_blocks) {
    expect_the_cpus_bits({{softmax, {2, 12'500}, 4}, {half_softmax, {2, 24'580}, 4}, {norms, {2, 14'003}, 1}});
}

TEST(HeldRows, of_whole_slabs) {
    expect_the_cpus_bits({{softmax, {3, 6'144}, 16, {}, true},
                          {half_softmax, {3, 4'096}, 16, {}, true},
                          {norms, {2, 14'336}, 16, {}, true},
                          {weighted_softmax, {3, 4'096}, 16, {}, true},
                          {layer_norm, {3, 32'768}, 16, {8}, true},
                          {half_softmax, {2, 40'960}, 16, {4}, true},
                          {deep, {2, 18'432}, 16, {8}, true}});
}

TEST(HeldRows, of_one_whole_slab) {
    expect_the_cpus_bits({{softmax, {70, 16}, 16, {}, true},
                          {softmax, {3, 2}, 2, {}, true},
                          {half_softmax, {37, 64}, 16, {}, true},
                          {layer_norm, {7, 256}, 16, {}, true},
                          {weighted_softmax, {9, 1'024}, 16, {}, true},
                          {norms, {5, 512}, 16, {}, true},
                          {deep, {6, 128}, 16, {}, true}});
}

TEST(HeldRows, of_packs_that_are_no_power_of_2) {
    const std::vector<HeldCase> cases{
        {softmax, {3, 768}, 16, {}, true},          {half_softmax, {6, 768}, 16, {}, true},
        {softmax, {9, 384}, 16, {}, true},          {norms, {3, 1'536}, 16, {}, true},
        {layer_norm, {2, 1'280}, 16, {}, true},     {deep, {3, 768}, 16, {}, true},
        {masked_softmax, {2, 1'536}, 16, {}, true}, {of_held, {5, 768}, 16, {}, true}};
    for (const HeldCase& given : cases) {
        const cuda::Schedule chosen = Subject(given).schedule();
        EXPECT_TRUE(chosen.whole_slabs) << given.text;
        EXPECT_FALSE(std::has_single_bit(unsigned(chosen.row_packs))) << given.text;
    }
    expect_the_cpus_bits(cases);
}

TEST(HeldRows, of_whole_packs) {
    std::vector<HeldCase> cases{
        {softmax, {5, 1'000}, 4},          {half_softmax, {3, 1'000}, 8}, {softmax, {37, 20}, 4},
        {half_softmax, {9, 304}, 16},      {norms, {3, 688}, 16},         {weighted_softmax, {4, 304}, 16},
        {half_softmax, {2, 5'120}, 16},    {softmax, {2, 12'512}, 16},    {masked_softmax, {3, 1'936}, 16},
        {layer_norm, {2, 32'784}, 16, {8}}};
    for (HeldCase& given : cases) given.aligned = true;
    for (const HeldCase& given : cases) {
        const cuda::Schedule chosen = Subject(given).schedule();
        EXPECT_TRUE(chosen.whole_packs && !chosen.whole_slabs) << given.text << given.extents.back();
    }
    expect_the_cpus_bits(cases);
}

TEST(HeldRows, of_counted_slabs_of_several_blocks) {
    std::vector<HeldCase> cases{
        {softmax, {2, 22'544}, 16, {8}}, {masked_softmax, {2, 20'496}, 16, {8}}, {half_softmax, {2, 40'976}, 16, {4}}};
    for (HeldCase& given : cases) given.aligned = true;
    for (const HeldCase& given : cases) EXPECT_TRUE(Subject(given).schedule().counts_slabs) << given.text;
    expect_the_cpus_bits(cases);
}

/// Cases whose thread blocks prefetch the rows of a later one; the last of these may have fewer rows.
std::vector<HeldCase> prefetching() {
    const cuda::RowSharing ahead{.bytes_ahead = 10'000};
    cuda::RowSharing in_clusters = ahead;
    in_clusters.cluster = 8;
    return {{softmax, {170, 20}, 4, ahead},
            {half_softmax, {370, 64}, 16, ahead, true},
            {of_held, {37, 256}, 16, ahead, true},
            {masked_softmax, {19, 700}, 4, ahead},
            {half_softmax, {5, 4'096}, 16, ahead, true},
            {softmax, {23, 301}, 1, ahead},
            {norms, {9, 5'003}, 1, ahead}, // of several blocks
            {half_softmax, {5, 8'192}, 16, ahead, true},
            {layer_norm, {5, 33'000}, 8, in_clusters},
            {half_layer_norm, {3, 37'003}, 1, in_clusters}};
}

TEST(HeldRows, that_are_prefetched) {
    for (const HeldCase& given : prefetching())
        EXPECT_GT(Subject(given).schedule().elements_ahead, 0) << given.extents.back();
    expect_the_cpus_bits(prefetching());
}

TEST(HeldRows, that_are_prefetched_are_all_but_the_first) {
    if (host_compiler().empty()) GTEST_SKIP() << "no host compiler: generated kernels cannot be executed here";
    for (const HeldCase& given : prefetching()) {
        const Subject subject(given);
        SCOPED_TRACE(subject.name());
        subject.expect_all_but_the_first_to_be_prefetched(HostModule(subject.sources()));
    }
}

TEST(HeldRows, that_are_not_prefetched) {
    const cuda::RowSharing ahead{.multiprocessors = 132, .bytes_ahead = 10'000};
    for (const HeldCase& given : {HeldCase{softmax, {3, 10'000}, 16, ahead},      // functions take longer than memory
                                  HeldCase{layer_norm, {2, 300'000}, 16, ahead}}) // thread blocks cooperate
        EXPECT_EQ(Subject(given).schedule().elements_ahead, 0) << given.extents.back();
}

TEST(HeldRows, of_extremes_of_bfloat16) {
    expect_the_cpus_bits({{half_extremes, {5, 768}, 16, {}, true},
                          {half_extremes, {9, 24}, 8},
                          {half_extremes, {3, 601}, 1},
                          {half_extremes, {2, 10'000}, 16},
                          {half_layer_norm, {3, 304}, 16, {}, false, true},
                          {half_layer_norm, {3, 1'280}, 16, {}, true}});
}

TEST(HeldRows, of_quotients_that_are_rounded_to_bfloat16) {
    expect_the_cpus_bits({{midpoints, {3, 1'000}, 4},
                          {midpoints, {3, 1'024}, 16, {}, true},
                          {midpoints, {2, 5'003}, 1},
                          {midpoints, {3, 127}, 1},
                          {infinite, {2, 1'000}, 4, {}, false, true},
                          {huge_shares, {3, 512}, 16, {}, true},
                          {huge_shares, {2, 5'003}, 1}});
}

TEST(HeldRows, of_blocks_of_as_many_whole_slabs) {
    expect_the_cpus_bits({{softmax, {3, 2'048}, 16, {}, true},
                          {of_held, {2, 4'096}, 16, {}, true},
                          {half_softmax, {3, 16'384}, 16, {}, true},
                          {norms, {2, 16'384}, 16, {}, true},
                          {layer_norm, {3, 65'536}, 16, {8}, true},
                          {masked_softmax, {2, 65'536}, 16, {8}, true}});
}

TEST(HeldRows, of_a_thread) {
    std::vector<HeldCase> cases{{softmax, {70, 127}, 1},
                                {half_softmax, {100, 129}, 1},
                                {half_layer_norm, {45, 67}, 1},
                                {norms, {37, 26}, 2},
                                {deep, {40, 31}, 1},
                                {of_held, {35, 50}, 2},
                                {mixed_softmax, {33, 71}, 1},
                                {bytes, {80, 43}, 1},
                                {halves_and_flags, {66, 58}, 2},
                                {weighted_softmax, {34, 35}, 1},
                                {huge_shares, {64, 19}, 1},
                                {midpoints, {40, 30}, 1},
                                {narrow_held, {70, 1}, 1},
                                {narrow_held, {70, 2}, 1},
                                {narrow_held, {40, 23}, 1},
                                {two_held, {34, 45}, 1},
                                {half_softmax, {100, 1}, 1},
                                {half_layer_norm, {70, 3}, 1},
                                {layer_norm, {36, 60}, 4}};
    // Threads get several elements of such rows at a time.
    for (const HeldCase& given :
         {HeldCase{norms, {37, 26}, 2}, HeldCase{half_layer_norm, {40, 100}, 4}, HeldCase{half_extremes, {35, 36}, 4},
          HeldCase{softmax, {33, 100}, 16}, HeldCase{half_softmax, {40, 24}, 16}}) {
        cases.push_back(given);
        cases.back().aligned = true;
    }
    for (HeldCase& given : cases) {
        given.rows = 1 << 20;
        EXPECT_EQ(Subject(given).schedule().course, cuda::Course::held_thread_rows) << Subject(given).name();
    }
    expect_the_cpus_bits(cases);
}

// One fold alone: a thread block may pass on the next row's state while another still waits for this row's.
constexpr auto centred = "f(x: f32[i, k]) -> y = x - mean(x over [k])";

TEST(HeldRows, of_clusters) {
    const std::vector<HeldCase> cases{{softmax, {3, 16'388}, 4, {8}},       {layer_norm, {3, 30'000}, 4, {8}},
                                      {half_softmax, {2, 40'960}, 16, {4}}, {norms, {2, 50'257}, 1, {8}},
                                      {norms, {2, 20'000}, 8, {2}},         {deep, {2, 16'390}, 2, {8}},
                                      {centred, {40, 20'000}, 4, {8}}};
    for (const HeldCase& given : cases) EXPECT_GT(Subject(given).schedule().cluster, 1) << given.text;
    expect_the_cpus_bits(cases);
}

constexpr auto standardised = "f(x: f32[n]) let m = mean(x); let s = stddev(x); -> z = (x - m) / s, m = m";
constexpr auto scaled = "f(x: f16[i, k], w: bool[i, k], c: f32) let lo = min(x where w); let hi = max(x where w); "
                        "let r = f32(hi) - f32(lo); let z = (f32(x) - f32(lo)) / r * c; "
                        "-> z = z, lo = lo, hi = hi, at = argmax(x), s = sum(z)";
constexpr auto deep_scalars = "f(x: f64[n], y: f32[n]) let a = mean(x where y > 0.0); let b = variance(x - a); "
                              "let t = sqrt(b); let c = max(f64(y) * t); -> c = c, t = t, e = min(f64(y) - c), "
                              "d = sum(x * c - a)";

TEST(HeldRows, of_cooperating_thread_blocks) {
    const std::vector<HeldCase> cases{{layer_norm, {3, 70'000}, 4, {2, 8}},
                                      {half_softmax, {2, 90'112}, 16, {1, 8}, true},
                                      {norms, {2, 68'003}, 1, {1, 8}},
                                      {deep, {2, 66'000}, 4, {1, 8}},
                                      {standardised, {100'352}, 16, {16, 4}, true},
                                      {standardised, {97'003}, 16, {1, 4}},
                                      {standardised, {96'003}, 1, {1, 4}},
                                      {scaled, {5, 9'001}, 16, {1, 1}},
                                      {scaled, {64, 512}, 16, {4, 1}},
                                      {deep_scalars, {40'960}, 16, {16, 8}, true},
                                      {deep_scalars, {38'001}, 1, {16, 8}},
                                      {centred, {4, 66'000}, 4, {1, 8}}};
    for (const HeldCase& given : cases) EXPECT_TRUE(Subject(given).schedule().cooperates) << given.text;
    expect_the_cpus_bits(cases);
}

} // namespace
} // namespace gf::emulator
