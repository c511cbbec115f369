// Held rows (held_rows.cuh) in the emulator: joined sweeps of several phases against the CPU backend, which runs their
// sweeps one by one, by bits.
#include <bit>
#include <vector>

#include <gtest/gtest.h>

#include "against_cpu.hpp"
#include "held_rows.hpp"

namespace gf::emulator {
namespace {

struct TakingTurns : Subject {
    explicit TakingTurns(const HeldCase& given) : Subject(given, true) {}
};

void expect_the_cpus_bits(const std::vector<HeldCase>& cases) {
    expect_the_cpus_bits_of<Subject>(cases);
    expect_the_cpus_bits_of<TakingTurns>(cases);
}

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

TEST(HeldRows, of_functions_with_plain_operands_and_others) {
    const std::vector<HeldCase> cases{{spread_softmax, {5, 1'024}, 16, {}, true},
                                      {spread_softmax, {3, 4'096}, 16, {}, true},
                                      {spread_softmax, {2, 14'003}, 1},
                                      {spread_logarithms, {3, 4'096}, 16, {}, true},
                                      {nested_functions, {3, 4'096}, 16, {}, true}};
    for (const HeldCase& given : cases)
        EXPECT_NE(Subject(given).sources().front().find("called(at, callable::"), std::string::npos) << given.text;
    expect_the_cpus_bits(cases);
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
