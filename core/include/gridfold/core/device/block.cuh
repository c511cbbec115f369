// Reducing states across the threads of a warp, pairwise by index, lowest bit first. Depends on warp.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// Combines the first `count` of a thread's states into the first of them.
template <class M, int K> GRIDFOLD_FN void reduce_thread(typename M::State (&s)[K], i32 count) {
#pragma unroll
    for (int distance = 1; distance < K; distance *= 2)
#pragma unroll
        for (int i = 0; i < K; i += 2 * distance)
            if (i + distance < count) M::combine(s[i], s[i + distance]);
}

/// Does a monoid reduce a warp's states by itself (monoid.cuh)?
template <class> using Void = void;
template <class M, class = void> inline constexpr bool reduces_warps = false;
template <class M> inline constexpr bool reduces_warps<M, Void<decltype(M::reduces_warps)>> = M::reduces_warps;

/// Combines s with that of the lane which differs in the bit `distance`, if it is a partner. Every thread of the warp
/// calls it; lanes with that bit or a lower one set combine into states that nobody reads.
template <class M> GRIDFOLD_FN void combine_lanes(typename M::State& s, u32 distance, bool is_partner) {
    const typename M::State right = shuffle_xor(s, distance);
    if (is_partner) M::combine(s, right);
}

} // namespace GRIDFOLD_NAMESPACE
