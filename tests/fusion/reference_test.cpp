// What Options::verify takes for the same value.
#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "front/reference.hpp"

namespace {

using gf::DType;
using gf::detail::is_same;

bool is_same_f32(float a, float b) {
    return is_same(DType::f32, std::bit_cast<std::uint32_t>(a), std::bit_cast<std::uint32_t>(b));
}

TEST(Verify, compares_bits_but_of_nan) {
    const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
    EXPECT_TRUE(is_same_f32(1, 1));
    EXPECT_TRUE(is_same_f32(nan, -nan));
    EXPECT_FALSE(is_same_f32(nan, 1));
    EXPECT_FALSE(is_same_f32(0.0F, -0.0F));
    EXPECT_FALSE(is_same_f32(1.0F, std::nextafter(1.0F, 2.0F)));
    EXPECT_FALSE(is_same_f32(std::numeric_limits<float>::max(), infinity));
    EXPECT_TRUE(is_same(DType::f16, 0x7e00, 0xfe00));
    EXPECT_FALSE(is_same(DType::u32, 0x7fc00000, 0xffc00000));
}

} // namespace
