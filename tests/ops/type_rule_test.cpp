// The type rules against NumPy's answers (numpy_types.inc), and rules that NumPy does not have: bf16, accumulators.
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/core/error.hpp>
#include <gridfold/ops/type_rule.hpp>

namespace {

using gf::DType;
using gf::OperandType;

DType type_named(std::string_view text) { return *gf::dtype_from_text(text); }

/// The result type's text, "" if the map refuses the operands.
std::string result_of(std::string_view map, const std::vector<OperandType>& operands) {
    try {
        return std::string(to_text(gf::map_typing(*gf::find_map(map), operands).result));
    } catch (const gf::InvalidGraph&) {
        return "";
    }
}

struct Promotion {
    std::string_view a, b, type;
};
constexpr Promotion promotions[] = {
#define PROMOTE(a, b, type) {a, b, type},
#define MAP_1(...)
#define MAP_2(...)
#define LITERAL(...)
#include "numpy_types.inc"
#undef PROMOTE
#undef MAP_1
#undef MAP_2
#undef LITERAL
};

struct MapAnswer {
    std::string_view map, a, b, type; // b is "" for one operand
};
constexpr MapAnswer map_answers[] = {
#define PROMOTE(...)
#define MAP_1(map, a, type) {map, a, "", type},
#define MAP_2(map, a, b, type) {map, a, b, type},
#define LITERAL(...)
#include "numpy_types.inc"
#undef PROMOTE
#undef MAP_1
#undef MAP_2
#undef LITERAL
};

struct LiteralAnswer {
    std::string_view map, a;
    gf::Literal literal;
    std::string_view type;
};
const LiteralAnswer literal_answers[] = {
#define PROMOTE(...)
#define MAP_1(...)
#define MAP_2(...)
#define LITERAL(map, a, literal, type) {map, a, literal, type},
#include "numpy_types.inc"
#undef PROMOTE
#undef MAP_1
#undef MAP_2
#undef LITERAL
};

} // namespace

TEST(TypeRule, PromotesEveryPairAsNumPyDoes) {
    for (const Promotion& p : promotions)
        EXPECT_EQ(to_text(gf::promote(type_named(p.a), type_named(p.b))), p.type) << p.a << ' ' << p.b;
}

TEST(TypeRule, GivesEveryMapTheResultTypeThatNumPyGives) {
    for (const MapAnswer& m : map_answers) {
        std::vector<OperandType> operands{type_named(m.a)};
        if (!m.b.empty()) operands.emplace_back(type_named(m.b));
        EXPECT_EQ(result_of(m.map, operands), m.type) << m.map << ' ' << m.a << ' ' << m.b;
    }
}

TEST(TypeRule, TypesLiteralsAsWeaklyAsNumPyDoes) {
    for (const LiteralAnswer& l : literal_answers)
        EXPECT_EQ(result_of(l.map, {type_named(l.a), l.literal}), l.type) << l.map << ' ' << l.a;
}

TEST(TypeRule, PromotesBfloat16ByWhatItCanHold) {
    using enum DType;
    const std::pair<DType, DType> expected[] = {{boolean, bf16}, {i8, bf16}, {u8, bf16}, {i16, f32},
                                                {u16, f32},      {i32, f64}, {u64, f64}, {f16, f32},
                                                {bf16, bf16},    {f32, f32}, {f64, f64}};
    for (const auto& [other, result] : expected) {
        EXPECT_EQ(gf::promote(bf16, other), result) << to_text(other);
        EXPECT_EQ(gf::promote(other, bf16), result) << to_text(other);
    }
}

TEST(TypeRule, SelectPromotesItsChoicesAndKeepsItsCondition) {
    const gf::MapTyping typing =
        gf::map_typing(gf::map_op::select, std::vector<OperandType>{DType::boolean, DType::i16, gf::Literal(2.5)});
    EXPECT_EQ(typing.result, DType::f64);
    EXPECT_EQ(typing.operands, (std::array{DType::boolean, DType::f64, DType::f64}));
    EXPECT_EQ(result_of("select", {DType::i32, DType::f32, DType::f32}), "");
    EXPECT_EQ(result_of("select", {DType::boolean, gf::Literal(1), gf::Literal(0)}), "i64");
}

TEST(TypeRule, TestsLogicalOperandsAgainstZeroWhateverTheirTypes) {
    const gf::MapTyping typing =
        gf::map_typing(gf::map_op::logical_and, std::vector<OperandType>{DType::f64, gf::Literal(1000)});
    EXPECT_EQ(typing.compute, DType::boolean);
    EXPECT_EQ(typing.operands[0], DType::boolean);
}

TEST(TypeRule, SaysWhatIsWrongAndHowToMendIt) {
    try {
        gf::map_typing(gf::map_op::shift_left, std::vector<OperandType>{DType::i32, DType::f32});
        FAIL();
    } catch (const gf::InvalidGraph& error) {
        EXPECT_EQ(std::string_view(error.what()),
                  "shift_left(i32, f32): it shifts integers, and the operands' common type is f64; "
                  "cast the operands to one integer type");
    }
    try {
        gf::map_typing(gf::map_op::add, std::vector<OperandType>{DType::u8, gf::Literal(-1)});
        FAIL();
    } catch (const gf::InvalidGraph& error) {
        EXPECT_EQ(std::string_view(error.what()),
                  "add(u8, -1): the number -1: u8 holds the whole numbers from 0 to 255; "
                  "cast the values that it meets to a type that holds it");
    }
}

TEST(TypeRule, ConstantsHoldExactlyTheLiteralOrItsNearest) {
    EXPECT_EQ(gf::constant_bits(-1, DType::i8), 0xffu);
    EXPECT_EQ(gf::constant_bits(-1, DType::i64), ~std::uint64_t{0});
    EXPECT_EQ(gf::constant_bits(~std::uint64_t{0}, DType::u64), ~std::uint64_t{0});
    EXPECT_EQ(gf::constant_bits(0.1, DType::f32), 0x3dcccccdu);
    EXPECT_EQ(gf::constant_bits(1.5, DType::f16), 0x3e00u);
    EXPECT_EQ(gf::constant_bits(1.5, DType::bf16), 0x3fc0u);
    EXPECT_EQ(gf::constant_bits(0.5, DType::boolean), 1u);
    EXPECT_EQ(gf::constant_bits(3.0, DType::i32), 3u);
    // 1 + 2^-8 + 2^-40 is above the tie between two bf16 numbers: rounding through f32 would lose that.
    EXPECT_EQ(gf::constant_bits(1.0 + 0x1p-8 + 0x1p-40, DType::bf16), 0x3f81u);
    EXPECT_THROW(gf::constant_bits(3.5, DType::i32), gf::InvalidGraph);
    EXPECT_THROW(gf::constant_bits(0x1p31, DType::i32), gf::InvalidGraph);
    EXPECT_THROW(gf::constant_bits(~std::uint64_t{0}, DType::i64), gf::InvalidGraph);
    EXPECT_THROW(gf::constant_bits(std::numeric_limits<double>::quiet_NaN(), DType::u8), gf::InvalidGraph);
}

DType accumulator_type(const gf::ReduceOp& row, DType element, std::optional<DType> chosen) {
    return gf::reduce_typing(row, {&element, 1}, chosen).accumulator;
}
DType result_type(const gf::ReduceOp& row, DType element, std::optional<DType> chosen) {
    return gf::reduce_typing(row, {&element, 1}, chosen).result;
}

TEST(TypeRule, SumsAccumulateWideAndTakeOnlyF64Instead) {
    using enum DType;
    const gf::ReduceOp& sum = gf::reduce_op::sum;
    for (const auto& [element, accumulator] : {std::pair{boolean, i64},
                                               {i8, i64},
                                               {i64, i64},
                                               {u8, u64},
                                               {u64, u64},
                                               {f16, f32},
                                               {bf16, f32},
                                               {f32, f32},
                                               {f64, f64}}) {
        EXPECT_EQ(accumulator_type(sum, element, {}), accumulator) << to_text(element);
        EXPECT_EQ(accumulator_type(sum, element, f64), f64) << to_text(element);
        EXPECT_EQ(result_type(sum, element, accumulator), accumulator) << to_text(element);
    }
    EXPECT_THROW(accumulator_type(sum, f64, f32), gf::InvalidGraph);
    EXPECT_THROW(accumulator_type(sum, i32, i32), gf::InvalidGraph);
    EXPECT_THROW(accumulator_type(sum, u64, i64), gf::InvalidGraph);
    EXPECT_THROW(accumulator_type(gf::reduce_op::min, f32, f64), gf::InvalidGraph);
}

TEST(TypeRule, ReductionsGiveTheirDocumentedTypes) {
    using enum DType;
    const auto result = [](const gf::ReduceOp& row, DType element, std::optional<DType> accumulate = {}) {
        return result_type(row, element, accumulate);
    };
    EXPECT_EQ(result(gf::reduce_op::min, f16), f16);
    EXPECT_EQ(result(gf::reduce_op::max, i8), i8);
    EXPECT_EQ(result(gf::reduce_op::argmin, f32), i64);
    EXPECT_EQ(result(gf::reduce_op::count, f32), i64);
    EXPECT_EQ(result(gf::reduce_op::any, i32), boolean);
    EXPECT_EQ(result(gf::reduce_op::mean, f32), f32);
    EXPECT_EQ(result(gf::reduce_op::mean, bf16), f32);
    EXPECT_EQ(result(gf::reduce_op::variance, i16), f64);
    for (const gf::ReduceOp* row : {&gf::reduce_op::mean, &gf::reduce_op::variance, &gf::reduce_op::stddev}) {
        EXPECT_EQ(result(*row, f16), f32) << row->name;
        for (const DType element : {f16, bf16, f32, f64, i8}) EXPECT_EQ(result(*row, element, f64), f64) << row->name;
    }
    EXPECT_EQ(result(gf::reduce_op::l2_norm, f32), f32);
    EXPECT_EQ(result(gf::reduce_op::l2_norm, f32, f64), f64);
    EXPECT_EQ(result(gf::reduce_op::logsumexp, i32), f64);
}

TEST(TypeRule, ReductionsOfSeveralOperandsConvertThem) {
    using enum DType;
    const auto typing = [](const gf::ReduceOp& row, std::vector<DType> operands) {
        return gf::reduce_typing(row, operands, {});
    };
    const gf::ReduceTyping same = typing(gf::reduce_op::covariance, {f32, f32});
    EXPECT_EQ(same.element, f32);
    EXPECT_EQ(same.accumulator, f64);
    EXPECT_EQ(same.result, f32);
    const gf::ReduceTyping mixed = typing(gf::reduce_op::covariance, {f16, i32});
    EXPECT_EQ(mixed.operands[0], f64);
    EXPECT_EQ(mixed.operands[1], f64);
    EXPECT_EQ(mixed.result, f64);
    EXPECT_EQ(typing(gf::reduce_op::correlation, {i8, boolean}).element, f64);
    const gf::ReduceTyping at = typing(gf::reduce_op::at_max, {f32, i64});
    EXPECT_EQ(at.element, f32);
    EXPECT_EQ(at.operands[1], i64) << "a payload keeps its type";
    EXPECT_EQ(at.result, i64);
    EXPECT_EQ(typing(gf::reduce_op::first, {bf16}).element, u64);
    EXPECT_EQ(typing(gf::reduce_op::first, {bf16}).result, bf16);
    EXPECT_THROW(gf::reduce_typing(gf::reduce_op::at_min, std::array{f32, f32}, f64), gf::InvalidGraph);
}
