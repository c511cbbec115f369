// A sample of the errors of the elementary functions: at most those of functions.def, and the same bits with every
// instruction set. function_errors tries many more points.

#include <gtest/gtest.h>

#include <gridfold/core/device_text.hpp>

#include "environment.hpp"
#include "functions/trial.hpp"
#include "host_kernels/kernels.hpp"

namespace {

using namespace gf::test;

template <class T> void check(const Function& f) {
    constexpr std::uint64_t sample = 50'000;
    const std::uint64_t count = special_points(f.domain) + sample;
    const auto trial = trial_on_host<T>(count);
    trial->make(f, Points::hard, 0, count);
    {
        const ChosenSet chosen("baseline");
        run(compiled(f, gf::dtype_of<T>, "cpu"), f, trial->a(), trial->b(), trial->results());
    }
    const auto at = [&](std::uint64_t index) {
        const Point<T> p = point<T>(f.domain, index);
        return testing::Message() << f.name << '(' << p.a << ", " << p.b << "), point " << index;
    };
    const Tally tally = trial->errors(f);
    EXPECT_EQ(tally.wrong, 0) << at(tally.wrong_at);
    EXPECT_LE(tally.most, f.most<T>()) << at(tally.at);
    EXPECT_GT(tally.most, 0.49) << "the errors were not measured";
    run(compiled(f, gf::dtype_of<T>, "cpu"), f, trial->a(), trial->b(), trial->host_results());
    const Difference difference = trial->difference(count);
    EXPECT_EQ(difference.count, 0) << at(difference.at);
    std::printf("%s, %zu bytes: %.4f ulp\n", f.name.data(), sizeof(T), tally.most);
}

#define GRIDFOLD_FUNCTION(name, ...)                \
    TEST(Errors, are_within_the_bounds_of_##name) { \
        check<float>(*find_function(#name));        \
        check<double>(*find_function(#name));       \
    }
#include "functions/functions.def"
#undef GRIDFOLD_FUNCTION

TEST(Errors, of_every_elementary_function_are_tried) {
    for (const gf::MapOp* row : gf::all_maps())
        EXPECT_TRUE(!gf::detail::calls_functions(row->expression) || find_function(row->name) != nullptr) << row->name;
}

/// The error of a result, infinite if it is wrong.
double found(float result, gf::test::reference::Exact exact) {
    Tally tally;
    tally.add(error_in_ulps(result, exact), 0);
    return tally.wrong != 0 ? INFINITY : tally.most;
}
TEST(Errors, are_counted_in_units_of_the_exact_result) {
    using gf::test::reference::Wide;
    EXPECT_EQ(found(1.0f, {Wide(1, 0x1p-24)}), 0.5);
    EXPECT_EQ(found(0x1.000002p0f, {Wide(1)}), 1);
    EXPECT_EQ(found(1.0f, {Wide(1 - 0x1p-25)}), 0.5) << "below 1 numbers are closer";
    EXPECT_EQ(found(0x1p-149f, {Wide(1), -150}), 0.5) << "a denormal";
    EXPECT_EQ(found(0.0f, {Wide(1), -300}), 0x1p-151);
    EXPECT_EQ(found(-0.0f, {Wide(1), -300}), INFINITY) << "a wrong sign";
    EXPECT_EQ(found(INFINITY, {Wide(0x1.ffffffp127)}), 0.5);
    EXPECT_EQ(found(INFINITY, {Wide(1), 200}), 0);
    EXPECT_EQ(found(0x1.fffffep127f, {Wide(1), 128}), 1);
    EXPECT_EQ(found(INFINITY, {Wide(1)}), INFINITY);
    EXPECT_EQ(found(NAN, {Wide(1)}), INFINITY);
    EXPECT_EQ(found(1.0f, {Wide(NAN)}), INFINITY);
    EXPECT_EQ(found(0x1p-149f, {Wide(0)}), INFINITY);
}

} // namespace
