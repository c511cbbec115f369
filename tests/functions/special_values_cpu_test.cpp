// Results for zeros, infinities, NaN and operands outside of the domain, by Annex F of the C standard.
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "functions/trial.hpp"

namespace {

constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

struct Case {
    std::string_view function;
    double a, b, result;
};
constexpr Case of_one[] = {
    {"exp", 0, 0, 1},         {"exp", -0.0, 0, 1},      {"exp", -inf, 0, 0},     {"exp", inf, 0, inf},
    {"exp2", 0, 0, 1},        {"exp2", -inf, 0, 0},     {"exp2", inf, 0, inf},   {"expm1", 0, 0, 0},
    {"expm1", -0.0, 0, -0.0}, {"expm1", -inf, 0, -1},   {"expm1", inf, 0, inf},  {"log", 0, 0, -inf},
    {"log", -0.0, 0, -inf},   {"log", 1, 0, 0},         {"log", -1, 0, nan},     {"log", -inf, 0, nan},
    {"log", inf, 0, inf},     {"log2", 0, 0, -inf},     {"log2", -0.0, 0, -inf}, {"log2", 1, 0, 0},
    {"log2", -1, 0, nan},     {"log2", inf, 0, inf},    {"log10", 0, 0, -inf},   {"log10", -0.0, 0, -inf},
    {"log10", 1, 0, 0},       {"log10", -1, 0, nan},    {"log10", inf, 0, inf},  {"log1p", 0, 0, 0},
    {"log1p", -0.0, 0, -0.0}, {"log1p", -1, 0, -inf},   {"log1p", -2, 0, nan},   {"log1p", inf, 0, inf},
    {"cbrt", 0, 0, 0},        {"cbrt", -0.0, 0, -0.0},  {"cbrt", inf, 0, inf},   {"cbrt", -inf, 0, -inf},
    {"rsqrt", 0, 0, inf},     {"rsqrt", -0.0, 0, -inf}, {"rsqrt", -1, 0, nan},   {"rsqrt", inf, 0, 0},
    {"sin", 0, 0, 0},         {"sin", -0.0, 0, -0.0},   {"sin", inf, 0, nan},    {"sin", -inf, 0, nan},
    {"cos", 0, 0, 1},         {"cos", -0.0, 0, 1},      {"cos", inf, 0, nan},    {"cos", -inf, 0, nan},
    {"tan", 0, 0, 0},         {"tan", -0.0, 0, -0.0},   {"tan", inf, 0, nan},    {"tan", -inf, 0, nan},
    {"asin", 0, 0, 0},        {"asin", -0.0, 0, -0.0},  {"asin", 1.5, 0, nan},   {"asin", -inf, 0, nan},
    {"acos", 1, 0, 0},        {"acos", 1.5, 0, nan},    {"acos", -1.5, 0, nan},  {"acos", inf, 0, nan},
    {"atan", 0, 0, 0},        {"atan", -0.0, 0, -0.0},  {"sinh", 0, 0, 0},       {"sinh", -0.0, 0, -0.0},
    {"sinh", inf, 0, inf},    {"sinh", -inf, 0, -inf},  {"cosh", 0, 0, 1},       {"cosh", -0.0, 0, 1},
    {"cosh", inf, 0, inf},    {"cosh", -inf, 0, inf},   {"tanh", 0, 0, 0},       {"tanh", -0.0, 0, -0.0},
    {"tanh", inf, 0, 1},      {"tanh", -inf, 0, -1},    {"asinh", 0, 0, 0},      {"asinh", -0.0, 0, -0.0},
    {"asinh", inf, 0, inf},   {"asinh", -inf, 0, -inf}, {"acosh", 1, 0, 0},      {"acosh", 0.5, 0, nan},
    {"acosh", -inf, 0, nan},  {"acosh", inf, 0, inf},   {"atanh", 0, 0, 0},      {"atanh", -0.0, 0, -0.0},
    {"atanh", 1, 0, inf},     {"atanh", -1, 0, -inf},   {"atanh", 2, 0, nan},    {"atanh", inf, 0, nan},
    {"erf", 0, 0, 0},         {"erf", -0.0, 0, -0.0},   {"erf", inf, 0, 1},      {"erf", -inf, 0, -1},
    {"erfc", inf, 0, 0},      {"erfc", -inf, 0, 2},     {"erfc", 0, 0, 1},       {"sigmoid", 0, 0, 0.5},
    {"sigmoid", inf, 0, 1},   {"sigmoid", -inf, 0, 0},
};
constexpr Case of_two[] = {
    {"pow", 0, -3, inf},      {"pow", -0.0, -3, -inf},  {"pow", -0.0, -2, inf},    {"pow", -0.0, -2.5, inf},
    {"pow", 0, -inf, inf},    {"pow", -0.0, -inf, inf}, {"pow", 0, 3, 0},          {"pow", -0.0, 3, -0.0},
    {"pow", -0.0, 2, 0},      {"pow", -0.0, 2.5, 0},    {"pow", -1, inf, 1},       {"pow", -1, -inf, 1},
    {"pow", 1, nan, 1},       {"pow", 1, inf, 1},       {"pow", nan, 0, 1},        {"pow", nan, -0.0, 1},
    {"pow", -inf, 0, 1},      {"pow", -2, 0.5, nan},    {"pow", -2, 3, -8},        {"pow", 0.5, -inf, inf},
    {"pow", -0.5, -inf, inf}, {"pow", 2, -inf, 0},      {"pow", -2, -inf, 0},      {"pow", 0.5, inf, 0},
    {"pow", -0.5, inf, 0},    {"pow", 2, inf, inf},     {"pow", -2, inf, inf},     {"pow", -inf, -3, -0.0},
    {"pow", -inf, -2, 0},     {"pow", -inf, -2.5, 0},   {"pow", -inf, 3, -inf},    {"pow", -inf, 2, inf},
    {"pow", -inf, 2.5, inf},  {"pow", inf, -2.5, 0},    {"pow", inf, 2.5, inf},    {"pow", nan, 1, nan},
    {"pow", 2, nan, nan},     {"hypot", inf, nan, inf}, {"hypot", nan, -inf, inf}, {"hypot", -inf, 1, inf},
    {"hypot", nan, 1, nan},   {"hypot", 1, nan, nan},   {"hypot", -0.0, -0.0, 0},  {"hypot", -3, 4, 5},
    {"atan2", 0, 0, 0},       {"atan2", -0.0, 0, -0.0}, {"atan2", 0, 1, 0},        {"atan2", -0.0, 1, -0.0},
    {"atan2", 1, inf, 0},     {"atan2", -1, inf, -0.0}, {"atan2", nan, 1, nan},    {"atan2", 1, nan, nan},
};

template <class T> void check(const Case& c) {
    const gf::test::Function& f = *gf::test::find_function(c.function);
    std::vector<T> a{static_cast<T>(c.a)}, b{static_cast<T>(c.b)}, y(1);
    gf::test::run(gf::test::compiled(f, gf::dtype_of<T>, "cpu"), f, a, b, y);
    const T wanted = static_cast<T>(c.result);
    if (std::isnan(wanted))
        EXPECT_TRUE(std::isnan(y[0])) << c.function << '(' << c.a << ", " << c.b << ") = " << y[0];
    else
        EXPECT_TRUE(y[0] == wanted && std::signbit(y[0]) == std::signbit(wanted))
            << c.function << '(' << c.a << ", " << c.b << ") = " << y[0] << ", not " << wanted;
}

TEST(SpecialValues, of_one_operand) {
    for (const Case& c : of_one) check<float>(c), check<double>(c);
}
TEST(SpecialValues, of_two_operands) {
    for (const Case& c : of_two) check<float>(c), check<double>(c);
}
TEST(SpecialValues, nan_gives_nan) {
    for (const gf::test::Function& f : gf::test::all_functions)
        check<float>({f.name, nan, 3, nan}), check<double>({f.name, nan, 3, nan});
}

} // namespace
