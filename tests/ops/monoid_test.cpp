// The monoids: their results, independence of grouping where required, identities, and states of whole words.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/ops/op.hpp>

#include "ops/monoid_folds.hpp"

namespace {

using namespace gf::test;

/// combine(s, t) and combine(t, s) give the same bits, for sums and products that are not exact, too.
template <class M, class E> void sides_do_not_matter(const std::vector<E>& x) {
    static_assert(device::is_symmetric<M>);
    for (std::size_t cut = 0; cut <= x.size(); ++cut) {
        const auto first = fold<M>(x, 0, cut), second = fold<M>(x, cut, x.size());
        auto forward = first, backward = second;
        M::combine(forward, second);
        M::combine(backward, first);
        EXPECT_TRUE(same_bytes(forward, backward)) << "split at " << cut;
    }
}
template <class M, class E> void identity_changes_nothing(const std::vector<E>& x) {
    const auto whole = fold<M>(x);
    auto left = M::identity(), right = whole;
    M::combine(left, whole);
    M::combine(right, M::identity());
    EXPECT_TRUE(same_bytes(left, whole)) << "identity first";
    EXPECT_TRUE(same_bytes(right, whole)) << "identity last";
    auto none = M::identity();
    M::combine(none, M::identity());
    EXPECT_TRUE(same_bytes(none, M::identity()));
}

template <class E> std::vector<E> integers_of(std::vector<int> values) { return {values.begin(), values.end()}; }

} // namespace

TEST(Sum, WidensBeforeItAdds) {
    using M = device::Sum<int8_t, int64_t>;
    EXPECT_EQ(fold<M>(std::vector<int8_t>(1000, 127)).sum, 127000);
    EXPECT_EQ((fold<device::Sum<bool, int64_t>>(std::vector<bool>{true, true, false, true}).sum), 3);
    any_split_is_the_whole<M>(integers_of<int8_t>({5, -128, 127, 127, 1}));
}

TEST(Sum, IsSymmetric) {
    const std::vector<float> x{0.1f, -0.7f, 3e7f, 1e-9f, -0.0f, 12.3f, -3e7f, 5e30f};
    sides_do_not_matter<device::Sum<float, float>>(x);
    sides_do_not_matter<device::SumOfSquares<float, float>>(x);
    sides_do_not_matter<device::Product<float, float>>(x);
    sides_do_not_matter<device::Max<float, float>>(x);
    static_assert(!device::is_symmetric<device::Moments<float, double>>, "its origin is the first one's");
}

TEST(Sum, WrapsAround) {
    using M = device::Sum<uint64_t, uint64_t>;
    EXPECT_EQ(fold<M>(std::vector<uint64_t>{~uint64_t{0}, 3}).sum, 2u);
    EXPECT_EQ((fold<device::Sum<int64_t, int64_t>>(std::vector<int64_t>{Limits<int64_t>::max(), 1}).sum),
              Limits<int64_t>::min());
}

TEST(Product, MultipliesFromOne) {
    using M = device::Product<int32_t, int64_t>;
    EXPECT_EQ(M::identity().product, 1);
    EXPECT_EQ(fold<M>(std::vector<int32_t>{100000, 100000, -3}).product, -30000000000);
    any_split_is_the_whole<M>(std::vector<int32_t>{3, -5, 7, 1 << 30, 11, 1 << 30});
}

TEST(Top, KeepsTheLargestInAnyOrder) {
    using M = device::Top<int32_t, int32_t>;
    std::vector<int32_t> x;
    for (int i = 0; i < 100; ++i) x.push_back((i * 37 + 11) % 61 - 30);
    any_split_is_the_whole<M>(x);
    identity_changes_nothing<M>(x);
    std::ranges::sort(x, std::greater());
    const auto s = fold<M>(x);
    for (unsigned rank = 0; rank < 16; ++rank) EXPECT_EQ(M::element(s, rank), x[rank]) << rank;
    any_split_is_the_whole<device::Top<float, float>>(mixed);
    any_split_is_the_whole<device::Top<double, double>>(std::vector{1.5, -inf, not_a_number, 1.5, inf, -0.0, 0.0});
    using Float = device::Top<float, float>;
    EXPECT_TRUE(std::isnan(Float::element(fold<Float>(mixed), 12))) << "of nine elements";
}

TEST(Ends, AreTheFirstAndTheLastInAnyOrder) {
    const std::vector<uint64_t> x{7, 3, 9, ~uint64_t{0}};
    using First = device::First<uint64_t, uint64_t>;
    using Last = device::Last<uint64_t, uint64_t>;
    any_split_is_the_whole<First>(x);
    any_split_is_the_whole<Last>(x);
    identity_changes_nothing<First>(x);
    identity_changes_nothing<Last>(x);
    EXPECT_EQ(fold<First>(x).payload, 7u);
    EXPECT_EQ(fold<Last>(x).payload, ~uint64_t{0});
}

TEST(CoMoments, OfAnOperandWithItselfAreItsMoments) {
    using M = device::CoMoments<float, double>;
    using Own = device::Moments<float, double>;
    auto s = M::identity();
    for (std::size_t i = 0; i < mixed.size(); ++i) M::accumulate(s, mixed[i], mixed[i], static_cast<int64_t>(i));
    const auto own = fold<Own>(mixed);
    EXPECT_EQ(M::covariance(s, 1), Own::variance(own, 1));
    EXPECT_NEAR(M::correlation(s), 1, 1e-15);
    auto none = M::identity();
    M::combine(none, s);
    EXPECT_TRUE(same_bytes(none, s));
    M::combine(s, M::identity());
    EXPECT_TRUE(same_bytes(none, s));
    auto overflowed = M::identity();
    for (const float x : {0.0F, 3e38F}) M::accumulate(overflowed, x, x, 0);
    overflowed.x = inf;
    const auto before = overflowed;
    M::combine(overflowed, M::identity());
    EXPECT_TRUE(same_bytes(overflowed, before)) << "combined with nothing";
}

TEST(SumOfSquares, SquaresInTheAccumulator) {
    using M = device::SumOfSquares<int8_t, int64_t>;
    EXPECT_EQ(fold<M>(std::vector<int8_t>{-128, 100}).sum, 26384);
    any_split_is_the_whole<M>(integers_of<int8_t>({5, -128, 127, 127, 1}));
}

TEST(Sum, OfZerosIsPositiveZero) {
    const auto is_positive_zero = []<class A>(A value) { return value == A(0) && !std::signbit(value); };
    EXPECT_TRUE(is_positive_zero(
        device::Sum<float, float>::value(fold<device::Sum<float, float>>(std::vector<float>{-0.0F, -0.0F}))));
    EXPECT_TRUE(is_positive_zero(
        device::Sum<float, double>::value(fold<device::Sum<float, double>>(std::vector<float>{-0.0F}))));
    EXPECT_TRUE(is_positive_zero(device::Sum<double, double>::value(device::Sum<double, double>::identity())));
    EXPECT_EQ((device::Sum<int32_t, int64_t>::value(fold<device::Sum<int32_t, int64_t>>(std::vector<int32_t>{-1, 3}))),
              2);
}

TEST(AnyAllCount, TestAgainstZero) {
    using Any = device::Any<double, bool>;
    using All = device::All<double, bool>;
    using Count = device::Count<double, bool>;
    const std::vector<double> x{0.0, -0.0, not_a_number, 2.0};
    EXPECT_EQ(fold<Any>(x).any, 1u);
    EXPECT_EQ(fold<All>(x).all, 0u);
    EXPECT_EQ(fold<Count>(x).count, 2);
    EXPECT_EQ(fold<Any>(std::vector<double>{0.0, -0.0}).any, 0u);
    EXPECT_EQ(fold<All>(std::vector<double>{not_a_number, -1.0}).all, 1u);
    EXPECT_EQ(Any::identity().any, 0u);
    EXPECT_EQ(All::identity().all, 1u);
    EXPECT_EQ((fold<device::Any<int32_t, bool>>(std::vector<int32_t>{0, 256}).any), 1u)
        << "no narrowing before the test";
    any_split_is_the_whole<Any>(x);
    any_split_is_the_whole<All>(x);
    any_split_is_the_whole<Count>(x);
}

TEST(Moments, StayExactFarFromZero) {
    using M = device::Moments<float, double>;
    std::mt19937 random(3);
    std::vector<float> x(20000);
    for (float& v : x) v = 1e6f + static_cast<float>(random() % 1000) / 64;
    const long double mean = std::accumulate(x.begin(), x.end(), 0.0L) / static_cast<long double>(x.size());
    long double squares = 0;
    for (const float v : x) squares += (v - mean) * (v - mean);
    const auto check = [&](const M::State& s) {
        EXPECT_NEAR(M::mean(s), static_cast<double>(mean), 1e-9);
        EXPECT_NEAR(M::variance(s, 1) / static_cast<double>(squares / (x.size() - 1)), 1, 1e-10);
    };
    check(fold<M>(x));
    // In the order of a sweep: lanes, then pairwise.
    std::vector<M::State> lanes(2048, M::identity());
    for (std::size_t i = 0; i < x.size(); ++i) M::accumulate(lanes[i % 2048], x[i], static_cast<int64_t>(i));
    for (std::size_t step = 1; step < lanes.size(); step *= 2)
        for (std::size_t i = 0; i + step < lanes.size(); i += 2 * step) M::combine(lanes[i], lanes[i + step]);
    check(lanes[0]);
    identity_changes_nothing<M>(x);
}

TEST(Moments, SurviveASentinelAtTheOrigin) {
    using M = device::Moments<float, double>;
    std::vector<M::State> lanes(64, M::identity());
    M::accumulate(lanes[0], -1e30f, 0);
    for (int i = 0; i < 6400; ++i)
        M::accumulate(lanes[static_cast<std::size_t>(1 + i % 63)], static_cast<float>(i % 7), i);
    M::State rest = M::identity();
    for (std::size_t lane = 1; lane < 64; ++lane) M::combine(rest, lanes[lane]);
    double sum = 0, squares = 0;
    for (int i = 0; i < 6400; ++i) sum += i % 7;
    for (int i = 0; i < 6400; ++i) squares += (i % 7 - sum / 6400) * (i % 7 - sum / 6400);
    EXPECT_NEAR(M::variance(rest, 0), squares / 6400, 1e-12 * squares / 6400);
}

TEST(Moments, LoseNoDigitFarFromZero) {
    using M = device::Moments<double, double>;
    std::vector<double> x(31);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1e12 + static_cast<double>(i * i % 7) / 8;
    long double mean = 0, squares = 0;
    for (const double v : x) mean += v;
    mean /= 31;
    for (const double v : x) squares += (v - mean) * (v - mean);
    M::State s = M::identity(); // each element a lane of its own, as in a short array
    for (const double v : x) M::combine(s, fold<M>(std::vector<double>{v}));
    EXPECT_NEAR(M::variance(s, 0) / static_cast<double>(squares / 31), 1, 1e-13);
}

TEST(Moments, OverflowOnlyWhereASumDoes) {
    using M = device::Moments<double, double>;
    const double most = std::numeric_limits<double>::max();
    for (const std::vector<double>& x : {std::vector<double>{most, -most}, {1e200, 1, 1}, {-1e200, 1e200, 3, 5}}) {
        EXPECT_NEAR(M::mean(fold<M>(x)), std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size()),
                    1e185);
        EXPECT_EQ(M::variance(fold<M>(x), 0), inf);
        M::State one_by_one = M::identity();
        for (const double v : x) M::combine(one_by_one, fold<M>(std::vector<double>{v}));
        EXPECT_NEAR(M::mean(one_by_one), M::mean(fold<M>(x)), 1e185);
        EXPECT_EQ(M::variance(one_by_one, 0), inf);
    }
    EXPECT_EQ(M::variance(fold<M>(std::vector<double>(5, 1e300)), 0), 0.0);
    EXPECT_EQ(M::mean(fold<M>(std::vector<double>{most, most})), inf);
}

TEST(Moments, ABlocksLanesAddUpToWhatTheyCombineTo) {
    using M = device::Moments<float, double>;
    std::mt19937 random(7);
    for (const float first : {0.5f, 1e6f, -1e30f}) {
        const double origin = M::origin(first);
        M::OfBlock::State sums = M::OfBlock::identity();
        M::State combined = M::identity();
        for (int lane = 0; lane < 64; ++lane) {
            M::OfBlock::State of_lane = M::OfBlock::identity();
            for (int i = 0; i < lane % 5; ++i)
                M::OfBlock::accumulate(of_lane, i + lane == 1 ? first : static_cast<float>(random() % 1000), origin);
            M::OfBlock::combine(sums, of_lane);
            M::combine(combined, M::close(of_lane, origin, lane % 5));
        }
        const M::State closed = M::close(sums, origin, 126);
        EXPECT_EQ(combined.count, 126);
        EXPECT_EQ(std::memcmp(&closed, &combined, sizeof closed), 0);
    }
}

TEST(Moments, AnOutlierDoesNotStayTheOrigin) {
    using M = device::Moments<float, double>;
    std::vector<float> x(4096, 0.25f);
    for (std::size_t i = 0; i < x.size(); i += 2) x[i] = 0.75f;
    x[0] = 1e9f;
    for (const bool outlier_first : {true, false}) {
        M::State s = M::identity(), t = M::identity();
        for (std::size_t i = 0; i < 8; ++i) M::accumulate(s, x[i], 0);
        for (std::size_t i = 8; i < x.size(); ++i) M::accumulate(t, x[i], 0);
        M::State both = outlier_first ? s : t;
        M::combine(both, outlier_first ? t : s);
        EXPECT_EQ(both.origin, 0.75);
        long double mean = 0, squares = 0;
        for (const float v : x) mean += v;
        mean /= static_cast<long double>(x.size());
        for (const float v : x) squares += (v - mean) * (v - mean);
        EXPECT_NEAR(M::variance(both, 0) / static_cast<double>(squares / x.size()), 1, 1e-13);
    }
}

TEST(Moments, CarryNaNAndInfinity) {
    using M = device::Moments<double, double>;
    EXPECT_TRUE(std::isnan(M::mean(fold<M>(std::vector<double>{1, not_a_number, 3}))));
    EXPECT_EQ(M::mean(fold<M>(std::vector<double>{1, inf, 3})), inf);
    EXPECT_TRUE(std::isnan(M::variance(fold<M>(std::vector<double>{1, inf, 3}), 0)));
    EXPECT_EQ(M::variance(fold<M>(std::vector<double>{5, 5, 5}), 1), 0.0);
    EXPECT_TRUE(std::isnan(M::variance(fold<M>(std::vector<double>{5}), 1))) << "nothing to divide by";
}

TEST(LogSumExp, StreamsWithoutOverflow) {
    const auto check = []<class A>(A, std::vector<A> x, double tolerance) {
        using M = device::LogSumExp<A, A>;
        long double largest = -inf, sum = 0;
        for (const A v : x) largest = std::max<long double>(largest, v);
        for (const A v : x) sum += std::exp(static_cast<long double>(v) - largest);
        const double expected = static_cast<double>(largest + std::log(sum));
        for (std::size_t cut = 0; cut <= x.size(); cut += 37) {
            auto s = fold<M>(x, 0, cut);
            M::combine(s, fold<M>(x, cut, x.size()));
            EXPECT_NEAR(M::value(s), expected, tolerance) << cut;
        }
        identity_changes_nothing<M>(x);
    };
    std::mt19937 random(11);
    std::vector<double> x(1000);
    for (double& v : x) v = 1000 + static_cast<double>(random() % 1000) / 100;
    check(double{}, x, 1e-11);
    check(float{}, std::vector<float>(x.begin(), x.end()), 1e-3);
    for (double& v : x) v -= 3000;
    check(double{}, x, 1e-11);
}

TEST(LogSumExp, KnowsInfinitiesAndNaN) {
    using M = device::LogSumExp<double, double>;
    const auto value = [](const std::vector<double>& x) { return M::value(fold<M>(x)); };
    EXPECT_EQ(value({-inf, -inf}), -inf);
    EXPECT_EQ(value({-inf, 2.0}), 2.0);
    EXPECT_EQ(value({2.0, -inf}), 2.0);
    EXPECT_EQ(value({1.0, inf, inf, 2.0}), inf);
    EXPECT_TRUE(std::isnan(value({1.0, not_a_number, 2.0})));
    EXPECT_TRUE(std::isnan(value({not_a_number})));
    EXPECT_TRUE(std::isnan(value({not_a_number, inf})));
    EXPECT_EQ(value({}), -inf);
    auto split = fold<M>(std::vector<double>{-inf});
    M::combine(split, fold<M>(std::vector<double>{-inf}));
    EXPECT_EQ(M::value(split), -inf);
}

namespace {

/// A State constructed in differently filled memory has the same bytes: it has no padding.
template <class M> void has_no_padding(const char* name) {
    using State = typename M::State;
    static_assert(M::associative_and_commutative && std::is_trivially_copyable_v<State>);
    static_assert(sizeof(State) % 4 == 0 && sizeof(State) <= 64 * 4);
    static_assert(requires {
        typename std::bool_constant<(std::bit_cast<std::array<unsigned, sizeof(State) / 4>>(State{}), true)>;
    });
    EXPECT_GE(sizeof(State), 4u) << name;
}

} // namespace

TEST(States, AreWholeWordsWithoutPadding) {
    const auto check = []<class E>(E) {
        has_no_padding<device::Sum<E, int64_t>>("Sum");
        has_no_padding<device::Product<E, double>>("Product");
        has_no_padding<device::SumOfSquares<E, float>>("SumOfSquares");
        has_no_padding<device::Min<E, E>>("Min");
        has_no_padding<device::Max<E, E>>("Max");
        has_no_padding<device::ArgMin<E, E>>("ArgMin");
        has_no_padding<device::ArgMax<E, E>>("ArgMax");
        has_no_padding<device::Any<E, bool>>("Any");
        has_no_padding<device::All<E, bool>>("All");
        has_no_padding<device::Count<E, bool>>("Count");
        has_no_padding<device::Moments<E, double>>("Moments");
        has_no_padding<device::LogSumExp<E, float>>("LogSumExp");
    };
    check(bool{}), check(int8_t{}), check(std::uint16_t{}), check(int32_t{}), check(int64_t{}), check(float{}),
        check(double{});
}

TEST(MonoidOp, KnowsItsStateAndItsText) {
    using enum gf::DType;
    EXPECT_EQ(gf::reduce_op::sum.monoid->state_words(f32, f32), 1);
    EXPECT_EQ(gf::reduce_op::sum.monoid->state_words(i8, i64), 2);
    EXPECT_EQ(gf::reduce_op::argmin.monoid->state_words(f16, f32), 3);
    EXPECT_EQ(gf::reduce_op::argmin.monoid->state_words(f64, f64), 4);
    EXPECT_EQ(gf::reduce_op::mean.monoid->state_words(f32, f64), 8);
    for (const gf::ReduceOp* row : gf::all_reductions()) {
        if (row->builtin < 0) continue;
        const std::string_view text = gf::monoid_source(*row->monoid);
        EXPECT_NE(text.find(" struct " + std::string(row->monoid->name) + " "), text.npos) << text;
        EXPECT_EQ(text.find("#"), text.npos) << "neither #pragma once nor an #include: " << text;
    }
    EXPECT_EQ(gf::find_reduction("argmin"), &gf::reduce_op::argmin);
    EXPECT_EQ(gf::find_reduction("none"), nullptr);
}
