// Maps that the CPU backend computes by other code than map.def's expression (integer division, squares, select) give
// the expression's bits, with a scalar and with an array, on every instruction set.
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "fusion/cpu_run.hpp"

namespace {

using gf::test::BoundPlan;
using gf::test::ChosenSet;
using gf::test::sets_of_this_machine;

/// Values around every power of two and its negative, and around 0.
template <class T> std::vector<T> edges() {
    using U = std::make_unsigned_t<T>;
    std::vector<T> values;
    for (int bit = 0; bit < static_cast<int>(8 * sizeof(T)); ++bit)
        for (int near = -2; near <= 2; ++near) {
            const U power = static_cast<U>(static_cast<U>(1) << bit), step = static_cast<U>(near);
            values.push_back(static_cast<T>(static_cast<U>(power + step)));
            values.push_back(static_cast<T>(static_cast<U>(step - power)));
        }
    return values;
}

template <class T> std::uint64_t bits_of(T value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}

/// x floor_div y and x % y for every pair of `dividends` and `divisors`.
template <class T> void expect_quotients(const std::vector<T>& dividends, const std::vector<T>& divisors) {
    gf::Graph g;
    const gf::Dim n = g.dim("n");
    const gf::Value x = g.input<T>("x", {n}), y = g.input<T>("y", {n}), s = g.scalar<T>("s");
    g.output("quotient", gf::floor_div(x, s));
    g.output("rest", gf::remainder(x, s));
    g.output("quotients", gf::floor_div(x, y));
    g.output("rests", gf::remainder(x, y));
    const std::size_t count = dividends.size();
    std::vector<T> divisor(count), quotient(count), rest(count), quotients(count), rests(count);
    for (const char* set : sets_of_this_machine()) {
        const ChosenSet chosen(set);
        BoundPlan run(g);
        run.extent("n", static_cast<std::int64_t>(count)).array("x", dividends.data()).array("y", divisor.data());
        run.array("quotient", quotient.data()).array("rest", rest.data());
        run.array("quotients", quotients.data()).array("rests", rests.data());
        for (const T b : divisors) {
            divisor.assign(count, b);
            run.parameter("s", bits_of(b)).now();
            for (std::size_t i = 0; i < count; ++i) {
                const T a = dividends[i];
                ASSERT_EQ(+quotient[i], +gf::device::floor_div(a, b)) << set << ": " << +a << " floor_div " << +b;
                ASSERT_EQ(+rest[i], +gf::device::remainder(a, b)) << set << ": " << +a << " % " << +b;
                ASSERT_EQ(+quotients[i], +quotient[i]) << set << ": " << +a << " floor_div " << +b << " in an array";
                ASSERT_EQ(+rests[i], +rest[i]) << set << ": " << +a << " % " << +b << " in an array";
            }
        }
    }
}

/// Quotients of multiples of the divisors and of their neighbours.
template <class T> void expect_quotients() {
    using U = std::make_unsigned_t<T>;
    const std::vector<T> divisors = edges<T>();
    std::vector<T> dividends = divisors;
    for (const T a : divisors)
        for (const T b : {divisors[5], divisors[17], divisors[21], static_cast<T>(7), static_cast<T>(100)})
            for (int near = -1; near <= 1; ++near)
                dividends.push_back(static_cast<T>(static_cast<U>(
                    static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b) + static_cast<std::uint64_t>(near))));
    expect_quotients(dividends, divisors);
}

template <class T> std::vector<T> all_values() {
    std::vector<T> values(256);
    for (int i = 0; i < 256; ++i) values[static_cast<std::size_t>(i)] = static_cast<T>(i);
    return values;
}

TEST(BackendCpuMaps, divides_every_pair_of_bytes) {
    expect_quotients(all_values<std::int8_t>(), all_values<std::int8_t>());
    expect_quotients(all_values<std::uint8_t>(), all_values<std::uint8_t>());
}

TEST(BackendCpuMaps, divides_integers_of_16_bits) {
    expect_quotients<std::int16_t>();
    expect_quotients<std::uint16_t>();
}

TEST(BackendCpuMaps, divides_integers_of_32_bits) {
    expect_quotients<std::int32_t>();
    expect_quotients<std::uint32_t>();
}

TEST(BackendCpuMaps, divides_integers_of_64_bits) {
    expect_quotients<std::int64_t>();
    expect_quotients<std::uint64_t>();
}

template <class T> T square(T x) { return static_cast<T>(x * x); }

template <class T> void expect_powers(const std::vector<T>& values) {
    gf::Graph g;
    const gf::Dim n = g.dim("n");
    const gf::Value x = g.input<T>("x", {n}), y = g.input<T>("y", {n}), s = g.scalar<T>("s");
    g.output("literal", gf::pow(x, 2));
    g.output("scalar", gf::pow(x, s));
    g.output("array", gf::pow(x, y));
    const std::vector<T> twos(values.size(), T(2));
    for (const char* set : sets_of_this_machine()) {
        const ChosenSet chosen(set);
        std::vector<T> literal(values.size()), scalar(values.size()), array(values.size());
        BoundPlan run(g);
        run.extent("n", static_cast<std::int64_t>(values.size())).array("x", values.data()).array("y", twos.data());
        run.array("literal", literal.data()).array("scalar", scalar.data()).array("array", array.data());
        run.parameter("s", bits_of(T(2))).now();
        for (std::size_t i = 0; i < values.size(); ++i) {
            const std::uint64_t expected = bits_of(square(values[i]));
            ASSERT_EQ(bits_of(literal[i]), expected) << set << ": " << values[i];
            ASSERT_EQ(bits_of(scalar[i]), expected) << set << ": " << values[i];
            ASSERT_EQ(bits_of(array[i]), expected) << set << ": " << values[i];
        }
        run.parameter("s", bits_of(T(3))).now();
        for (std::size_t i = 0; i < values.size(); ++i)
            ASSERT_EQ(bits_of(scalar[i]), bits_of(gf::device::pow(values[i], T(3)))) << set << ": " << values[i];
    }
}

TEST(BackendCpuMaps, squares_by_one_multiplication) {
    const gf::test::Elements<float> floats(5000);
    const gf::test::Elements<double> doubles(5000);
    expect_powers(std::vector<float>(floats.data(), floats.data() + 5000));
    expect_powers(std::vector<double>(doubles.data(), doubles.data() + 5000));
    std::vector<std::int32_t> integers;
    for (int i = -3000; i < 3000; ++i) integers.push_back(i * 15); // cubes wrap
    expect_powers(integers);
}

TEST(BackendCpuMaps, selects_the_bits_of_either_choice) {
    gf::Graph g;
    const gf::Dim n = g.dim("n");
    const gf::Value ok = g.input<bool>("ok", {n}), x = g.input<float>("x", {n}), y = g.input<float>("y", {n});
    g.output("chosen", gf::select(ok, x, y));
    g.output("flags", gf::select(ok, x > 0, y > 0));
    const std::size_t count = 5003;
    const gf::test::Elements<float> a(count), b(count, 2);
    std::vector<std::uint8_t> keep(count), flags(count);
    for (std::size_t i = 0; i < count; ++i) keep[i] = static_cast<std::uint8_t>(i % 3 == 0 ? 0 : i % 7); // any byte
    std::vector<float> chosen(count);
    for (const char* set : sets_of_this_machine()) {
        const ChosenSet of(set);
        BoundPlan run(g);
        run.extent("n", static_cast<std::int64_t>(count)).array("ok", keep.data()).array("x", a.data());
        run.array("y", b.data()).array("chosen", chosen.data()).array("flags", flags.data()).now();
        for (std::size_t i = 0; i < count; ++i) {
            const auto at = static_cast<std::int64_t>(i);
            const float expected = keep[i] != 0 ? a[at] : b[at];
            ASSERT_EQ(bits_of(chosen[i]), bits_of(expected)) << set << ": " << i;
            ASSERT_EQ(flags[i], expected > 0 ? 1 : 0) << set << ": " << i;
        }
    }
}

} // namespace
