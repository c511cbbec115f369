// The bound on the difference from the CPU's results that Options::verify allows.
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include <gridfold/ops/text.hpp>

#include "front/reference.hpp"

namespace {

using gf::DType;
using gf::detail::is_close;

double tolerance_of(std::string_view expression) {
    return gf::detail::output_tolerances(gf::parse("f(x: f32[n], k: i32[n]) -> y = " + std::string(expression))).at(0);
}

std::uint64_t bits_of(float value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Tolerance, exact_operations_are_held_to_their_bits) {
    EXPECT_EQ(tolerance_of("sum(x * x + sqrt(abs(x)) / 3)"), 0);
    EXPECT_EQ(tolerance_of("stddev(x)"), 0);
    EXPECT_EQ(tolerance_of("argmax(min(k, 3))"), 0);
}

TEST(Tolerance, an_inexact_map_is_held_to_the_ulps_of_its_row) {
    EXPECT_EQ(tolerance_of("exp(x)"), gf::map_op::exp.ulps * 0x1p-23);
    EXPECT_EQ(tolerance_of("-exp(x)"), gf::map_op::exp.ulps * 0x1p-23);
    EXPECT_EQ(tolerance_of("max(exp(x))"), gf::map_op::exp.ulps * 0x1p-23);
    EXPECT_EQ(tolerance_of("exp(x) * exp(x)"), (2 * gf::map_op::exp.ulps + 1) * 0x1p-23);
}

TEST(Tolerance, there_is_no_bound_where_the_error_depends_on_the_data) {
    EXPECT_EQ(tolerance_of("exp(x) - 1"), infinity);
    EXPECT_EQ(tolerance_of("sum(sin(x))"), infinity);
    EXPECT_EQ(tolerance_of("exp(x) > 1"), infinity);
    EXPECT_EQ(tolerance_of("i32(exp(x))"), infinity);
    EXPECT_EQ(tolerance_of("max(x where exp(x) > 1)"), infinity);
}

TEST(Tolerance, closeness_knows_nan_infinity_and_the_edge_of_zero) {
    const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
    const float largest = std::numeric_limits<float>::max(), smallest = std::numeric_limits<float>::denorm_min();
    EXPECT_TRUE(is_close(DType::f32, bits_of(nan), bits_of(-nan), 0));
    EXPECT_FALSE(is_close(DType::f32, bits_of(nan), bits_of(1), 0.5));
    EXPECT_FALSE(is_close(DType::f32, bits_of(0.0F), bits_of(-0.0F), 0));
    EXPECT_FALSE(is_close(DType::f32, bits_of(1.0F), bits_of(std::nextafter(1.0F, 2.0F)), 0));
    EXPECT_TRUE(is_close(DType::f32, bits_of(1.0F), bits_of(std::nextafter(1.0F, 2.0F)), 0x1p-23));
    EXPECT_FALSE(is_close(DType::f32, bits_of(1.0F), bits_of(1.0001F), 0x1p-23));
    EXPECT_TRUE(is_close(DType::f32, bits_of(largest), bits_of(inf), 0x1p-23));
    EXPECT_FALSE(is_close(DType::f32, bits_of(largest), bits_of(-inf), 0x1p-23));
    EXPECT_TRUE(is_close(DType::f32, bits_of(0), bits_of(smallest), 0x1p-23));
    EXPECT_FALSE(is_close(DType::i32, 1, 2, 0.5));
}

} // namespace
