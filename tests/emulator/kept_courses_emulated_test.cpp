// The courses of folds over some dims (rows.cuh, warp_rows.cuh, boxes.cuh), by hand-written kernels in the emulator,
// against the order as docs/numerics.md states it.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gridfold/core/device_text.hpp>
#include <gridfold/fusion/order.hpp>
#include <gridfold/ops/device/monoid.cuh>
#include <gridfold/ops/device_text.hpp>
#include <gtest/gtest.h>

#include <gridfold/core/device/slots.cuh>

#include <gridfold/core/device/places.cuh>

#include "guarded_memory.hpp"
#include "host_module.hpp"
#include "order_by_definition.hpp"

namespace gf::emulator {
namespace {

constexpr int state_words = 1 + 3 + 8 + 1;

/// How a kernel walks.
struct Walk {
    enum class Course : std::uint8_t { rows, warp_rows, boxes };
    Course course;
    int threads, in_flight;
    int dims = 1; ///< merged, of boxes
    int width = int(slab_elements) / threads;
    int packs = 1;
    int row_threads = 32, row_packs = 1;
    bool realigns = false, several_slabs = false, several_blocks = false;
    bool sums_alone = false; ///< of boxes: folds few words
};

int words_of(const Walk& walk) { return walk.sums_alone ? 2 : state_words; }

std::string kernel(const Walk& walk) {
    const std::string course = walk.course == Walk::Course::rows        ? detail::rows_course_text()
                               : walk.course == Walk::Course::warp_rows ? detail::warp_rows_course_text()
                                                                        : detail::boxes_course_text();
    const char* const function = walk.course == Walk::Course::rows        ? "sweep_rows"
                                 : walk.course == Walk::Course::warp_rows ? "sweep_warp_rows"
                                                                          : "sweep_boxes";
    return std::string("// A kernel by hand.\n") + detail::device_text() + course + std::string(detail::sums_text()) +
           std::string(detail::extremes_text()) + std::string(detail::moments_text()) +
           fmt::format(R"(
namespace GRIDFOLD_NAMESPACE {{
struct Sweep : SweepBase<{0}, {1}> {{
    static constexpr int in_flight = {2}, dims = {3}, most_blocks = 256, collects = 2, packs = {6};
    static constexpr int row_threads = {9}, row_packs = {7};
    static constexpr bool realigns = {8}, several_slabs = {10}, several_blocks = {11};
    static constexpr int windows_in_flight = in_flight > 1 ? in_flight / 2 : 1;
    const f32* in_0;
    f32* out_0;
    i64 elements, parts, slabs, part_blocks, sharing, results;
    Boxes<dims> boxes;
    u64* workspace;
    f32* sums;
    i64* places;
    f64* variances;
    f32* masked;
    template <template <class, int> class Of> struct Arrays {{
        Of<f32, width> in_0;
    }};
    using Loads = Arrays<Pack>;
    using Windows = Arrays<Window>;
    template <class Visit, class... Of> GRIDFOLD_FN static void each_array(Visit visit, Of&... of) {{
        visit(of.in_0...);
    }}
    struct Stored {{
        Pack<f32, width> out_0;
    }};
    template <class Visit, class... Of> GRIDFOLD_FN static void each_store(Visit visit, Of&... of) {{
        visit(of.out_0...);
    }}
    using Fold0 = Fold<0, Sum<f32, f32>>;
    using Fold1 = Fold<1, ArgMax<f32, f32>>;
    using Fold2 = Fold<4, Moments<f32, f64>>;
    using Fold3 = Masked<12, Sum<f32, f32>>;
    using Narrow = Masked<1, Sum<f32, f32>>;
    using Folds = typename Choose<{12}, FoldList<Fold0, Narrow>, FoldList<Fold0, Fold1, Fold2, Fold3>>::type;
    template <class At> GRIDFOLD_FN void element(const Loads& l, const At& at) const {{
        const f32 x = l.in_0[at.n];
        at.fold(Fold0{{}}, x);
#if {12}
        at.fold(Narrow{{}}, x, x > 0.0f);
#else
        at.fold(Fold1{{}}, x);
        at.fold(Fold2{{}}, x);
        at.fold(Fold3{{}}, x, x > 0.0f);
#endif
        at.stored.out_0[at.n] = x * 2.0f;
    }}
    struct Results {{
        Pack<f32, width> sums;
        Pack<i64, width> places;
        Pack<f64, width> variances;
        Pack<f32, width> masked;
    }};
    template <class Visit, class... Of> GRIDFOLD_FN static void each_result(Visit visit, Of&... of) {{
        visit(of.sums...);
        visit(of.places...);
        visit(of.variances...);
        visit(of.masked...);
    }}
    GRIDFOLD_FN void finish(const Folds::States<1>& s, i64, Results& to, int n) const {{
        static_assert(Folds::words == {4});
        to.sums[n] = Fold0::of(s)[0].sum;
#if {12}
        to.places[n] = 0;
        to.variances[n] = 0;
        to.masked[n] = Narrow::of(s)[0].sum;
#else
        to.places[n] = Fold1::Monoid::index(Fold1::of(s)[0]);
        to.variances[n] = Fold2::of(s)[0].count == 0 ? 0 : Fold2::Monoid::variance(Fold2::of(s)[0], 0.0);
        to.masked[n] = Fold3::of(s)[0].sum;
#endif
    }}
    GRIDFOLD_FN void finish(const Folds::States<1>& s, i64 result) const {{
        Results to;
        finish(s, result, to, 0);
        each_result([&](auto* p, const auto& pack) {{ p[result] = pack[0]; }}, *this, to);
    }}
}};
extern "C" __global__ void __launch_bounds__({0}) gridfold_sweep(
    const f32* in_0, f32* out_0, const i64* numbers, u64* workspace, f32* sums, i64* places, f64* variances,
    f32* masked) {{
    Sweep kernel{{{{block_index(), grid_blocks()}}, in_0, out_0, numbers[0], numbers[1], numbers[2], numbers[3],
                 numbers[4], numbers[5], {{}}, workspace, sums, places, variances, masked}};
    for (int d = 0; d < Sweep::dims; ++d) {{
        kernel.boxes.extent[d] = numbers[6 + 3 * d];
        kernel.boxes.box[d] = numbers[7 + 3 * d];
        kernel.boxes.chunks[d] = numbers[8 + 3 * d];
    }}
    {5}(kernel);
}}
}} // namespace GRIDFOLD_NAMESPACE
)",
                       walk.threads, walk.width, walk.in_flight, walk.dims, words_of(walk), function, walk.packs,
                       walk.row_packs, walk.realigns, walk.row_threads, walk.several_slabs, walk.several_blocks,
                       walk.sums_alone);
}

/// One of two inputs for a domain.
std::vector<f32> input(const Domain& domain, bool other) {
    i64 all = domain.batch;
    for (const i64 extent : domain.extents) all *= extent;
    std::vector<f32> x(static_cast<std::size_t>(all));
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = f32(i64(i * 7919 + (other ? 13 : 5)) % 1999 - 700) / 7.0f + f32(i % 5) * 1e-5f;
    return x;
}

/// The results of an input: computed once, for all kernels and launches.
const std::vector<Result>& wanted_of(const Domain& domain, bool other) {
    static std::map<std::tuple<i64, std::vector<i64>, bool>, std::vector<Result>> known;
    const auto [at, is_new] = known.try_emplace({domain.batch, domain.extents, other});
    if (is_new) at->second = expected(domain, input(domain, other));
    return at->second;
}

/// The kernels: of rows, of boxes with 2 to 5 dims, then of short rows.
const std::vector<Walk>& walks() {
    using enum Walk::Course;
    static const std::vector<Walk> all{
        {rows, 512, 2},
        {boxes, 256, 1, 2},
        {boxes, 512, 1, 3},
        {boxes, 512, 2, 4},
        {boxes, 512, 3, 5},
        {.course = boxes, .threads = 512, .in_flight = 2, .dims = 2, .sums_alone = true},
        {.course = boxes, .threads = 512, .in_flight = 3, .dims = 3, .sums_alone = true},
        {.course = boxes, .threads = 256, .in_flight = 4, .dims = 2, .realigns = true, .sums_alone = true},
        {.course = boxes, .threads = 512, .in_flight = 4, .dims = 3, .realigns = true},
        {.course = warp_rows, .threads = 64, .in_flight = 1, .width = 4, .row_threads = 1},
        {.course = warp_rows, .threads = 64, .in_flight = 4, .width = 2, .packs = 4, .row_threads = 2},
        {.course = warp_rows, .threads = 64, .in_flight = 4, .width = 1, .packs = 4, .row_threads = 4},
        {.course = warp_rows, .threads = 64, .in_flight = 2, .width = 4, .packs = 4, .row_threads = 16},
        {.course = warp_rows, .threads = 32, .in_flight = 2, .width = 4, .packs = 2, .realigns = true},
        {.course = warp_rows, .threads = 32, .in_flight = 16, .width = 1, .packs = 16, .row_packs = 4},
        {.course = warp_rows, .threads = 64, .in_flight = 4, .width = 4, .packs = 8, .row_packs = 8},
        {.course = warp_rows,
         .threads = 64,
         .in_flight = 16,
         .width = 4,
         .packs = 16,
         .row_packs = 16,
         .realigns = true},
        {.course = warp_rows, .threads = 64, .in_flight = 8, .width = 2, .packs = 32, .row_packs = 32},
        {.course = warp_rows,
         .threads = 64,
         .in_flight = 2,
         .width = 4,
         .packs = 16,
         .row_packs = 16,
         .several_slabs = true},
        {.course = warp_rows,
         .threads = 256,
         .in_flight = 4,
         .width = 4,
         .packs = 16,
         .row_packs = 16,
         .realigns = true,
         .several_slabs = true,
         .several_blocks = true},
        {.course = warp_rows,
         .threads = 256,
         .in_flight = 8,
         .width = 2,
         .packs = 32,
         .row_packs = 32,
         .several_slabs = true,
         .several_blocks = true},
    };
    return all;
}
constexpr std::size_t first_of_warp_rows = 9;

class KeptCourses : public testing::TestWithParam<Order> {
protected:
    static void SetUpTestSuite() {
        if (host_compiler().empty()) return;
        std::vector<std::string> sources;
        for (const Walk& walk : walks()) sources.push_back(kernel(walk));
        module = std::make_unique<HostModule>(sources);
    }
    static void TearDownTestSuite() { module.reset(); }
    void SetUp() override {
        if (!module) GTEST_SKIP() << "no host compiler: generated kernels cannot be executed here";
    }
    static std::unique_ptr<HostModule> module;

    /// Launches the kernel twice, with several grids where blocks may loop. `number`: in the module.
    void check(std::size_t number, const Domain& domain, Snug snug) {
        const Order1 order(domain);
        i64 all = domain.batch, box = 1;
        for (const i64 extent : domain.extents) all *= extent;
        for (const i64 size : order.box) box *= size;
        const Walk& walk = walks()[number];
        const bool rows = walk.course != Walk::Course::boxes;
        const i64 sharing = rows || !order.is_one_slab || box == 0 ? 1 : std::max<i64>(slab_elements / box, 1);
        i64 box_results = 1;
        for (std::size_t d = 1; d < order.box.size(); d += 2) box_results *= order.box[d];
        std::vector<i64> numbers{
            rows ? domain.extents[0] : all, order.parts, order.slabs, order.blocks, sharing, order.results};
        for (std::size_t d = 0; d < order.box.size(); ++d)
            numbers.insert(numbers.end(), {domain.extents[d], order.box[d], order.chunks[d]});
        const i64 items = (order.parts + sharing - 1) / sharing * order.blocks;
        const std::size_t part_slots =
            std::size_t(device::PartSlots::count(words_of(walk), int(box_results), order.blocks));
        GuardedMemory workspace(order.blocks > 1 ? 8 * part_slots * std::size_t(order.parts) : 0, snug);
        std::memset(workspace.data(), 0, workspace.size());
        for (const bool after_the_wrap : {false, true, true}) {
            const std::vector<f32> x = input(domain, after_the_wrap);
            if (after_the_wrap && launches == 1)
                for (std::size_t p = 0; p * part_slots * 8 < workspace.size(); ++p)
                    reinterpret_cast<u64*>(workspace.data())[p * part_slots] = 0xfffffffeu;
            const std::size_t results = std::size_t(order.results);
            GuardedMemory in(4 * x.size() + (snug == Snug::at_begin ? 4 : 0), snug), twice(4 * x.size(), snug);
            GuardedMemory sums(4 * results, snug), places(8 * results, snug), variances(8 * results, snug),
                masked(4 * results, snug);
            std::byte* from = in.data() + (snug == Snug::at_begin ? 4 : 0);
            if (!x.empty()) std::memcpy(from, x.data(), 4 * x.size());
            void* pointers[] = {from,        twice.data(),  numbers.data(),   workspace.data(),
                                sums.data(), places.data(), variances.data(), masked.data()};
            std::vector<void*> arguments;
            for (void*& pointer : pointers) arguments.push_back(&pointer);
            const i64 fewer = rows && order.blocks == 1 && launches % 2 == 1 ? 3 : items;
            launch(module->entry(number), arguments.data(), u32(std::clamp<i64>(fewer, 1, std::max<i64>(items, 1))),
                   u32(walk.threads), GetParam(), 7 + number);
            ++launches;
            const std::vector<Result>& wanted = wanted_of(domain, after_the_wrap);
            std::string what = fmt::format("kernel {}, {} x [{}], launch {}", number, domain.batch,
                                           fmt::join(domain.extents, ", "), launches);
            for (const GuardedMemory* memory : {&in, &twice, &sums, &places, &variances, &masked, &workspace})
                ASSERT_TRUE(memory->is_intact()) << what;
            for (std::size_t i = 0; i < x.size(); ++i)
                ASSERT_EQ(reinterpret_cast<const f32*>(twice.data())[i], x[i] * 2) << what << ", element " << i;
            for (std::size_t i = 0; i < results; ++i) {
                const Result got{
                    reinterpret_cast<const f32*>(sums.data())[i], reinterpret_cast<const i64*>(places.data())[i],
                    reinterpret_cast<const f64*>(variances.data())[i], reinterpret_cast<const f32*>(masked.data())[i]};
                ASSERT_EQ(got.sum, wanted[i].sum) << what << ", result " << i;
                ASSERT_EQ(got.masked, wanted[i].masked) << what << ", result " << i;
                if (walk.sums_alone) continue;
                ASSERT_EQ(order.slabs > 0 ? got.at : 0, order.slabs > 0 ? wanted[i].at : 0) << what << ", result " << i;
                ASSERT_EQ(got.variance, wanted[i].variance) << what << ", result " << i;
            }
        }
        launches = 0;
    }
    int launches = 0;
};
std::unique_ptr<HostModule> KeptCourses::module;

TEST_P(KeptCourses, of_rows_fold_each_row_as_if_alone) {
    for (const Domain& domain : std::vector<Domain>{{7, {100}},
                                                    {5, {37}},
                                                    {3, {2048}},
                                                    {3, {5001}},
                                                    {2, {12'289}},
                                                    {2, {70'000}},
                                                    {4, {1}},
                                                    {5, {0}},
                                                    {0, {9}}})
        for (const Snug snug : {Snug::exactly_at_end, Snug::at_begin})
            if (snug == Snug::exactly_at_end || domain.extents[0] < 10'000) check(0, domain, snug);
}

TEST_P(KeptCourses, of_rows_by_warps_fold_each_row_as_if_alone) {
    for (const Domain& domain : std::vector<Domain>{
             {70, {1}},   {300, {3}},  {9, {4}},      {130, {8}},    {41, {17}},    {30, {64}},  {7, {100}},
             {5, {127}},  {5, {128}},  {3, {129}},    {3, {1000}},   {4, {1024}},   {3, {2047}}, {2, {2048}},
             {3, {4000}}, {2, {8192}}, {3, {10'241}}, {2, {28'672}}, {1, {30'007}}, {5, {0}},    {0, {9}}})
        for (std::size_t number = first_of_warp_rows; number < walks().size(); ++number) {
            const Walk& walk = walks()[number];
            // Warps meet only where they fold the blocks of one row.
            if (!walk.several_blocks && GetParam() != Order::forward && GetParam() != Order::shuffled) continue;
            const i64 blocks = block_count(domain.extents[0]);
            if (!walk.several_slabs && domain.extents[0] > walk.row_threads * walk.width * walk.row_packs) continue;
            if (blocks > (walk.several_blocks ? walk.threads / 32 : 1)) continue;
            for (const Snug snug : {Snug::exactly_at_end, Snug::at_begin}) check(number, domain, snug);
        }
}

TEST_P(KeptCourses, of_boxes_fold_in_the_order) {
    for (const Domain& domain :
         std::vector<Domain>{{40, {9, 5}},         {1, {70, 2000}},       {2, {50, 2050}},       {1, {9000, 3}},
                             {1, {640, 300}},      {2, {129, 33}},        {5, {31, 33}},         {1, {20, 2, 2049}},
                             {1, {20, 2, 3025}},   {3, {1, 1}},           {2, {0, 3000}},        {2, {5, 0}},
                             {20, {4, 3, 10}},     {1, {60, 2, 700}},     {1, {3, 2, 5000}},     {2, {2, 60, 50}},
                             {1, {9, 2, 9000}},    {1, {5, 3, 0}},        {3, {3, 4, 5, 6}},     {1, {20, 3, 30, 40}},
                             {1, {3, 2, 2, 2100}}, {2, {2, 3, 2, 3, 50}}, {1, {4, 3, 5, 2, 500}}})
        for (std::size_t number = 1; number < first_of_warp_rows; ++number)
            for (const Snug snug : {Snug::exactly_at_end, Snug::at_begin})
                if (walks()[number].dims == int(domain.extents.size())) check(number, domain, snug);
}

INSTANTIATE_TEST_SUITE_P(orders, KeptCourses, testing::ValuesIn(all_orders), [](const auto& order) {
    return order.param == Order::forward    ? "forward"
           : order.param == Order::backward ? "backward"
           : order.param == Order::shuffled ? "shuffled"
           : order.param == Order::starved  ? "starved"
                                            : "last_block";
});

} // namespace
} // namespace gf::emulator
