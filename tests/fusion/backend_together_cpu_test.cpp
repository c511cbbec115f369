// Folds that share a sweep against the same folds in separate sweeps, bit for bit.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fusion/cpu_run.hpp"

namespace {

using gf::test::BoundPlan;
using gf::test::ChosenSet;
using gf::test::Elements;
using gf::test::sets_of_this_machine;
using gf::test::ThreadCount;

/// Blocks of up to four slabs, of a multiple of four, and others; with and without a partial slab.
const std::vector<std::int64_t> sizes{1, 2047, 7 * 2048, 8 * 2048 + 1, 1024 * 2048, (2048 + 256) * 2048 + 7};
const std::vector<std::int64_t> few_sizes{7 * 2048 + 5, 1024 * 2048 - 1};
static_assert(1024 * 2048 / gf::slab_elements == 8 * gf::block_count(1024 * 2048));

/// The operands of the folds of one sweep: x, y of another type, and maps of them, with and without a mask.
template <class E> struct Inputs {
    explicit Inputs(gf::Graph& g)
        : n(g.dim("n")), x(g.input<E>("x", {n})), y(g.input<std::int8_t>("y", {n})), keep(g.input<bool>("keep", {n})) {}
    gf::Dim n;
    gf::Value x, y, keep;
};

using Outputs = std::vector<std::pair<std::string, gf::Value>>;

/// Every built-in reduction without functions whose last digits depend on the compiler.
template <class E> Outputs outputs(const Inputs<E>& in) {
    Outputs all;
    for (const bool masked : {false, true}) {
        gf::ReduceOptions options;
        if (masked) options.where = in.keep;
        const auto add = [&](const char* name, const gf::ReduceOp& row, const gf::Value& value) {
            all.emplace_back(name + std::string(masked ? "_masked" : ""), gf::reduce(row, value, options));
        };
        using namespace gf::reduce_op;
        add("sum", sum, in.x);
        add("sum_of_squares", sum_of_squares, in.x);
        add("product", product, in.x);
        add("min", min, in.x);
        add("max", max, in.x);
        add("argmin", argmin, in.x);
        add("argmax", argmax, in.x);
        add("any", any, in.x);
        add("all", gf::reduce_op::all, in.x);
        add("count", count, in.x);
        add("positive", count, in.x > 0);
        add("mean", mean, in.x);
        add("stddev", stddev, in.x);
        add("sum_of_bytes", sum, in.y);
        add("max_of_bytes", max, in.y);
        add("product_sum", sum, in.x * in.y);
        add("kept", count, in.keep);
    }
    return all;
}

std::uint64_t comparable(const gf::ScalarResult& scalar, gf::DType type) {
    const auto is_nan = [&] {
        if (type == gf::DType::f32) {
            float value;
            std::memcpy(&value, &scalar.bits, sizeof value);
            return value != value;
        }
        double value;
        std::memcpy(&value, &scalar.bits, sizeof value);
        return type == gf::DType::f64 && value != value;
    };
    return is_nan() ? ~std::uint64_t{0} : scalar.bits;
}

template <class E> void expect_together_as_alone(const std::vector<std::int64_t>& of_sizes) {
    const auto most = static_cast<std::size_t>(of_sizes.back()) + 1;
    const Elements<E> x(most);
    const Elements<std::int8_t> y(most, 2);
    const Elements<bool> keep(most, 3);

    gf::Graph together;
    const Inputs<E> inputs(together);
    const Outputs all = outputs(inputs);
    for (const auto& [name, value] : all) together.output(name, value);

    for (const char* set : sets_of_this_machine()) {
        const ChosenSet chosen(set);
        std::vector<BoundPlan> alone;
        for (std::size_t i = 0; i < all.size(); ++i) {
            gf::Graph g;
            const Inputs<E> own(g);
            const auto [name, value] = outputs(own)[i];
            g.output(name, value);
            alone.emplace_back(g);
        }
        for (const std::int64_t size : of_sizes) {
            for (const int misaligned : {0, 1}) {
                const auto bind = [&](BoundPlan& run) -> BoundPlan& {
                    run.extent("n", size);
                    for (const gf::plan::Array& array : run.plan().arrays) {
                        if (array.name == "x") run.array("x", x.data() + misaligned);
                        if (array.name == "y") run.array("y", y.data() + misaligned);
                        if (array.name == "keep") run.array("keep", keep.data() + misaligned);
                    }
                    return run.now();
                };
                std::vector<gf::ScalarResult> right;
                for (std::size_t i = 0; i < all.size(); ++i) right.push_back(bind(alone[i]).scalar(all[i].first));
                for (const int threads : {1, 2}) {
                    const ThreadCount count(threads);
                    BoundPlan run(together);
                    bind(run);
                    for (std::size_t i = 0; i < all.size(); ++i) {
                        const gf::DType type = all[i].second.type();
                        ASSERT_EQ(comparable(run.scalar(all[i].first), type), comparable(right[i], type))
                            << all[i].first << " of " << gf::to_text(gf::dtype_of<E>) << ", " << size << " elements, "
                            << run.device() << ", " << threads << " threads";
                        ASSERT_EQ(run.scalar(all[i].first).empty, right[i].empty);
                    }
                }
            }
        }
    }
}

TEST(BackendCpuTogether, folds_of_a_column_give_what_they_give_alone) { expect_together_as_alone<float>(sizes); }

/// Counts of comparisons with a scalar, which are not stored, against loops.
template <class E> void expect_comparisons(E than) {
    struct Comparison {
        const char* name;
        gf::Value (*of_values)(const gf::Value&, const gf::Value&);
        bool (*of_elements)(E, E);
    };
    static constexpr Comparison comparisons[] = {
        {"less", [](const gf::Value& a, const gf::Value& b) { return a < b; }, [](E a, E b) { return a < b; }},
        {"less_equal", [](const gf::Value& a, const gf::Value& b) { return a <= b; }, [](E a, E b) { return a <= b; }},
        {"greater", [](const gf::Value& a, const gf::Value& b) { return a > b; }, [](E a, E b) { return a > b; }},
        {"greater_equal", [](const gf::Value& a, const gf::Value& b) { return a >= b; },
         [](E a, E b) { return a >= b; }},
        {"equal", [](const gf::Value& a, const gf::Value& b) { return a == b; }, [](E a, E b) { return a == b; }},
        {"not_equal", [](const gf::Value& a, const gf::Value& b) { return a != b; }, [](E a, E b) { return a != b; }}};
    gf::Graph g;
    const gf::Value x = g.input<E>("x", {g.dim("n")}), scalar = g.input<E>("than", {});
    for (const Comparison& comparison : comparisons) {
        const gf::Value holds = comparison.of_values(x, scalar);
        g.output(comparison.name + std::string("_count"), gf::count(holds));
        g.output(comparison.name + std::string("_any"), gf::any(holds));
        g.output(comparison.name + std::string("_all"), gf::all(holds));
    }
    std::uint64_t bits = 0;
    std::memcpy(&bits, &than, sizeof than);
    for (const std::int64_t size : {1, 100, 5 * 2048, 9 * 2048 + 5, 300 * 2048}) {
        const Elements<E> elements(static_cast<std::size_t>(size));
        if constexpr (std::is_floating_point_v<E>) elements.data()[size / 2] = std::numeric_limits<E>::quiet_NaN();
        for (const char* set : sets_of_this_machine()) {
            const ChosenSet chosen(set);
            BoundPlan run(g);
            run.extent("n", size).array("x", elements.data()).parameter("than", bits).now();
            for (const Comparison& comparison : comparisons) {
                const std::int64_t count = std::count_if(elements.data(), elements.data() + size,
                                                         [&](E e) { return comparison.of_elements(e, than); });
                const std::string name = comparison.name;
                EXPECT_EQ(run.get<std::int64_t>(name + "_count"), count) << name << " of " << size << ", " << set;
                EXPECT_EQ(run.get<bool>(name + "_any"), count > 0) << name << " of " << size << ", " << set;
                EXPECT_EQ(run.get<bool>(name + "_all"), count == size) << name << " of " << size << ", " << set;
            }
        }
    }
}

TEST(BackendCpuTogether, counts_comparisons_that_are_not_stored) {
    expect_comparisons<std::int8_t>(3);
    expect_comparisons<std::uint16_t>(1000);
    expect_comparisons<std::int32_t>(-7);
    expect_comparisons<std::uint64_t>(5);
    expect_comparisons<float>(0.25F);
    expect_comparisons<double>(1000);
}

TEST(BackendCpuTogether, stores_a_comparison_that_is_not_only_counted) {
    gf::Graph g;
    const gf::Value x = g.input<float>("x", {g.dim("n")}), above = x > 2, below = x < 2;
    g.output("above", gf::count(above));
    g.output("sum_above", gf::sum(gf::select(above, x, 0)));
    g.output("below", gf::count(below));
    g.output("any_below", gf::max(below));
    const std::vector<float> data{1, 2, 3, 4};
    BoundPlan run(g);
    run.extent("n", 4).array("x", data.data()).now();
    EXPECT_EQ(run.get<std::int64_t>("above"), 2);
    EXPECT_EQ(run.get<float>("sum_above"), 3 + 4);
    EXPECT_EQ(run.get<std::int64_t>("below"), 1);
    EXPECT_TRUE(run.get<bool>("any_below"));
}

TEST(BackendCpuTogether, of_every_type) {
    expect_together_as_alone<bool>(few_sizes);
    expect_together_as_alone<std::int8_t>(few_sizes);
    expect_together_as_alone<std::uint16_t>(few_sizes);
    expect_together_as_alone<std::int32_t>(few_sizes);
    expect_together_as_alone<std::uint64_t>(few_sizes);
    expect_together_as_alone<double>(few_sizes);
}

} // namespace
