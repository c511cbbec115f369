// Reductions of several operands, on the CPU and (as operands_cuda_test) on a GPU: what they give, of what types, of
// whole arrays, rows and columns; users' own; what is refused.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

#include "device/on_device.hpp"
#include "error/refusal.hpp"

// clang-format off
GRIDFOLD_REDUCTION(agreements, "how many elements of two operands are equal",
    static constexpr bool associative_and_commutative = true;
    static constexpr bool exact_in_any_order = true;
    static constexpr int operands = 2;
    struct State { i64 count; };
    GRIDFOLD_FN static State identity() { return {0}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, E y, i64) { s.count += x == y; }
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.count += t.count; }
    GRIDFOLD_FN static i64 finalize(const State& s) { return s.count; })

GRIDFOLD_REDUCTION(volume, "the sum of the products of three operands",
    static constexpr bool associative_and_commutative = true;
    static constexpr int operands = 3;
    struct State { A sum; };
    GRIDFOLD_FN static State identity() { return {A(0)}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, E y, E z, i64) {
        s.sum = add(s.sum, mul(mul(convert<A>(x), convert<A>(y)), convert<A>(z)));
    }
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.sum = add(s.sum, t.sum); }
    GRIDFOLD_FN static A finalize(const State& s) { return s.sum; })
// clang-format on

namespace {

using gf::test::expect_refused;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

class Operands : public gf::test::OnDevice {
protected:
    static std::vector<std::uint64_t> bits_of_scalars(const gf::Results& results) {
        std::vector<std::uint64_t> bits;
        for (const gf::Results::Entry& entry : results.entries())
            if (!entry.is_array) bits.push_back(entry.empty ? 0 : entry.bits);
        return bits;
    }
    /// The results, fused; they are the same unfused.
    static gf::Results run(const std::string& text, const gf::Bindings& inputs) {
        gf::Results unfused = compile(text, false).run(inputs), fused = compile(text).run(inputs);
        EXPECT_EQ(bits_of_scalars(fused), bits_of_scalars(unfused)) << text;
        return fused;
    }
};

TEST_F(Operands, covariance_and_correlation_of_a_line) {
    std::vector<float> x, y, falling;
    for (int i = 0; i < 10'001; ++i) {
        x.push_back(static_cast<float>(i - 5000));
        y.push_back(3 * x.back() + 7);
        falling.push_back(1e6F - x.back());
    }
    const gf::Results r =
        run("f(x: f32[n], y: f32[n], z: f32[n]) -> cov = covariance(x, y, ddof = 1, accumulate = f64), "
            "variance = variance(x, ddof = 1, accumulate = f64), up = correlation(x, y), "
            "down = correlation(x, z), flat = correlation(x, f32(0) * x), "
            "itself = covariance(x, x, accumulate = f64), own = variance(x, accumulate = f64)",
            {{"x", x}, {"y", y}, {"z", falling}});
    EXPECT_EQ(r.get<double>("cov"), 3 * r.get<double>("variance")) << "sums of whole numbers are exact";
    EXPECT_EQ(r.get<double>("itself"), r.get<double>("own"));
    EXPECT_EQ(r.get<float>("up"), 1);
    EXPECT_EQ(r.get<float>("down"), -1);
    EXPECT_TRUE(std::isnan(r.get<float>("flat")));
}

TEST_F(Operands, covariance_does_not_cancel_far_from_0) {
    std::vector<double> x, y;
    for (int i = 0; i < 4099; ++i) {
        x.push_back(1e9 + i % 3);
        y.push_back(-1e9 + i % 3);
    }
    const gf::Results r =
        run("f(x: f64[n], y: f64[n]) -> c = covariance(x, y), v = variance(f64(index(n) % 3))", {{"x", x}, {"y", y}});
    EXPECT_NEAR(r.get<double>("c"), r.get<double>("v"), 1e-12);
}

TEST_F(Operands, covariance_with_an_infinity_is_nan) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const std::vector<double> x{1, infinity, 2}, y{1, 2, -3};
    const gf::Results r = run("f(x: f64[n], y: f64[n]) -> a = covariance(x, y), b = covariance(y, x), "
                              "c = covariance(-x, y, ddof = 1), d = correlation(x, y)",
                              {{"x", x}, {"y", y}});
    for (const char* name : {"a", "b", "c", "d"}) EXPECT_TRUE(std::isnan(r.get<double>(name))) << name;
}

TEST_F(Operands, a_mask_skips_pairs) {
    const std::vector<double> x{1, 100, 2, 3}, y{2, -100, 4, 6};
    const gf::Results r = run("f(x: f64[n], y: f64[n]) let m = x < 50.0; -> c = covariance(x, y where m), "
                              "w = weighted_mean(x, y where m), none = covariance(x, y where x > 1000.0), "
                              "otherwise = covariance(x, y where x > 1000.0, otherwise = 5)",
                              {{"x", x}, {"y", y}});
    EXPECT_DOUBLE_EQ(r.get<double>("c"), 4.0 / 3);
    EXPECT_DOUBLE_EQ(r.get<double>("w"), (2.0 + 8 + 18) / 12);
    EXPECT_TRUE(std::isnan(r.get<double>("none")));
    EXPECT_EQ(r.get<double>("otherwise"), 5);
}

TEST_F(Operands, the_element_beside_an_extreme_keeps_its_type_and_bits) {
    const std::vector<float> price{3, 9, -1, 9, -1};
    const std::vector<std::int64_t> time{(std::int64_t{1} << 62) + 1, (std::int64_t{1} << 62) + 3, -7, 4, 5};
    const std::vector<std::uint8_t> flag{0, 1, 0, 1, 1};
    const gf::Results r = run("f(p: f32[n], t: i64[n], u: u8[n]) -> high = at_max(p, t), low = at_min(p, t), "
                              "last_high = at_max(p, t where index(n) != 1), kind = at_max(p, u != 0), "
                              "half = at_min(p, f16(t)), none = at_max(p, t where p > 10.0)",
                              {{"p", price}, {"t", time}, {"u", flag}});
    EXPECT_EQ(r.get<std::int64_t>("high"), time[1]) << "the first of equals";
    EXPECT_EQ(r.get<std::int64_t>("low"), -7);
    EXPECT_EQ(r.get<std::int64_t>("last_high"), 4);
    EXPECT_TRUE(r.get<bool>("kind"));
    EXPECT_EQ(r.get_as<double>("half"), -7);
    EXPECT_EQ(r.get_optional<std::int64_t>("none"), std::nullopt);
    const std::vector<double> with_nan{1, nan, 5, nan, -2};
    const gf::Results of_nan =
        run("f(p: f64[n], t: i64[n]) -> high = at_max(p, t), low = at_min(p, t)", {{"p", with_nan}, {"t", time}});
    EXPECT_EQ(of_nan.get<std::int64_t>("high"), time[1]) << "as argmax, the first NaN";
    EXPECT_EQ(of_nan.get<std::int64_t>("low"), time[1]);
}

TEST_F(Operands, first_and_last_are_in_the_order_of_the_dims) {
    std::vector<std::int32_t> x(3 * 5000);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int32_t>(i);
    const gf::Results r = run("f([i, j], x: i32[i, j]) -> a = first(x), b = last(x), c = first(x where x % 7 == 6), "
                              "d = last(-x where x < 9000), e = first(f32(x) / 2.0), none = last(x where x < 0)",
                              {{"x", gf::view(x.data(), {3, 5000})}});
    EXPECT_EQ(r.get<std::int32_t>("a"), 0);
    EXPECT_EQ(r.get<std::int32_t>("b"), 14'999);
    EXPECT_EQ(r.get<std::int32_t>("c"), 6);
    EXPECT_EQ(r.get<std::int32_t>("d"), -8999);
    EXPECT_EQ(r.get<float>("e"), 0);
    EXPECT_EQ(r.get_optional<std::int32_t>("none"), std::nullopt);
    const gf::Results rows = compile("f(x: i32[i, j]) -> first = first(x over [j]), last = last(x over [i]), "
                                     "some = last(x where x < 5003 over [j])")
                                 .run({{"x", gf::view(x.data(), {3, 5000})}});
    EXPECT_EQ(rows.to_vector<std::int32_t>("first"), (std::vector<std::int32_t>{0, 5000, 10'000}));
    EXPECT_EQ(rows.to_vector<std::int32_t>("last"), std::vector<std::int32_t>(x.begin() + 10'000, x.end()));
    EXPECT_EQ(rows.to_vector<std::int32_t>("some")[1], 5002);
    EXPECT_EQ(rows.valid("some"), (std::vector<bool>{true, true, false}));
}

TEST_F(Operands, of_rows_and_columns_are_those_of_each_alone) {
    for (const std::int64_t length : {2, 31, 257, 2049, 10'001}) {
        constexpr std::int64_t rows = 5;
        std::vector<float> x(static_cast<std::size_t>(rows * length)), y(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            x[i] = static_cast<float>(i * 7919 % 1000) / 8 - 60;
            y[i] = static_cast<float>(i * 104'729 % 1000) / 4;
        }
        const std::string text =
            "(x: f32[i, k], y: f32[i, k]) -> c = covariance(x, y over [{}]), r = correlation(x, y "
            "where y > 9.0 over [{}]), w = weighted_mean(x, y over [{}]), a = at_max(x, y over [{}])";
        const auto over = [&](const char* dim) {
            std::string of = "f" + text;
            for (std::size_t at = of.find("{}"); at != std::string::npos; at = of.find("{}")) of.replace(at, 2, dim);
            return of;
        };
        const gf::Bindings all{{"x", gf::view(x.data(), {rows, length})}, {"y", gf::view(y.data(), {rows, length})}};
        const gf::Results of_rows = compile(over("k")).run(all);
        const gf::Executable alone =
            compile("f(x: f32[k], y: f32[k]) -> c = covariance(x, y), r = correlation(x, y where y > 9.0), "
                    "w = weighted_mean(x, y), a = at_max(x, y)");
        for (std::int64_t row = 0; row < rows; ++row) {
            const auto at = static_cast<std::size_t>(row * length);
            const gf::Results one =
                alone.run({{"x", gf::view(x.data() + at, {length})}, {"y", gf::view(y.data() + at, {length})}});
            for (const char* name : {"c", "r", "w", "a"}) {
                const float of_row = of_rows.to_vector<float>(name)[static_cast<std::size_t>(row)];
                const float wanted = one.get<float>(name);
                EXPECT_TRUE(of_row == wanted || (std::isnan(of_row) && std::isnan(wanted)))
                    << name << " of row " << row << " of " << length << ": " << of_row << ", not " << wanted;
            }
        }
        // Columns have an order of their own: sums of few whole eighths are exact in any.
        const gf::Results columns = compile(over("i")).run(all);
        for (std::int64_t column = 0; column < length; column += 97) {
            double weight = 0, sum = 0;
            std::int64_t best = column;
            for (std::int64_t row = 0; row < rows; ++row) {
                const auto at = static_cast<std::size_t>(row * length + column);
                weight += y[at], sum += static_cast<double>(x[at]) * y[at];
                if (x[at] > x[static_cast<std::size_t>(best)]) best = static_cast<std::int64_t>(at);
            }
            const auto at = static_cast<std::size_t>(column);
            EXPECT_EQ(columns.to_vector<float>("w")[at], static_cast<float>(sum / weight)) << column;
            EXPECT_EQ(columns.to_vector<float>("a")[at], y[static_cast<std::size_t>(best)]) << column;
        }
    }
}

TEST_F(Operands, that_lack_dims_are_broadcast) {
    const std::vector<double> x{1, 2, 3, 4, 5, 6}, w{1, 0, 3};
    const gf::Results r =
        run("f(x: f64[i, j], w: f64[j]) -> rows = weighted_mean(x, w over [j]), all = weighted_mean(x, w), "
            "swapped = covariance(w, x), same = covariance(x, w), at = at_max(w, x), constant = weighted_mean(x, "
            "extent(j))",
            {{"x", gf::view(x.data(), {2, 3})}, {"w", w}});
    EXPECT_EQ(r.to_vector<double>("rows"), (std::vector<double>{10.0 / 4, 22.0 / 4}));
    EXPECT_EQ(r.get<double>("all"), 32.0 / 8);
    EXPECT_EQ(r.get<double>("swapped"), r.get<double>("same"));
    EXPECT_EQ(r.get<double>("at"), 3) << "the first of the places where w is largest";
    EXPECT_EQ(r.get<double>("constant"), 3.5);
}

TEST_F(Operands, of_several_types_are_converted) {
    const std::vector<std::int32_t> x{1, 2, 3, 4};
    const std::vector<std::uint8_t> w{1, 1, 0, 2};
    const gf::Results r =
        run("f(x: i32[n], w: u8[n]) -> m = weighted_mean(x, w), c = covariance(x, w != 0), d = dot(x, w)",
            {{"x", x}, {"w", w}});
    EXPECT_EQ(r.get<double>("m"), 11.0 / 4);
    EXPECT_EQ(r.get<double>("c"), 7.0 / 4 - 2.5 * 0.75);
    EXPECT_EQ(r.get<std::int64_t>("d"), 11);
}

TEST_F(Operands, of_a_users_reduction) {
    gf::Graph g;
    const gf::Dim i = g.dim("i"), k = g.dim("k");
    const gf::Value x = g.input<std::int16_t>("x", {i, k}), y = g.input<std::int32_t>("y", {i, k}),
                    z = g.input<float>("z", {k});
    g.output("equal", gf::agreements(x, y));
    g.output("in_row", gf::agreements(x, y, {.where = x > 0, .over = {k}}));
    g.output("volume", gf::volume(x, z, y, gf::over(k)));
    const std::vector<std::int16_t> a{1, 2, 3, 4, -5, 6};
    const std::vector<std::int32_t> b{1, 0, 3, 4, -5, 0};
    const std::vector<float> c{1, 10, 100};
    for (const gf::Graph& graph : {g, gf::parse(gf::to_text(g))}) {
        const gf::Results r =
            gf::compile(graph, {.device = device})
                .run({{"x", gf::view(a.data(), {2, 3})}, {"y", gf::view(b.data(), {2, 3})}, {"z", c}});
        EXPECT_EQ(r.get<std::int64_t>("equal"), 4);
        EXPECT_EQ(r.to_vector<std::int64_t>("in_row"), (std::vector<std::int64_t>{2, 1}));
        EXPECT_EQ(r.to_vector<double>("volume"), (std::vector<double>{901, 266}));
    }
}

TEST_F(Operands, are_counted_and_of_one_graph) {
    gf::Graph g, other;
    const gf::Dim n = g.dim("n"), m = g.dim("m");
    const gf::Value x = g.input<float>("x", {n}), y = g.input<float>("y", {m}),
                    z = other.input<float>("z", {other.dim("n")});
    const int before = g.node_count();
    expect_refused<gf::InvalidGraph>([&] { g.reduce(gf::reduce_op::covariance, x); },
                                     {"covariance", "it folds 2 operands, and got 1", "give as many"});
    expect_refused<gf::InvalidGraph>(
        [&] {
            gf::reduce(gf::reduce_op::sum, std::array{x, x});
        },
        {"sum", "it folds 1 operand, and got 2"});
    expect_refused<gf::InvalidGraph>([&] { gf::covariance(x, z); }, {"operand 2 of covariance", "of one graph"});
    expect_refused<gf::InvalidGraph>([&] { gf::covariance(x, gf::Value()); },
                                     {"operand 2 of covariance", "default-constructed"});
    expect_refused<gf::InvalidGraph>([&] { gf::covariance(x, y); },
                                     {"covariance of x (f32[n]) and y (f32[m])", "one operand", "broadcast"});
    expect_refused<gf::InvalidGraph>([&] { gf::at_max(x, x, {.accumulate = gf::DType::f64}); },
                                     {"at_max of f32 with accumulate = f64"});
    expect_refused<gf::InvalidGraph>([&] { gf::correlation(x, x, {.ddof = 1}); }, {"correlation with ddof 1"});
    EXPECT_EQ(g.node_count(), before);
    expect_refused<gf::InvalidGraph>([] { gf::parse("f(x: f32[n]) -> c = covariance(x)"); },
                                     {"covariance reduces 2 operands, and got 1", "covariance(x, y over [k])"});
    expect_refused<gf::InvalidGraph>([] { gf::parse("f(x: f32[n]) -> c = covariance(x, 1)"); },
                                     {"a number by itself has no type"});
    expect_refused<gf::InvalidGraph>([] { gf::parse("f(x: f32[n]) -> d = dot(x)"); },
                                     {"dot reduces 2 operands, and got 1", "dot(x, y over [k])"});
    expect_refused<gf::InvalidGraph>([] { gf::parse("f(x: f32[n]) -> d = dot(x, x, x)"); },
                                     {"dot reduces 2 operands, and got 3"});
}

} // namespace
