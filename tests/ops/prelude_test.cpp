// The prelude's conversions and divisions against exact arithmetic and NumPy's answers.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include <gridfold/core/device/prelude.cuh>

namespace {

namespace device = gf::device;
using std::bit_cast;

/// A 16-bit format, decoded by its definition.
struct Format {
    int exponent_bits;
    int fraction_bits;

    double decode(unsigned bits) const {
        const int bias = (1 << (exponent_bits - 1)) - 1;
        const unsigned fraction = bits & ((1u << fraction_bits) - 1);
        const int exponent = static_cast<int>((bits & 0x7fffu) >> fraction_bits);
        const double sign = (bits & 0x8000u) != 0 ? -1 : 1;
        if (exponent == 2 * bias + 1)
            return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                                 : sign * std::numeric_limits<double>::infinity();
        if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
        return sign * std::ldexp(fraction | (1u << fraction_bits), exponent - bias - fraction_bits);
    }
    unsigned infinity() const { return ((1u << exponent_bits) - 1) << fraction_bits; }
    /// decode(), but infinity is the next number after the largest, as in rounding.
    double decode_unbounded(unsigned magnitude) const {
        return magnitude == infinity() ? std::ldexp(1.0, 1 << (exponent_bits - 1)) : decode(magnitude);
    }
};
constexpr Format half{5, 10}, brain{8, 7};

std::uint16_t narrow_half(float x) { return device::f32_to_f16(x); }
std::uint16_t narrow_brain(float x) { return device::f32_to_bf16(x); }
float widen_half(std::uint16_t bits) { return device::f16_to_f32(bits); }
float widen_brain(std::uint16_t bits) { return device::bf16_to_f32(bits); }

void widens_every_number(const Format& format, float (*widen)(std::uint16_t)) {
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
        const double expected = format.decode(bits);
        const float actual = widen(static_cast<std::uint16_t>(bits));
        if (std::isnan(expected))
            ASSERT_TRUE(std::isnan(actual)) << bits;
        else
            ASSERT_EQ(bit_cast<std::uint64_t>(static_cast<double>(actual)), bit_cast<std::uint64_t>(expected)) << bits;
    }
}

/// Every number of the format, every midpoint between two, and their f32 neighbours, between which rounding changes.
void rounds_to_nearest_even(const Format& format, std::uint16_t (*narrow)(float)) {
    constexpr float inf = std::numeric_limits<float>::infinity();
    for (unsigned bits = 0; bits < format.infinity(); ++bits) {
        const double low = format.decode(bits), high = format.decode_unbounded(bits + 1);
        const float middle = static_cast<float>((low + high) / 2);
        ASSERT_EQ(static_cast<double>(middle), (low + high) / 2) << "a midpoint is an f32";
        const unsigned even = (bits & 1u) == 0 ? bits : bits + 1;
        for (const unsigned sign : {0u, 0x8000u}) {
            const auto signed_of = [sign](float x) { return sign != 0 ? -x : x; };
            ASSERT_EQ(narrow(signed_of(static_cast<float>(low))), bits | sign);
            ASSERT_EQ(narrow(signed_of(middle)), even | sign) << bits;
            ASSERT_EQ(narrow(signed_of(std::nextafter(middle, 0.0f))), bits | sign) << bits;
            ASSERT_EQ(narrow(signed_of(std::nextafter(middle, inf))), (bits + 1) | sign) << bits;
        }
    }
    EXPECT_EQ(narrow(inf), format.infinity());
    EXPECT_EQ(narrow(-inf), format.infinity() | 0x8000u);
    EXPECT_EQ(narrow(std::numeric_limits<float>::max()), format.infinity());
    EXPECT_EQ(narrow(-std::numeric_limits<float>::denorm_min()), 0x8000u);
}

void keeps_nan(const Format& format, std::uint16_t (*narrow)(float)) {
    // The least payload, which truncation would lose, and the greatest, which an increment would overflow.
    for (const std::uint32_t bits : {0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0xff800001u, 0xffffffffu})
        EXPECT_TRUE(std::isnan(format.decode(narrow(bit_cast<float>(bits))))) << bits;
}

} // namespace

TEST(Half, WidensEveryNumberExactly) { widens_every_number(half, widen_half); }
TEST(Half, RoundsToTheNearestEven) { rounds_to_nearest_even(half, narrow_half); }
TEST(Half, KeepsNaN) { keeps_nan(half, narrow_half); }
TEST(Brain, WidensEveryNumberExactly) { widens_every_number(brain, widen_brain); }
TEST(Brain, RoundsToTheNearestEven) { rounds_to_nearest_even(brain, narrow_brain); }
TEST(Brain, KeepsNaN) { keeps_nan(brain, narrow_brain); }

TEST(Half, RoundsDoublesOnce) {
    for (unsigned bits = 0; bits < half.infinity(); ++bits) {
        const double middle = (half.decode(bits) + half.decode_unbounded(bits + 1)) / 2;
        const double even = half.decode((bits & 1u) == 0 ? bits : bits + 1);
        // Closer to the midpoint than any f32: rounding to f32 first would land on it.
        const double below = std::nextafter(middle, 0.0), above = std::nextafter(middle, 1e300);
        ASSERT_EQ(device::round_f16(middle), static_cast<float>(even));
        ASSERT_EQ(device::round_f16(below), static_cast<float>(half.decode(bits)));
        ASSERT_EQ(device::round_f16(-above), static_cast<float>(-half.decode(bits + 1)));
    }
}

TEST(Brain, RoundsDoublesOnce) {
    for (unsigned bits = 0; bits < brain.infinity(); ++bits) {
        const double middle = (brain.decode(bits) + brain.decode_unbounded(bits + 1)) / 2;
        const double below = std::nextafter(middle, 0.0), above = std::nextafter(middle, 1e300);
        ASSERT_EQ(device::round_bf16(below), static_cast<float>(brain.decode(bits)));
        ASSERT_EQ(device::round_bf16(-above), static_cast<float>(-brain.decode(bits + 1)));
    }
}

TEST(Brain, RoundsIntegersOnce) {
    // 2^62 + 2^54 is a tie between two bf16 numbers. The next integer is above the tie, but the same as an f64.
    const std::int64_t tie = (std::int64_t{1} << 62) + (std::int64_t{1} << 54);
    EXPECT_EQ(device::round_bf16(tie), 0x1p62f);
    EXPECT_EQ(device::round_bf16(tie + 1), 0x1p62f + 0x1p55f);
    EXPECT_EQ(device::round_bf16(tie - 1), 0x1p62f);
    EXPECT_EQ(device::round_bf16(-tie - 1), -0x1p62f - 0x1p55f);
    EXPECT_EQ(device::round_bf16(static_cast<std::uint64_t>(tie) * 2 + 1), 0x1p63f + 0x1p56f);
    const std::int32_t small = (1 << 30) + (1 << 22);
    EXPECT_EQ(device::round_bf16(small + 1), 0x1p30f + 0x1p23f);
    EXPECT_EQ(device::round_bf16(std::int64_t{5}), 5.0f);
    EXPECT_EQ(device::round_bf16(std::numeric_limits<std::int64_t>::min()), -0x1p63f);
}

TEST(Convert, SaturatesFloatsAndTurnsNaNToZero) {
    constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(device::convert<std::int8_t>(127.9f), 127);
    EXPECT_EQ(device::convert<std::int8_t>(128.0f), 127);
    EXPECT_EQ(device::convert<std::int8_t>(-128.9f), -128);
    EXPECT_EQ(device::convert<std::int8_t>(-1e9f), -128);
    EXPECT_EQ(device::convert<std::uint8_t>(-0.9f), 0);
    EXPECT_EQ(device::convert<std::uint8_t>(-5.0), 0);
    EXPECT_EQ(device::convert<std::int32_t>(2147483520.0f), 2147483520);
    EXPECT_EQ(device::convert<std::int32_t>(0x1p31f), std::numeric_limits<std::int32_t>::max());
    EXPECT_EQ(device::convert<std::int64_t>(-inf), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(device::convert<std::uint64_t>(0x1p63f), std::uint64_t{1} << 63);
    EXPECT_EQ(device::convert<std::uint64_t>(inf), std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(device::convert<std::int16_t>(nan), 0);
    EXPECT_EQ(device::convert<bool>(nan), true);
    EXPECT_EQ(device::convert<bool>(-0.0f), false);
    EXPECT_EQ(device::convert<bool>(0x1p-149f), true);
    EXPECT_EQ(device::convert<std::int8_t>(300), 44);
    EXPECT_EQ(device::convert<float>((std::int64_t{1} << 24) + 1), 0x1p24f);
}

template <class T, class Bits> void expect_bits_of_exp(Bits bits) {
    const T x = bit_cast<T>(bits);
    const Bits wanted = bit_cast<Bits>(device::exp(x));
    ASSERT_EQ(bit_cast<Bits>(device::exp_of_nonpositive(x)), wanted) << x;
    if (!device::elementary::exp_of_nonpositive_is_plain(x)) return;
    const T plain = device::elementary::exp_of_nonpositive<device::elementary::Operands::plain>(x);
    ASSERT_EQ(bit_cast<Bits>(plain), wanted) << x;
}

TEST(Exp, OfNonpositiveNumbersHasTheSameBits) {
    constexpr std::uint32_t zero = 0x8000'0000, infinity = 0xff80'0000;
    for (std::uint32_t bits = zero; bits <= infinity; bits += 251) expect_bits_of_exp<float>(bits);
    for (float x = -80; x > -110; x = std::nextafter(x, -200.0F)) // denormal results
        expect_bits_of_exp<float>(bit_cast<std::uint32_t>(x));
    for (double x = -1e-9; x > -760; x = x * 1.00001) expect_bits_of_exp<double>(bit_cast<std::uint64_t>(x));
    constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    for (const float x : {0.0F, -0.0F, -inf}) {
        expect_bits_of_exp<float>(bit_cast<std::uint32_t>(x));
        expect_bits_of_exp<double>(bit_cast<std::uint64_t>(double{x}));
    }
    EXPECT_TRUE(std::isnan(device::exp_of_nonpositive(nan)));
}

TEST(Division, FloorsAsNumPyDoes) {
    const auto f32 = [](std::uint32_t bits) { return bit_cast<float>(bits); };
    const auto f64 = [](std::uint64_t bits) { return bit_cast<double>(bits); };
    const auto check = [](auto a, auto b, auto quotient, auto rest) {
        const auto same = [](auto actual, auto expected) {
            return std::isnan(expected) ? std::isnan(actual)
                                        : actual == expected && std::signbit(actual) == std::signbit(expected);
        };
        EXPECT_TRUE(same(device::floor_div(a, b), quotient))
            << a << " floor_div " << b << " = " << device::floor_div(a, b);
        EXPECT_TRUE(same(device::remainder(a, b), rest)) << a << " % " << b << " = " << device::remainder(a, b);
    };
    const auto check_integer = [](std::int32_t a, std::int32_t b, std::int32_t quotient, std::int32_t rest) {
        EXPECT_EQ(device::floor_div(a, b), quotient) << a << " floor_div " << b;
        EXPECT_EQ(device::remainder(a, b), rest) << a << " % " << b;
    };
#define F32(a, b, quotient, rest) check(f32(a), f32(b), f32(quotient), f32(rest));
#define F64(a, b, quotient, rest) check(f64(a), f64(b), f64(quotient), f64(rest));
#define I32(a, b, quotient, rest) check_integer(a, b, quotient, rest);
#include "numpy_division.inc"
#undef F32
#undef F64
#undef I32
}
