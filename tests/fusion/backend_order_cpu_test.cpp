// The CPU backend against a naive evaluation of the canonical order, bit for bit: every reduction, size and instruction
// set.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "fusion/cpu_run.hpp"
#include "fusion/own_reductions.hpp"

namespace {

using gf::test::BoundPlan;
using gf::test::canonical;
using gf::test::ChosenSet;
using gf::test::Elements;
using gf::test::Mask;
using gf::test::sets_of_this_machine;

template <class T> T quiet(T value) { return value == value ? value : std::numeric_limits<T>::quiet_NaN(); }

template <class T> bool same_bits(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) a = quiet(a), b = quiet(b);
    return std::memcmp(&a, &b, sizeof a) == 0;
}

const std::vector<std::int64_t> sizes{1,     2,     3,     31,    32,    33,    255,      256,          257,
                                      2047,  2048,  2049,  4095,  6144,  6149,  8192,     8193,         10241,

                                      16383, 16384, 16385, 20480, 65535, 65537, 9 * 2048, 37 * 2048 + 5};

/// The accumulator and the result type that a reduction's rules give.
template <class E, gf::AccumulatorRule rule> constexpr auto value_of_accumulator() {
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
template <class E, class A, gf::ResultRule rule> constexpr auto value_of_result() {
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

/// Kinds of elements that minima and maxima distinguish.
enum class Kind { any, zeros, negative, positive, infinities, a_nan, a_negative_nan };

template <class E> void fill(E* x, std::size_t n, Kind kind) {
    if constexpr (std::is_floating_point_v<E>) {
        constexpr E infinity = std::numeric_limits<E>::infinity(), nan = std::numeric_limits<E>::quiet_NaN();
        for (std::size_t i = 0; i < n; ++i) {
            E& e = x[i];
            if (kind == Kind::zeros) e = std::copysign(E(0), e);
            if (kind == Kind::negative) e = i % 5 == 0 ? E(-0.0) : -std::abs(e);
            if (kind == Kind::positive) e = i % 5 == 0 ? E(0) : std::abs(e);
            if (kind == Kind::infinities && i % 1000 == 1) e = std::copysign(infinity, e);
            if (kind == Kind::a_nan && i % 3001 == 20) e = nan;
            if (kind == Kind::a_negative_nan && i % 3001 == 20) e = std::copysign(nan, E(-1));
        }
    }
}

/// Runs one reduction over each size and instruction set, and compares it with expected(x, size, accept).
template <class E, class R>
void expect_reduction(const gf::ReduceOp& row, gf::ReduceOptions options, bool masked,
                      const std::function<R(const E*, std::int64_t, Mask)>& expected, Kind kind = Kind::any,
                      const std::vector<std::int64_t>& of_sizes = sizes) {
    gf::Graph g;
    const gf::Dim n = g.dim("n");
    const gf::Value x = g.input<E>("x", {n});
    if (masked) options.where = g.input<bool>("keep", {n});
    g.output("r", gf::reduce(row, x, options));
    const auto most = static_cast<std::size_t>(of_sizes.back()) + 1;
    const Elements<E> data(most);
    fill(data.data(), most, kind);
    const Elements<bool> keep(most, 2);
    std::vector<BoundPlan> runs;
    for (const char* set : sets_of_this_machine()) {
        const ChosenSet chosen(set);
        runs.emplace_back(g);
    }
    for (const std::int64_t size : of_sizes) {
        for (const int misaligned : {0, 1}) {
            const E* from = data.data() + misaligned;
            const R right = expected(from, size, Mask{masked ? keep.data() : nullptr});
            for (BoundPlan& run : runs) {
                run.extent("n", size).array("x", from);
                if (masked) run.array("keep", keep.data());
                ASSERT_TRUE(same_bits(run.now().get<R>("r"), right))
                    << row.name << (masked ? " masked" : "") << " of " << gf::to_text(gf::dtype_of<E>) << ", " << size
                    << " elements, kind " << static_cast<int>(kind) << ", " << run.device() << ": " << +run.get<R>("r")
                    << ", not " << +right;
            }
        }
    }
}

} // namespace

/// The argument that a reduction is given.
constexpr int given(gf::ReduceArgument argument) { return argument == gf::ReduceArgument::ddof ? 1 : 0; }

// The expected result of each reduction of reduce.def: its finalize tokens applied to the canonical state.
namespace gf::device {
#define GRIDFOLD_REDUCE_OP(...)
#define GRIDFOLD_MONOID_OP(id, file, operands, rule_)           \
    struct OperandsOf_##id {                                    \
        static constexpr OperandRule rule = OperandRule::rule_; \
    };
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_MONOID_OP
#undef GRIDFOLD_REDUCE_OP
#define GRIDFOLD_MONOID_OP(...)
#define GRIDFOLD_REDUCE_OP(id, monoid, accumulator, result, on_empty, argument_, needs_elements, doc, ...)     \
    struct Reduction_##id : OperandsOf_##monoid {                                                              \
        template <class E, class A> using Monoid = monoid<E, A>;                                               \
        static constexpr ReduceArgument takes = ReduceArgument::argument_;                                     \
        static const ReduceOp& row() { return reduce_op::id; }                                                 \
        template <class E> using A = decltype(value_of_accumulator<E, AccumulatorRule::accumulator>());        \
        template <class E> using R = decltype(value_of_result<E, A<E>, ResultRule::result>());                 \
        template <class E> static Reduction_##id::R<E> expected(const E* x, std::int64_t n, test::Mask mask) { \
            using M = monoid<E, A<E>>;                                                                         \
            return finalized<M, Reduction_##id::R<E>>(canonical<M>(x, n, mask));                               \
        }                                                                                                      \
        template <class M, class R> static R finalized(const typename M::State& s) {                           \
            [[maybe_unused]] const double argument = given(takes);                                             \
            return static_cast<R>(__VA_ARGS__);                                                                \
        }                                                                                                      \
    };
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
} // namespace gf::device

namespace {

template <class Reduction> gf::ReduceOptions options_of() {
    using enum gf::ReduceArgument;
    constexpr int value = given(Reduction::takes);
    return {.ddof = Reduction::takes == ddof ? value : 0, .rank = Reduction::takes == rank ? value : 0};
}

/// A reduction of two operands, or of a payload, of some sizes.
template <class Reduction, class M, class R, class E, class Second> void expect_operands() {
    constexpr bool is_one = gf::device::operand_count<M> == 1;
    for (const bool masked : {false, true}) {
        gf::Graph g;
        const gf::Dim n = g.dim("n");
        std::vector<gf::Value> operands{g.input<E>("x", {n})};
        if (!is_one) operands.push_back(g.input<Second>("y", {n}));
        gf::ReduceOptions options = options_of<Reduction>();
        if (masked) options.where = g.input<bool>("keep", {n});
        g.output("r", gf::reduce(Reduction::row(), operands, options));
        const auto most = static_cast<std::size_t>(sizes.back());
        const Elements<E> x(most);
        const Elements<Second> y(most, 3);
        const Elements<bool> keep(most, 2);
        for (const char* set : sets_of_this_machine()) {
            const ChosenSet chosen(set);
            BoundPlan run(g);
            for (const std::int64_t size : sizes) {
                run.extent("n", size).array("x", x.data());
                if (!is_one) run.array("y", y.data());
                if (masked) run.array("keep", keep.data());
                const R right = Reduction::template finalized<M, R>(canonical<M>(
                    gf::test::Operands<M, E, Second>{x.data(), y.data()}, size, Mask{masked ? keep.data() : nullptr}));
                ASSERT_TRUE(same_bits(run.now().get<R>("r"), right))
                    << Reduction::row().name << (masked ? " masked" : "") << " of " << gf::to_text(gf::dtype_of<E>)
                    << ", " << size << " elements, " << set << ": " << +run.get<R>("r") << ", not " << +right;
            }
        }
    }
}

template <class E, class Reduction> void expect_canonical(Kind kind = Kind::any) {
    using enum gf::OperandRule;
    if constexpr (Reduction::rule == floating) {
        if constexpr (std::is_floating_point_v<E>)
            expect_operands<Reduction, typename Reduction::template Monoid<E, double>, E, E, E>();
        return;
    } else if constexpr (Reduction::rule == payload) {
        using Pair = typename Reduction::template Monoid<E, E>;
        if constexpr (gf::device::operand_count<Pair> == 2)
            expect_operands<Reduction, Pair, float, E, float>();
        else
            expect_operands<Reduction, typename Reduction::template Monoid<std::uint64_t, std::uint64_t>, E, E, E>();
        return;
    } else {
        for (const bool masked : {false, true})
            expect_reduction<E, typename Reduction::template R<E>>(
                Reduction::row(), options_of<Reduction>(), masked,
                [](const E* x, std::int64_t n, Mask mask) { return Reduction::expected(x, n, mask); }, kind);
    }
}

#define GRIDFOLD_REDUCE_OP(id, ...)                                    \
    TEST(BackendCpuOrder, id) {                                        \
        expect_canonical<bool, gf::device::Reduction_##id>();          \
        expect_canonical<std::int8_t, gf::device::Reduction_##id>();   \
        expect_canonical<std::int32_t, gf::device::Reduction_##id>();  \
        expect_canonical<std::uint64_t, gf::device::Reduction_##id>(); \
        expect_canonical<float, gf::device::Reduction_##id>();         \
        expect_canonical<double, gf::device::Reduction_##id>();        \
    }
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP

/// Blocks of five, six and eight whole slabs, beside a block with a partial one, and of nine.
const std::vector<std::int64_t> sizes_of_blocks{5 * 2048, 700 * 2048, 700 * 2048 + 9, 1024 * 2048, 1029 * 2048};

template <class E, class Reduction> void expect_blocks() {
    expect_reduction<E, typename Reduction::template R<E>>(
        Reduction::row(), options_of<Reduction>(), false,
        [](const E* x, std::int64_t n, Mask mask) { return Reduction::expected(x, n, mask); }, Kind::any,
        sizes_of_blocks);
}

TEST(BackendCpuOrder, blocks_that_are_folded_at_once) {
    expect_blocks<float, gf::device::Reduction_sum>();
    expect_blocks<float, gf::device::Reduction_sum_of_squares>();
    expect_blocks<float, gf::device::Reduction_product>();
    expect_blocks<float, gf::device::Reduction_stddev>();
    expect_blocks<float, gf::device::Reduction_logsumexp>();
    expect_blocks<float, gf::device::Reduction_max>();
    expect_blocks<double, gf::device::Reduction_sum>();
    expect_blocks<double, gf::device::Reduction_mean>();
    expect_blocks<std::int8_t, gf::device::Reduction_variance>();
}

TEST(BackendCpuOrder, of_special_values) {
    using enum Kind;
    for (const Kind kind : {zeros, negative, positive, infinities, a_nan, a_negative_nan}) {
        expect_canonical<float, gf::device::Reduction_min>(kind);
        expect_canonical<float, gf::device::Reduction_max>(kind);
        expect_canonical<float, gf::device::Reduction_argmin>(kind);
        expect_canonical<float, gf::device::Reduction_any>(kind);
        expect_canonical<float, gf::device::Reduction_all>(kind);
        expect_canonical<float, gf::device::Reduction_count>(kind);
        expect_canonical<double, gf::device::Reduction_min>(kind);
        expect_canonical<double, gf::device::Reduction_max>(kind);
        expect_canonical<double, gf::device::Reduction_argmax>(kind);
    }
}

TEST(BackendCpuOrder, wider_accumulators) {
    for (const bool masked : {false, true}) {
        expect_reduction<float, double>(gf::reduce_op::sum, {.accumulate = gf::DType::f64}, masked,
                                        [](const float* x, std::int64_t n, Mask mask) {
                                            return canonical<gf::device::Sum<float, double>>(x, n, mask).sum;
                                        });
        expect_reduction<float, double>(gf::reduce_op::mean, {.accumulate = gf::DType::f64}, masked,
                                        [](const float* x, std::int64_t n, Mask mask) {
                                            using M = gf::device::Moments<float, double>;
                                            return M::mean(canonical<M>(x, n, mask));
                                        });
        expect_reduction<std::int32_t, double>(gf::reduce_op::product, {.accumulate = gf::DType::f64}, masked,
                                               [](const std::int32_t* x, std::int64_t n, Mask mask) {
                                                   using M = gf::device::Product<std::int32_t, double>;
                                                   return canonical<M>(x, n, mask).product;
                                               });
    }
}

TEST(BackendCpuOrder, a_users_monoid) {
    for (const bool masked : {false, true})
        expect_reduction<float, float>(gf::reduce_op::ordered, {}, masked,
                                       [](const float* x, std::int64_t n, Mask mask) {
                                           using M = gf::device::monoid_ordered<float, float>;
                                           return M::finalize(canonical<M>(x, n, mask));
                                       });
}

/// A reduction of own_reductions.hpp against the canonical order of its monoid.
template <template <class, class> class Monoid, class E, class R> void expect_own(const gf::ReduceOp& row) {
    using M = Monoid<E, E>;
    for (const bool masked : {false, true})
        expect_reduction<E, R>(row, {}, masked, [](const E* x, std::int64_t n, Mask mask) {
            return M::finalize(canonical<M>(x, n, mask));
        });
}

TEST(BackendCpuOrder, a_users_state_of_up_to_64_words) {
    expect_own<gf::device::monoid_five_facts, float, double>(gf::reduce_op::five_facts);
    expect_own<gf::device::monoid_eight_powers, float, double>(gf::reduce_op::eight_powers);
    expect_own<gf::device::monoid_thirty_two_scales, double, double>(gf::reduce_op::thirty_two_scales);
    expect_own<gf::device::monoid_histogram_mark, float, std::uint32_t>(gf::reduce_op::histogram_mark);
}

TEST(BackendCpuOrder, a_users_monoid_that_is_exact_in_any_order) {
    expect_own<gf::device::monoid_widest, float, float>(gf::reduce_op::widest);
    expect_own<gf::device::monoid_widest, std::int64_t, std::int64_t>(gf::reduce_op::widest);
    expect_own<gf::device::monoid_farthest, float, float>(gf::reduce_op::farthest);
    expect_own<gf::device::monoid_farthest, std::int64_t, std::int64_t>(gf::reduce_op::farthest);
}

} // namespace
