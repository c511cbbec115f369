// Which built-in monoids fold and combine lanes in registers.
#pragma once

#include <gridfold/ops/device/monoid.cuh>
#include <gridfold/ops/host/folds.hpp>

#include "host_kernels/tree.hpp"

namespace GRIDFOLD_NAMESPACE::kernels {

/// A State of one floating-point number, in the canonical order.
template <class M> consteval bool is_ordered_number() {
    return field_count<typename M::State>() == 1 && sizeof(typename M::State) >= 4 && !in_any_order<M> &&
           !offers_steps<M>;
}
/// True for monoids with a WholeBlock (whole_block.hpp). Of two numbers, lanes in memory are as fast or faster
/// (bench/NOTES.md).
template <class M, class E> inline constexpr bool has_whole_block = is_ordered_number<M>() && !is_bool<E>;

/// True for sums, which only add to their State.
template <class M>
inline constexpr bool is_total = requires(typename M::State s) { requires __is_base_of(Total<decltype(s.sum)>, M); };
template <class M>
    requires(is_ordered_number<M>())
struct CombineLanes<M> {
    using type = Tree<M, sizeof(typename M::State), is_total<M>>;
};

/// The State of moments whose lanes share an origin.
template <class State>
concept SumsAboutOrigin = sizeof(State) == 2 * sizeof(f64) && requires(State s) {
    s.sum;
    s.squares;
};
template <class M>
    requires SumsAboutOrigin<typename M::State>
struct CombineLanes<M> {
    using type = Tree<M, sizeof(f64), true>;
};

} // namespace GRIDFOLD_NAMESPACE::kernels
