// Minima, maxima, their indices and payloads: results, independence of grouping, NaNs and zeros of both signs.
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "ops/monoid_folds.hpp"

namespace {

using namespace gf::test;

template <class E> int64_t argmin(const std::vector<E>& x) {
    using M = device::ArgMin<E, E>;
    return M::index(fold<M>(x));
}
template <class E> int64_t argmax(const std::vector<E>& x) {
    using M = device::ArgMax<E, E>;
    return M::index(fold<M>(x));
}
/// Folding a pack at once equals folding its elements, from any of these states.
template <class M> void packs_are_their_elements(const std::vector<double>& values) {
    constexpr int width = 4;
    std::size_t digits[width + 1] = {};
    for (bool is_left = true; is_left;) {
        typename M::State of_pack = M::identity(), of_elements = of_pack;
        double pack[width];
        for (int n = 0; n < width; ++n) pack[n] = values[digits[n]];
        for (auto* state : {&of_pack, &of_elements}) M::accumulate(*state, values[digits[width]], 0);
        M::accumulate_pack(of_pack, pack);
        for (const double x : pack) M::accumulate(of_elements, x, 0);
        const bool are_nan = std::isnan(of_pack.value) && std::isnan(of_elements.value);
        EXPECT_TRUE(are_nan || same_bytes(of_pack, of_elements)) << of_pack.value << " is not " << of_elements.value;
        is_left = false;
        for (std::size_t& digit : digits) {
            is_left = ++digit < values.size();
            if (is_left) break;
            digit = 0;
        }
    }
}

} // namespace

TEST(AtExtreme, HasThePayloadOfTheIndexThatArgExtremeHas) {
    using M = device::AtMax<float, float>;
    auto forwards = M::identity(), backwards = M::identity();
    for (std::size_t i = 0; i < mixed.size(); ++i) {
        const std::size_t back = mixed.size() - 1 - i;
        M::accumulate(forwards, mixed[i], uint64_t{i} << 40, static_cast<int64_t>(i));
        M::accumulate(backwards, mixed[back], uint64_t{back} << 40, static_cast<int64_t>(back));
    }
    EXPECT_TRUE(same_bytes(forwards, backwards));
    EXPECT_EQ(M::payload(forwards), static_cast<uint64_t>(argmax(mixed)) << 40);
}

TEST(MinMax, PropagatesNaNAndOrdersZeros) {
    using Min = device::Min<float, float>;
    using Max = device::Max<float, float>;
    EXPECT_EQ(fold<Min>(mixed).value, -7.5f);
    EXPECT_EQ(fold<Max>(mixed).value, 1e30f);
    EXPECT_TRUE(std::signbit(fold<Min>(std::vector<float>{0.0f, -0.0f, 0.0f}).value));
    EXPECT_FALSE(std::signbit(fold<Max>(std::vector<float>{-0.0f, 0.0f, -0.0f}).value));
    constexpr float none = Limits<float>::quiet_NaN(), infinite = Limits<float>::infinity();
    for (const float other : {-1.0f, 1.0f, -infinite, infinite})
        for (const auto& x : {std::vector<float>{other, none}, std::vector<float>{none, other}}) {
            EXPECT_TRUE(std::isnan(fold<Min>(x).value)) << other;
            EXPECT_TRUE(std::isnan(fold<Max>(x).value)) << other;
        }
    any_split_is_the_whole<Min>(mixed);
    any_split_is_the_whole<Max>(mixed);
}

TEST(MinMax, FoldPacksOfDoublesAsTheirElements) {
    const std::vector<double> values{0.0, -0.0, 1.5, -1.5, inf, -inf, not_a_number};
    packs_are_their_elements<device::Min<double, double>>(values);
    packs_are_their_elements<device::Max<double, double>>(values);
}

TEST(MinMax, CoversTheWholeRangeOfEveryType) {
    const auto check = []<class T>(T) {
        const T low = device::lowest<T>(), high = device::highest<T>();
        EXPECT_EQ(static_cast<T>(device::Min<T, T>::identity().value), high);
        EXPECT_EQ(static_cast<T>(device::Max<T, T>::identity().value), low);
        EXPECT_EQ((static_cast<T>(fold<device::Min<T, T>>(std::vector<T>{high, low}).value)), low);
        EXPECT_EQ((static_cast<T>(fold<device::Max<T, T>>(std::vector<T>{low, high}).value)), high);
        EXPECT_EQ((static_cast<T>(fold<device::Min<T, T>>(std::vector<T>{high}).value)), high);
        EXPECT_EQ((static_cast<T>(fold<device::Max<T, T>>(std::vector<T>{low}).value)), low);
        if constexpr (std::is_integral_v<T>)
            EXPECT_TRUE(low == Limits<T>::min() && high == Limits<T>::max());
        else
            EXPECT_TRUE(low == -Limits<T>::infinity() && high == Limits<T>::infinity());
    };
    check(bool{}), check(int8_t{}), check(std::int16_t{}), check(int32_t{}), check(int64_t{}), check(uint8_t{});
    check(std::uint16_t{}), check(std::uint32_t{}), check(uint64_t{}), check(float{}), check(double{});
}

TEST(ArgMinArgMax, FindTheFirstOfEquals) {
    EXPECT_EQ(argmin<int32_t>({4, 2, 9, 2}), 1);
    EXPECT_EQ(argmax<int32_t>({4, 9, 2, 9}), 1);
    EXPECT_EQ(argmin<float>({0.0f, -0.0f}), 0) << "zeros tie";
    EXPECT_EQ(argmax<float>({-0.0f, 0.0f}), 0) << "zeros tie";
    EXPECT_EQ(argmin<bool>({true, false, false}), 1);
    EXPECT_EQ(argmin<uint8_t>({255, 255}), 0) << "the identity's value is an element too";
    EXPECT_EQ(argmax<double>({-inf, -inf}), 0) << "the identity's value is an element too";
    EXPECT_EQ(argmin<double>({}), -1);
    any_split_is_the_whole<device::ArgMin<float, float>>(mixed);
    any_split_is_the_whole<device::ArgMax<float, float>>(mixed);
    any_split_is_the_whole<device::ArgMin<uint64_t, uint64_t>>(std::vector<uint64_t>{~uint64_t{0}, ~uint64_t{0}});
}

TEST(ArgMinArgMax, LetTheFirstNaNWin) {
    const std::vector<double> x{1.0, not_a_number, -inf, not_a_number, inf};
    EXPECT_EQ(argmin(x), 1);
    EXPECT_EQ(argmax(x), 1);
    any_split_is_the_whole<device::ArgMin<double, double>>(x);
    any_split_is_the_whole<device::ArgMax<double, double>>(x);
}

TEST(ArgMinArgMax, HoldIndicesBeyond32Bits) {
    using M = device::ArgMax<int8_t, int8_t>;
    M::State s = M::identity();
    const int64_t far = (int64_t{5} << 32) + 3;
    M::accumulate(s, 1, 4), M::accumulate(s, 2, far);
    EXPECT_EQ(M::index(s), far);
    M::State t = M::identity();
    M::accumulate(t, 2, far - 1);
    M::combine(s, t);
    EXPECT_EQ(M::index(s), far - 1) << "the smaller index wins a tie from either side";
}
