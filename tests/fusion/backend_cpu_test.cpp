// The CPU backend against a naive evaluation of the canonical order, bit for bit: every reduction, size, instruction
// set and number of threads; arrays of every layout; and what a run leaves of the caller's thread.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/fusion/order.hpp>
#include <gridfold/ops/device/monoid.cuh>
#include <gridfold/ops/expr.hpp>
#include <gridfold/ops/op_macros.hpp>

#include "cpu/kernels.hpp"

// clang-format off
// Claims to be commutative and is not: it shows in what order elements and states are combined.
GRIDFOLD_REDUCTION(ordered, "a monoid that shows the order of its elements",
    static constexpr bool associative_and_commutative = true;
    struct State { A sum, scale; };
    GRIDFOLD_FN static State identity() { return {A(0), A(1)}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) {
        s.sum = add(s.sum, mul(convert<A>(x), s.scale));
        s.scale = mul(s.scale, A(3));
    }
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        s.sum = add(mul(s.sum, A(5)), t.sum);
        s.scale = add(s.scale, t.scale);
    }
    GRIDFOLD_FN static A finalize(const State& s) { return s.sum; })
// clang-format on

namespace {

using gf::cpu::InstructionSet;

/// Sets GRIDFOLD_CPU while it lives.
class ChosenSet {
public:
    explicit ChosenSet(const char* name) { setenv("GRIDFOLD_CPU", name, 1); }
    ~ChosenSet() { unsetenv("GRIDFOLD_CPU"); }
    ChosenSet(const ChosenSet&) = delete;
    ChosenSet& operator=(const ChosenSet&) = delete;
};

/// Sets OpenMP's number of threads while it lives.
class ThreadCount {
public:
    explicit ThreadCount(int n) : saved_(omp_get_max_threads()) { omp_set_num_threads(n); }
    ~ThreadCount() { omp_set_num_threads(saved_); }
    ThreadCount(const ThreadCount&) = delete;
    ThreadCount& operator=(const ThreadCount&) = delete;

private:
    int saved_;
};

std::vector<const char*> sets_of_this_machine() {
    std::vector<const char*> names{"baseline"};
    if (gf::cpu::has(InstructionSet::avx2)) names.push_back("avx2");
    if (gf::cpu::has(InstructionSet::avx512)) names.push_back("avx512");
    return names;
}

/// A graph's plan, bound to memory by name and run.
class BoundPlan {
public:
    explicit BoundPlan(const gf::Graph& graph)
        : plan_(std::make_shared<gf::Plan>(gf::fuse(graph))), build_(gf::build_cpu(plan_, {})),
          runner_(build_->runner()) {
        bound_.extents.resize(plan_->dims.size());
        bound_.arrays.resize(plan_->arrays.size());
        bound_.parameters.resize(plan_->parameters.size());
    }
    BoundPlan& extent(std::string_view name, std::int64_t extent) {
        bound_.extents[find(plan_->dims, name)] = extent;
        return *this;
    }
    BoundPlan& array(std::string_view name, const void* address) {
        bound_.arrays[find(plan_->arrays, name)].address = const_cast<void*>(address);
        return *this;
    }
    BoundPlan& parameter(std::string_view name, std::uint64_t bits) {
        bound_.parameters[find(plan_->parameters, name)] = bits;
        return *this;
    }
    BoundPlan& now() {
        scalars_.assign(plan_->scalars.size(), {});
        runner_->bind(bound_);
        runner_->run(scalars_, {});
        return *this;
    }
    gf::ScalarResult scalar(std::string_view name) const {
        return scalars_[static_cast<std::size_t>(plan_->outputs[find(plan_->outputs, name)].scalar)];
    }
    template <class T> T get(std::string_view name) const {
        T value;
        const std::uint64_t bits = scalar(name).bits;
        std::memcpy(static_cast<void*>(&value), &bits, sizeof value);
        return value;
    }
    const gf::Plan& plan() const { return *plan_; }
    std::string device() const { return build_->device(); }

private:
    template <class Named> static std::size_t find(const std::vector<Named>& all, std::string_view name) {
        for (std::size_t i = 0; i < all.size(); ++i)
            if (all[i].name == name) return i;
        ADD_FAILURE() << "no " << name;
        return 0;
    }
    std::shared_ptr<const gf::Plan> plan_;
    std::shared_ptr<const gf::Build> build_;
    std::unique_ptr<gf::Runner> runner_;
    gf::Bound bound_;
    std::vector<gf::ScalarResult> scalars_;
};

/// The canonical order, as order.hpp says it.
template <class M, class E, class Accept> typename M::State canonical(const E* x, std::int64_t n, Accept accept) {
    const std::int64_t slabs = gf::slab_count(n), blocks = gf::block_count(n);
    const auto pairwise = [](std::vector<typename M::State>& states) {
        for (std::size_t d = 1; d < states.size(); d *= 2)
            for (std::size_t i = 0; i + d < states.size(); i += 2 * d) M::combine(states[i], states[i + d]);
        return states[0];
    };
    std::vector<typename M::State> of_blocks;
    for (std::int64_t block = 0; block < blocks; ++block) {
        std::vector<typename M::State> lanes(gf::slab_elements, M::identity());
        for (std::int64_t slab = block; slab < slabs; slab += blocks)
            for (std::int64_t lane = 0; lane < gf::slab_elements; ++lane)
                if (const std::int64_t i = slab * gf::slab_elements + lane; i < n && accept(i))
                    M::accumulate(lanes[static_cast<std::size_t>(lane)], x[i], i);
        of_blocks.push_back(pairwise(lanes));
    }
    return pairwise(of_blocks);
}

template <class T> T quiet(T value) { return value == value ? value : std::numeric_limits<T>::quiet_NaN(); }

template <class T> bool same_bits(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) a = quiet(a), b = quiet(b);
    return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Elements that make a wrong order, a lost element and a wrong rounding visible.
template <class E> struct Elements {
    explicit Elements(std::size_t n, unsigned seed = 1) : memory(new E[n]) {
        std::mt19937_64 random(seed);
        for (std::size_t i = 0; i < n; ++i) {
            if constexpr (std::is_same_v<E, bool>)
                memory[i] = random() % 8 != 0;
            else if constexpr (std::is_floating_point_v<E>)
                memory[i] = static_cast<E>(std::ldexp(static_cast<double>(random()) - 0x1p63, -60));
            else
                memory[i] = static_cast<E>(random());
        }
    }
    E* data() const { return memory.get(); }
    E& operator[](std::int64_t i) const { return memory[static_cast<std::size_t>(i)]; }
    std::unique_ptr<E[]> memory;
};

const std::vector<std::int64_t> sizes{1,     2,     3,     31,    32,    33,       255,
                                      256,   257,   2047,  2048,  2049,  4095,     16383,
                                      16384, 16385, 20480, 65535, 65537, 9 * 2048, 37 * 2048 + 5};

/// The accumulator and the result type of a reduction that leaves them to its rules.
template <class E, gf::AccumulatorRule rule> constexpr auto accumulator_of() {
    using enum gf::AccumulatorRule;
    if constexpr (rule == boolean)
        return bool{};
    else if constexpr (rule == element || (rule != f64 && std::is_floating_point_v<E>))
        return E{};
    else if constexpr (rule == f64 || rule == floating)
        return double{};
    else if constexpr (std::is_unsigned_v<E> && !std::is_same_v<E, bool>)
        return std::uint64_t{};
    else
        return std::int64_t{};
}
template <class E, class A, gf::ResultRule rule> constexpr auto result_of() {
    using enum gf::ResultRule;
    if constexpr (rule == boolean)
        return bool{};
    else if constexpr (rule == element)
        return E{};
    else if constexpr (rule == accumulator)
        return A{};
    else if constexpr (rule == index)
        return std::int64_t{};
    else
        return std::conditional_t<std::is_same_v<E, float>, float, double>{};
}

/// Runs one reduction over each size and instruction set, and compares it with what `expected` says of (x, size, accept).
template <class E, class R, class Expected>
void expect_reduction(const gf::ReduceRow& row, gf::ReduceOptions options, bool masked, Expected expected) {
    gf::Graph g;
    const gf::Dim n = g.dim("n");
    const gf::Value x = g.input<E>("x", {n});
    if (masked) options.where = g.input<bool>("keep", {n});
    g.output("r", gf::reduce(row, x, options));
    const auto most = static_cast<std::size_t>(sizes.back()) + 1;
    const Elements<E> data(most);
    const Elements<bool> keep(most, 2);
    std::vector<BoundPlan> runs;
    for (const char* set : sets_of_this_machine()) {
        const ChosenSet chosen(set);
        runs.emplace_back(g);
    }
    for (const std::int64_t size : sizes) {
        for (const int misaligned : {0, 1}) {
            const E* from = data.data() + misaligned;
            const R right = expected(from, size, [&](std::int64_t i) { return !masked || keep[i]; });
            for (BoundPlan& run : runs) {
                run.extent("n", size).array("x", from);
                if (masked) run.array("keep", keep.data());
                ASSERT_TRUE(same_bits(run.now().get<R>("r"), right))
                    << row.name << (masked ? " masked" : "") << " of " << gf::to_text(gf::dtype_of<E>) << ", " << size
                    << " elements, " << run.device() << ": " << +run.get<R>("r") << ", not " << +right;
            }
        }
    }
}

} // namespace

// What each reduction of reduce.def gives: its own tokens over the canonical state.
namespace gf::device {
#define MONOID(...)
#define REDUCE(id, monoid, accumulator, result, on_empty, takes_ddof_, needs_elements, ulps, doc, ...) \
    struct Reduction_##id {                                                                            \
        static constexpr bool takes_ddof = takes_ddof_;                                                \
        static const ReduceRow& row() { return reduce_row::id; }                                       \
        template <class E> using A = decltype(accumulator_of<E, AccumulatorRule::accumulator>());      \
        template <class E> using R = decltype(result_of<E, A<E>, ResultRule::result>());               \
        template <class E, class Accept>                                                               \
        static Reduction_##id::R<E> expected(const E* x, std::int64_t n, Accept accept) {              \
            using M = monoid<E, A<E>>;                                                                 \
            using R = Reduction_##id::R<E>;                                                            \
            [[maybe_unused]] const double ddof = takes_ddof ? 1 : 0;                                   \
            const auto s = canonical<M>(x, n, accept);                                                 \
            return static_cast<R>(__VA_ARGS__);                                                        \
        }                                                                                              \
    };
#include <gridfold/ops/reduce.def>
#undef REDUCE
} // namespace gf::device

namespace {

template <class E, class Reduction> void expect_canonical() {
    for (const bool masked : {false, true})
        expect_reduction<E, typename Reduction::template R<E>>(
            Reduction::row(), {.ddof = Reduction::takes_ddof ? 1 : 0}, masked,
            [](const E* x, std::int64_t n, auto accept) { return Reduction::expected(x, n, accept); });
}

#define REDUCE(id, ...)                                                \
    TEST(BackendCpuOrder, id) {                                        \
        expect_canonical<bool, gf::device::Reduction_##id>();          \
        expect_canonical<std::int8_t, gf::device::Reduction_##id>();   \
        expect_canonical<std::int32_t, gf::device::Reduction_##id>();  \
        expect_canonical<std::uint64_t, gf::device::Reduction_##id>(); \
        expect_canonical<float, gf::device::Reduction_##id>();         \
        expect_canonical<double, gf::device::Reduction_##id>();        \
    }
#include <gridfold/ops/reduce.def>
#undef REDUCE
#undef MONOID

TEST(BackendCpuOrder, wider_accumulators) {
    for (const bool masked : {false, true}) {
        expect_reduction<float, double>(gf::reduce_row::sum, {.accumulate = gf::DType::f64}, masked,
                                        [](const float* x, std::int64_t n, auto accept) {
                                            return canonical<gf::device::Sum<float, double>>(x, n, accept).sum;
                                        });
        expect_reduction<std::int32_t, double>(gf::reduce_row::product, {.accumulate = gf::DType::f64}, masked,
                                               [](const std::int32_t* x, std::int64_t n, auto accept) {
                                                   using M = gf::device::Product<std::int32_t, double>;
                                                   return canonical<M>(x, n, accept).product;
                                               });
    }
}

TEST(BackendCpuOrder, a_users_monoid) {
    for (const bool masked : {false, true})
        expect_reduction<float, float>(gf::reduce_row::ordered, {}, masked,
                                       [](const float* x, std::int64_t n, auto accept) {
                                           using M = gf::device::monoid_ordered<float, float>;
                                           return M::finalize(canonical<M>(x, n, accept));
                                       });
}

/// A dozen statistics in one sweep, folds of every kind beside each other.
gf::Graph dozen() {
    gf::Graph g;
    const gf::Value x = g.input<float>("x", {g.dim("n")});
    g.output("sum", gf::sum(x));
    g.output("cubes", gf::sum(x * x * x));
    g.output("l2", gf::l2_norm(x));
    g.output("stddev", gf::stddev(x));
    g.output("mean_of_some", gf::mean(x, {.where = x > 1}));
    g.output("min", gf::min(x));
    g.output("argmax", gf::argmax(x));
    g.output("count", gf::count(x > 0));
    g.output("product", gf::product(x));
    g.output("ordered", gf::ordered(x));
    return g;
}

TEST(BackendCpu, gives_the_same_bits_on_any_number_of_threads) {
    const std::int64_t n = (1 << 21) + 77;
    const Elements<float> x(static_cast<std::size_t>(n));
    std::vector<std::uint64_t> first;
    for (const int threads : {1, 2, 3, 7}) {
        const ThreadCount count(threads);
        BoundPlan run(dozen());
        run.extent("n", n).array("x", x.data()).now();
        std::vector<std::uint64_t> bits;
        for (const gf::Output& output : run.plan().outputs) bits.push_back(run.scalar(output.name).bits);
        if (first.empty()) first = bits;
        EXPECT_EQ(bits, first) << threads << " threads";
    }
}

TEST(BackendCpu, folds_the_same_bits_beside_other_folds_as_alone) {
    const std::int64_t n = 300'001;
    const Elements<float> x(static_cast<std::size_t>(n));
    BoundPlan together(dozen());
    together.extent("n", n).array("x", x.data()).now();
    gf::Graph alone;
    const gf::Value value = alone.input<float>("x", {alone.dim("n")});
    alone.output("cubes", gf::sum(value * value * value));
    BoundPlan one(alone);
    EXPECT_EQ(one.extent("n", n).array("x", x.data()).now().get<float>("cubes"), together.get<float>("cubes"));
}

TEST(BackendCpu, keeps_the_factors_of_a_summed_product_for_the_fold) {
    gf::Graph g;
    const gf::Value x = g.input<float>("x", {g.dim("n")});
    const gf::Value a = x + 1, b = x + 2;
    g.output("products", gf::sum(a * b));
    g.output("others", gf::sum(a - 3)); // the last to read `a` but for the fold
    const std::vector<float> data{1, 2, 3, 4};
    BoundPlan run(g);
    run.extent("n", 4).array("x", data.data()).now();
    EXPECT_EQ(run.get<float>("products"), 6 + 12 + 20 + 30);
    EXPECT_EQ(run.get<float>("others"), -1 + 0 + 1 + 2);
}

TEST(BackendCpu, reads_broadcast_and_permuted_arrays) {
    const std::int64_t rows = 37, columns = 211, planes = 5;
    gf::Graph g;
    const gf::Dim i = g.dim("i"), j = g.dim("j"), k = g.dim("k");
    const gf::Value flat = g.input<float>("flat", {i, j, k}), row = g.input<double>("row", {k}),
                    column = g.input<std::int16_t>("column", {i}), permuted = g.input<float>("permuted", {k, i, j}),
                    middle = g.input<std::uint8_t>("middle", {j}), keep = g.input<bool>("keep", {k, j});
    g.output("r", gf::sum(flat * row + column * permuted - middle, {.where = keep}));
    const auto count = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    const Elements<float> a(count(rows * columns * planes)), d(count(rows * columns * planes), 2);
    const Elements<double> b(count(planes), 3);
    const Elements<std::int16_t> c(count(rows), 4);
    const Elements<std::uint8_t> m(count(columns), 5);
    const Elements<bool> w(count(planes * columns), 6);
    std::vector<double> terms;
    std::vector<bool> accepted;
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t q = 0; q < columns; ++q)
            for (std::int64_t p = 0; p < planes; ++p) {
                const float product = static_cast<float>(c[r]) * d[(p * rows + r) * columns + q];
                const double left = static_cast<double>(a[(r * columns + q) * planes + p]) * b[p];
                terms.push_back(left + static_cast<double>(product) - static_cast<double>(m[q]));
                accepted.push_back(w[p * columns + q]);
            }
    using M = gf::device::Sum<double, double>;
    const double expected = canonical<M>(terms.data(), rows * columns * planes, [&](std::int64_t e) {
                                return accepted[static_cast<std::size_t>(e)];
                            }).sum;
    BoundPlan run(g);
    run.extent("i", rows).extent("j", columns).extent("k", planes);
    run.array("flat", a.data()).array("row", b.data()).array("column", c.data()).array("permuted", d.data());
    run.array("middle", m.data()).array("keep", w.data());
    EXPECT_EQ(run.now().get<double>("r"), expected);
}

TEST(BackendCpu, knows_the_index_along_each_dim) {
    gf::Graph g;
    const gf::Dim i = g.dim("i"), j = g.dim("j"), k = g.dim("k");
    g.output("at", gf::index(g, i) * 10'000 + gf::index(g, j) * 100 + gf::index(g, k));
    std::vector<std::int64_t> at(41 * 3 * 57);
    BoundPlan run(g);
    run.extent("i", 41).extent("j", 3).extent("k", 57).array("at", at.data()).now();
    for (std::size_t e = 0; e < at.size(); ++e) {
        const auto n = static_cast<std::int64_t>(e);
        ASSERT_EQ(at[e], n / 171 * 10'000 + n / 57 % 3 * 100 + n % 57);
    }
}

TEST(BackendCpu, widens_what_it_loads_and_narrows_what_it_stores) {
    gf::Graph g;
    const gf::Dim n = g.dim("n");
    const gf::Value x = g.input<gf::f16>("x", {n}), y = g.input<gf::bf16>("y", {n});
    g.output("doubled", x + x);
    g.output("negative", -y);
    g.output("copy", x);
    g.output("sum", gf::sum(x));
    const std::size_t count = 5000;
    std::vector<gf::f16> a(count), doubled(count), copy(count);
    std::vector<gf::bf16> b(count), negative(count);
    for (std::size_t e = 0; e < count; ++e) {
        a[e] = gf::f16(static_cast<float>(e % 40) - 17.5F);
        b[e] = gf::bf16(static_cast<float>(e % 64));
    }
    BoundPlan run(g);
    run.extent("n", count).array("x", a.data()).array("y", b.data());
    run.array("doubled", doubled.data()).array("negative", negative.data()).array("copy", copy.data()).now();
    float sum = 0;
    for (std::size_t e = 0; e < count; ++e) {
        ASSERT_EQ(float(doubled[e]), 2 * float(a[e]));
        ASSERT_EQ(float(negative[e]), -float(b[e]));
        ASSERT_EQ(copy[e].bits, a[e].bits);
        sum += float(a[e]);
    }
    EXPECT_EQ(run.get<float>("sum"), sum);
}

TEST(BackendCpu, takes_any_byte_that_is_not_zero_for_true) {
    gf::Graph g;
    const gf::Dim n = g.dim("n");
    const gf::Value x = g.input<bool>("x", {n}), keep = g.input<bool>("keep", {n});
    g.output("count", gf::count(x));
    g.output("kept", gf::sum(x, {.where = keep}));
    g.output("copy", x);
    g.output("differ", gf::count(x != keep));
    const std::vector<std::uint8_t> bytes{0, 1, 2, 255, 128, 0, 7}, mask{9, 0, 4, 0, 1, 1, 1};
    std::vector<std::uint8_t> copy(bytes.size(), 99);
    BoundPlan run(g);
    run.extent("n", 7).array("x", bytes.data()).array("keep", mask.data()).array("copy", copy.data()).now();
    EXPECT_EQ(run.get<std::int64_t>("count"), 5);
    EXPECT_EQ(run.get<std::int64_t>("kept"), 3);
    EXPECT_EQ(run.get<std::int64_t>("differ"), 4);
    EXPECT_EQ(copy, (std::vector<std::uint8_t>{0, 1, 1, 1, 1, 0, 1}));
}

TEST(BackendCpu, passes_scalars_and_arrays_from_sweep_to_sweep) {
    gf::Graph g;
    const gf::Dim n = g.dim("n");
    const gf::Value x = g.input<double>("x", {n}), scale = g.scalar<double>("scale");
    g.output("z", (x - gf::mean(x)) * scale);
    const std::vector<double> data{1, 2, 3, 10};
    std::vector<double> z(4);
    BoundPlan run(g);
    run.extent("n", 4).array("x", data.data()).array("z", z.data());
    run.parameter("scale", std::bit_cast<std::uint64_t>(0.5)).now();
    EXPECT_EQ(z, (std::vector<double>{-1.5, -1, -0.5, 3}));
    run.parameter("scale", std::bit_cast<std::uint64_t>(2.0)).now();
    EXPECT_EQ(z, (std::vector<double>{-6, -4, -2, 12}));
}

TEST(BackendCpu, says_which_scalars_are_empty) {
    gf::Graph g;
    const gf::Dim n = g.dim("n");
    const gf::Value x = g.input<std::int32_t>("x", {n});
    const gf::Value least = gf::min(x, {.where = x > 100});
    g.output("least", least);
    g.output("next", least + 1);
    g.output("mean", gf::mean(x, {.where = x > 100}));
    g.output("count", gf::count(x > 100));
    std::vector<std::int32_t> data{1, 2, 3};
    BoundPlan run(g);
    run.extent("n", 3).array("x", data.data()).now();
    EXPECT_TRUE(run.scalar("least").empty);
    EXPECT_TRUE(run.scalar("next").empty);
    EXPECT_FALSE(run.scalar("mean").empty);
    EXPECT_TRUE(std::isnan(run.get<double>("mean")));
    EXPECT_EQ(run.get<std::int64_t>("count"), 0);
    data[1] = 300;
    run.now();
    EXPECT_FALSE(run.scalar("next").empty);
    EXPECT_EQ(run.get<std::int32_t>("next"), 301);
    EXPECT_EQ(run.get<double>("mean"), 300);
}

TEST(BackendCpu, gives_the_identity_for_no_elements) {
    gf::Graph g;
    const gf::Value x = g.input<float>("x", {g.dim("n")});
    g.output("sum", gf::sum(x));
    g.output("product", gf::product(x));
    g.output("all", gf::all(x));
    g.output("twice", x + x);
    BoundPlan run(g);
    run.extent("n", 0).now();
    EXPECT_EQ(run.get<float>("sum"), 0);
    EXPECT_EQ(run.get<float>("product"), 1);
    EXPECT_TRUE(run.get<bool>("all"));
}

#if defined(__x86_64__)
TEST(BackendCpu, keeps_denormals_and_gives_the_callers_mode_back) {
    const unsigned saved = _mm_getcsr(), flushing = saved | 0x8040;
    gf::Graph g;
    const gf::Value x = g.input<float>("x", {g.dim("n")});
    const gf::Value sum = gf::sum(x * 0.5F);
    g.output("sum", sum);
    g.output("half", sum * 0.5F);
    const std::vector<float> data(1 << 20, 0x1p-130F);
    BoundPlan run(g);
    const ThreadCount two(2);
    const auto set_mode_of_both = [](unsigned mode) {
#pragma omp parallel num_threads(2)
        _mm_setcsr(mode);
        _mm_setcsr(mode); // clang's runtime puts back what this thread had before, and gives the others what it has
    };
    for (const std::int64_t n : {1, 1 << 20}) { // on this thread, and on both
        set_mode_of_both(flushing);
        run.extent("n", n).array("x", data.data()).now();
        const unsigned after = _mm_getcsr();
        set_mode_of_both(saved);
        EXPECT_EQ(after, flushing);
        EXPECT_EQ(run.get<float>("sum"), 0x1p-131F * static_cast<float>(n)) << n;
        EXPECT_EQ(run.get<float>("half"), 0x1p-132F * static_cast<float>(n)) << n;
    }
}
#endif

TEST(BackendCpu, runs_in_a_forked_child_and_inside_a_parallel_region) {
    const std::int64_t n = 1 << 21;
    const Elements<float> x(static_cast<std::size_t>(n));
    BoundPlan run(dozen());
    run.extent("n", n).array("x", x.data()).now();
    const float cubes = run.get<float>("cubes");
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        alarm(60);
        run.now();
        _exit(run.get<float>("cubes") == cubes && run.device().find("1 thread)") != std::string::npos ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);

    std::vector<float> inside(2);
#pragma omp parallel for num_threads(2)
    for (int t = 0; t < 2; ++t) {
        BoundPlan of_thread(dozen());
        inside[static_cast<std::size_t>(t)] = of_thread.extent("n", n).array("x", x.data()).now().get<float>("cubes");
    }
    EXPECT_EQ(inside, (std::vector<float>{cubes, cubes}));
}

TEST(BackendCpu, is_told_its_instruction_set_by_the_environment) {
    {
        const ChosenSet chosen("baseline");
        const ThreadCount three(3);
        EXPECT_EQ(BoundPlan(dozen()).device(), "cpu (baseline, 3 threads)");
    }
    const ChosenSet chosen("mmx");
    EXPECT_THROW(BoundPlan{dozen()}, gf::InvalidGraph);
}

} // namespace
