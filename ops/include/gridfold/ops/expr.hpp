// Expressions: C++ operators over values, and a function for every map and every reduction.
//
//     gf::Value y = gf::sqrt(x * x + 1);                     // numbers are literals: weak, as in NumPy 2
//     gf::Value a = gf::sum(y), b = gf::sum(y, {.where = y > 2});
//     gf::Value c = gf::select(x < 0, 0, y), d = gf::cast<double>(y);
//
// Every function adds a node to its operands' graph and throws InvalidGraph where gf::map or gf::reduce does. `/` is
// true division and `%` floors, as in NumPy; `&&`, `||`, `!`, `==` and `<` build graphs, too, and return no bool. The
// operators take a Value with a Value or an arithmetic type, and nothing else.
#pragma once

#include <array>
#include <concepts>
#include <type_traits>

#include <gridfold/ops/graph.hpp>

namespace gf {

namespace detail {

template <class T>
concept MapOperand = std::same_as<T, Value> || std::is_arithmetic_v<T>;

/// The operands of a map of this arity: values and numbers, at least one of them a value.
template <int arity, class... T>
concept MapOperands =
    sizeof...(T) == static_cast<std::size_t>(arity) && (MapOperand<T> && ...) && (std::same_as<T, Value> || ...);

} // namespace detail

#define GRIDFOLD_BINARY_OPERATOR(symbol, name, precedence) \
    template <class A, class B>                            \
        requires detail::MapOperands<2, A, B>              \
    Value operator symbol(const A& a, const B& b) {        \
        return map(map_op::name, {a, b});                  \
    }
#define GRIDFOLD_UNARY_OPERATOR(symbol, name) \
    template <std::same_as<Value> A> Value operator symbol(const A& a) { return map(map_op::name, {a}); }
#include <gridfold/ops/operator.def>
#undef GRIDFOLD_UNARY_OPERATOR
#undef GRIDFOLD_BINARY_OPERATOR

// One function a map: gf::exp(x), gf::min(x, y), gf::select(condition, a, b).
#define GRIDFOLD_MAP_OP(name, arity, ...)         \
    template <class... A>                         \
        requires detail::MapOperands<arity, A...> \
    Value name(const A&... operands) {            \
        return map(map_op::name, {operands...});  \
    }
#include <gridfold/ops/map.def>
#undef GRIDFOLD_MAP_OP

// One function a reduction: gf::sum(x), gf::sum(x, {.where = mask}), gf::covariance(x, y, {.ddof = 1}).
#define GRIDFOLD_DETAIL_REDUCE_FUNCTIONS(name, count)                          \
    template <int operands = (count)>                                          \
        requires(operands == 1)                                                \
    Value name(Value x, const ReduceOptions& options = {}) {                   \
        return reduce(reduce_op::name, x, options);                            \
    }                                                                          \
    template <int operands = (count)>                                          \
        requires(operands == 2)                                                \
    Value name(Value x, Value y, const ReduceOptions& options = {}) {          \
        return reduce(reduce_op::name, std::array{x, y}, options);             \
    }                                                                          \
    template <int operands = (count)>                                          \
        requires(operands == 3)                                                \
    Value name(Value x, Value y, Value z, const ReduceOptions& options = {}) { \
        return reduce(reduce_op::name, std::array{x, y, z}, options);          \
    }
#define GRIDFOLD_MONOID_OP(...)
#define GRIDFOLD_REDUCE_OP(name, monoid, ...) GRIDFOLD_DETAIL_REDUCE_FUNCTIONS(name, detail::operands_of_##monoid)
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP

/// The sum of x * y.
inline Value dot(Value x, Value y, const ReduceOptions& options = {}) { return sum(map(map_op::mul, {x, y}), options); }

/// The value converted to T. Floats converted to integers saturate, NaN gives 0; conversion to bool gives value != 0.
template <Element T> Value cast(Value value) { return cast(value, dtype_of<T>); }

/// The index along a dim, as i64.
inline Value index(Graph& graph, Dim dim) { return graph.index(dim); }

/// The dims to fold: gf::sum(x, gf::over(i, j)).
template <std::same_as<Dim>... D> ReduceOptions over(Dim first, D... rest) { return {.over = {first, rest...}}; }

} // namespace gf
