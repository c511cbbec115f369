// The expression of each map of map.def, in one struct a row.
#pragma once

#include "host_kernels/element_types.hpp"

namespace GRIDFOLD_NAMESPACE::kernels {

#define GRIDFOLD_MAP_OP(id, arity_, rule_, facts, low, high, doc, ...)                                 \
    template <class T> struct id##_map {                                                               \
        static constexpr int arity = arity_;                                                           \
        static constexpr TypeRule rule = TypeRule::rule_;                                              \
        using A = typename Choose<rule == TypeRule::select, bool, T>::type;                            \
        using R = typename Choose<gives_bool(rule), bool, T>::type;                                    \
        GRIDFOLD_FN static R apply([[maybe_unused]] A a, [[maybe_unused]] T b, [[maybe_unused]] T c) { \
            return static_cast<R>(__VA_ARGS__);                                                        \
        }                                                                                              \
    };
#include <gridfold/ops/map.def>
#undef GRIDFOLD_MAP_OP

template <class Map> inline constexpr bool is_arithmetic = false;
template <class T> inline constexpr bool is_arithmetic<add_map<T>> = true;
template <class T> inline constexpr bool is_arithmetic<sub_map<T>> = true;
template <class T> inline constexpr bool is_arithmetic<mul_map<T>> = true;
template <class T> inline constexpr bool is_arithmetic<divide_map<T>> = true;

template <class Map> constexpr bool computes(DType type) { return !is_half(type) && computes_in(Map::rule, type); }

} // namespace GRIDFOLD_NAMESPACE::kernels
