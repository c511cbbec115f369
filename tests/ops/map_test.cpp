// Every row of map.def, for every type it computes in, against map_reference.hpp: by bits, but elementary functions of
// floats within 1 ulp in f32 and 2 in f64 of libm's in f64 or __float128.
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/core/device_text.hpp>
#include <gridfold/core/error.hpp>
#include <gridfold/ops/op_macros.hpp>

#include "map_reference.hpp"

namespace {

using gf::TypeRule;

/// The rows' expressions, compiled like those of the backends, and the same call of the reference.
#define GRIDFOLD_MAP_OP(name, arity, rule, facts, low, high, doc, ...)                                               \
    struct row_##name {                                                                                              \
        static constexpr const gf::MapOp& row = gf::map_op::name;                                                    \
        static constexpr TypeRule type_rule = TypeRule::rule;                                                        \
        template <class T, class First> static auto wanted_of(First a, [[maybe_unused]] T b, [[maybe_unused]] T c) { \
            if constexpr (arity == 1)                                                                                \
                return wanted::name(a);                                                                              \
            else if constexpr (arity == 2)                                                                           \
                return wanted::name(a, b);                                                                           \
            else                                                                                                     \
                return wanted::name(a, b, c);                                                                        \
        }                                                                                                            \
    };
#include <gridfold/ops/map.def>
#undef GRIDFOLD_MAP_OP

} // namespace

namespace gf::device {
namespace {
#define GRIDFOLD_MAP_OP(name, arity, rule, facts, low, high, doc, ...)                             \
    template <class T, class First>                                                                \
    auto expression_##name([[maybe_unused]] First a, [[maybe_unused]] T b, [[maybe_unused]] T c) { \
        return __VA_ARGS__;                                                                        \
    }
#include <gridfold/ops/map.def>
#undef GRIDFOLD_MAP_OP
} // namespace
} // namespace gf::device

namespace {

/// Operands: every special value, then numbers in the row's interval.
template <class T> std::vector<T> operands(const gf::MapOp& row, std::size_t count) {
    std::vector<T> values;
    if constexpr (std::is_same_v<T, bool>) {
        values = {false, true};
    } else if constexpr (std::is_integral_v<T>) {
        using L = std::numeric_limits<T>;
        values = {T(0), T(1), T(2), T(-1), T(-2), T(7), L::min(), L::max(), T(L::min() + 1), T(L::max() - 1)};
        if (row.name == "pow") values = {T(0), T(1), T(2), T(3), T(5), T(31), T(64)};
        if (row.name == "pow" && std::is_signed_v<T>) values.insert(values.end(), {T(-1), T(-2), T(-3)});
    } else {
        using L = std::numeric_limits<T>;
        for (const T x :
             {T(0), T(0.5), T(1), T(1.5), T(2.5), L::min(), L::denorm_min(), L::max(), L::infinity(), L::quiet_NaN()})
            values.push_back(x), values.push_back(-x);
    }
    std::mt19937_64 random(7);
    while (values.size() < count) {
        if (row.name == "pow" && std::is_integral_v<T>) break;
        const double x = std::uniform_real_distribution<double>(row.low, row.high)(random);
        if constexpr (std::is_integral_v<T>)
            values.push_back(static_cast<T>(static_cast<std::int64_t>(x)));
        else
            values.push_back(static_cast<T>(x));
    }
    return values;
}

template <class T> double ulps_apart(T actual, T expected) {
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(actual) && std::isnan(expected)) return 0;
        if (std::isinf(expected) || std::isnan(expected) || !std::isfinite(actual))
            return actual == expected ? 0 : std::numeric_limits<double>::infinity();
        const T size = std::max(std::fabs(expected), std::numeric_limits<T>::min());
        const T ulp = std::nextafter(size, std::numeric_limits<T>::infinity()) - size;
        return static_cast<double>(std::fabs(static_cast<long double>(actual) - static_cast<long double>(expected)) /
                                   ulp);
    } else {
        return actual == expected ? 0 : std::numeric_limits<double>::infinity();
    }
}

template <class T> bool same_bits(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
        if (std::isnan(a) && std::isnan(b)) return true;
    return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <class Row, class T, class Expression> void check(Expression expression) {
    using First = std::conditional_t<Row::type_rule == TypeRule::select, bool, T>;
    constexpr bool to_bool =
        Row::type_rule == TypeRule::compare || Row::type_rule == TypeRule::test || Row::type_rule == TypeRule::logical;
    using Result = std::conditional_t<to_bool, bool, T>;
    const gf::MapOp& row = Row::row;
    const std::vector<T> values = operands<T>(row, row.arity == 1 ? 2000 : row.arity == 2 ? 120 : 40);
    const std::vector<T> none{T{}};
    const bool exact = !gf::detail::calls_functions(row.expression) || std::is_integral_v<T>;
    constexpr double most_ulps = sizeof(T) == 4 ? 1 : 2;
    for (const T a : values)
        for (const T b : row.arity > 1 ? values : none)
            for (const T c : row.arity > 2 ? values : none) {
                const auto actual = static_cast<Result>(expression(static_cast<First>(a), b, c));
                const auto expected = static_cast<Result>(Row::template wanted_of<T>(static_cast<First>(a), b, c));
                if (exact)
                    ASSERT_TRUE(same_bits(actual, expected)) << row.name << '(' << +a << ", " << +b << ", " << +c
                                                             << ") = " << +actual << ", not " << +expected;
                else
                    ASSERT_LE(ulps_apart(actual, expected), most_ulps)
                        << row.name << '(' << +a << ", " << +b << ") = " << +actual << ", not " << +expected;
            }
}

template <class Row, class T, class Expression> void check_where_typed(Expression expression) {
    if constexpr (gf::computes_in(Row::type_rule, gf::dtype_of<T>)) check<Row, T>(expression);
}

template <class Row, class Expression> void check_all_types(Expression expression) {
    check_where_typed<Row, bool>(expression);
    check_where_typed<Row, std::int8_t>(expression);
    check_where_typed<Row, std::int16_t>(expression);
    check_where_typed<Row, std::int32_t>(expression);
    check_where_typed<Row, std::int64_t>(expression);
    check_where_typed<Row, std::uint8_t>(expression);
    check_where_typed<Row, std::uint16_t>(expression);
    check_where_typed<Row, std::uint32_t>(expression);
    check_where_typed<Row, std::uint64_t>(expression);
    check_where_typed<Row, float>(expression);
    check_where_typed<Row, double>(expression);
}

} // namespace

#define GRIDFOLD_MAP_OP(name, ...)                                                                                  \
    TEST(MapOp, Computes_##name) {                                                                                  \
        check_all_types<row_##name>([](auto a, auto b, auto c) { return gf::device::expression_##name(a, b, c); }); \
    }
#include <gridfold/ops/map.def>
#undef GRIDFOLD_MAP_OP

TEST(MapOp, NamesAreUniqueAndFoundByName) {
    std::set<std::string_view> names;
    for (const gf::MapOp* row : gf::all_maps()) {
        EXPECT_TRUE(names.insert(row->name).second) << row->name;
        EXPECT_EQ(gf::find_map(row->name), row);
        EXPECT_FALSE(row->doc.empty()) << row->name;
    }
    EXPECT_EQ(gf::find_map("no_such_map"), nullptr);
    EXPECT_EQ(gf::map_op::fma.expression, "fma(a, b, c)");
}

TEST(MapOp, RefusesASecondRowOfAName) {
    static constexpr gf::MapOp impostor{.name = "add",
                                        .arity = 2,
                                        .rule = TypeRule::same,
                                        .facts = {},
                                        .low = 0,
                                        .high = 0,
                                        .doc = "",
                                        .expression = "",
                                        .builtin = -1,
                                        .user_kernels = nullptr};
    const auto before = gf::all_maps();
    EXPECT_THROW(gf::register_op(impostor), gf::InvalidGraph);
    EXPECT_NO_THROW(gf::register_op(gf::map_op::add)) << "the same row again is no other row";
    EXPECT_EQ(gf::all_maps().size(), before.size());
    EXPECT_EQ(gf::find_map("add"), &gf::map_op::add);
}
