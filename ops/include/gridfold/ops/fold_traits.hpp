// The fold policy that core/device/fold.cuh detects, as data. Internal, for the tables and op_macros.hpp.
#pragma once

#include <gridfold/core/device/prelude.cuh>

#include <gridfold/core/device/fold.cuh>
#include <gridfold/ops/op.hpp>

namespace gf::detail {

template <class Policy> constexpr FoldTraits traits_of_policy() {
    return {.state_words = Policy::state_words,
            .lane_words = Policy::lane_words,
            .origin_words = Policy::origin_words,
            .joins = Policy::joins,
            .in_steps = Policy::in_steps,
            .of_block = Policy::of_block,
            .in_packs = Policy::in_packs,
            .shifts = Policy::shifts};
}
template <class M> constexpr FoldTraits traits_of(bool masked) {
    return masked ? traits_of_policy<device::FoldPolicy<M, true>>() : traits_of_policy<device::FoldPolicy<M, false>>();
}

} // namespace gf::detail
