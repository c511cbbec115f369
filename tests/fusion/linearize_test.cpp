// The instructions of a sweep: types, conversions and roundings.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "fusion/plans_of_text.hpp"

namespace gf {
namespace {

using namespace test;

TEST(Linearize, f16_computes_in_f32_and_rounds_after_each_operation) {
    const Plan plan = fused("f(x: f16[n], y: f16[n]) -> r = sum(x * y + x), c = count(x > y)");
    const Sweep& sweep = plan.sweeps[0];
    EXPECT_EQ(count(sweep, Opcode::round), 2);
    EXPECT_EQ(count(sweep, Opcode::map), 3);
    for (const Instruction& i : sweep.code) EXPECT_NE(i.type, DType::f16);
}

TEST(Linearize, casts_to_f16_round_f64_once_and_integers_by_way_of_f32) {
    const auto opcodes = [](std::string_view text) {
        std::string names;
        const Plan plan = fused(text);
        for (const Instruction& i : plan.sweeps[0].code)
            names += i.opcode == Opcode::round ? 'r' : i.opcode == Opcode::cast ? 'c' : '.';
        return names;
    };
    EXPECT_EQ(opcodes("f(x: f64[n]) -> r = f16(x) > 0"), "..r.");
    EXPECT_EQ(opcodes("f(x: f32[n]) -> r = f16(x) > 0"), "..r.");
    EXPECT_EQ(opcodes("f(x: i32[n]) -> r = f16(x) > 0"), "..cr.");
    EXPECT_EQ(opcodes("f(x: bf16[n]) -> r = f16(x) > 0"), "..r.");
    EXPECT_EQ(opcodes("f(x: f16[n]) -> r = f32(x)"), ".");
    EXPECT_EQ(opcodes("f(x: f16[n]) -> r = f64(x)"), ".c");
}

TEST(Linearize, a_stored_half_is_rounded_by_the_store_alone) {
    const auto rounds = [](std::string_view text) { return count(fused(text).sweeps[0], Opcode::round); };
    EXPECT_EQ(rounds("f(x: f16[n], y: f16[n]) -> r = x * y"), 0);
    EXPECT_EQ(rounds("f(x: f32[n]) -> r = bf16(x)"), 0);
    EXPECT_EQ(rounds("f(x: f16[n], y: f16[n]) -> r = x * y, s = f32(x * y)"), 1); // s is the rounded product
    EXPECT_EQ(rounds("f(x: f64[n]) -> r = f16(x)"), 1);                           // a store converts from f32
}

TEST(Linearize, constants_of_f16_and_bf16_are_f32_of_the_same_value) {
    const Plan plan = fused("f(x: f16[n], y: bf16[n]) -> r = x + 1.5, s = y + 1.5");
    for (const Instruction& i : plan.sweeps[0].code) {
        if (i.opcode == Opcode::constant) {
            EXPECT_EQ(i.bits, 0x3fc00000U);
        }
    }
}

} // namespace
} // namespace gf
