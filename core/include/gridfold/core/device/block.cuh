// Reducing states across the threads of a warp, pairwise by index, lowest bit first. Depends on warp.cuh and fold.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// Combines the first `count` of a thread's states into the first of them.
template <class M, int K> GRIDFOLD_FN void reduce_thread(typename M::State (&s)[K], i32 count) {
#pragma unroll
    for (int distance = 1; distance < K; distance *= 2)
#pragma unroll
        for (int i = 0; i < K; i += 2 * distance)                        // defect: thread pairs
            if (i + distance < count) M::combine(s[i], s[i + distance]); // defect: thread count
}

/// Combines s with that of the lane which differs in the bit `distance`, if it is a partner. Every thread of the warp
/// calls it; lanes with that bit or a lower one set combine into states that nobody reads.
template <class M> GRIDFOLD_FN void combine_lanes(typename M::State& s, u32 distance, bool is_partner) {
    const typename M::State right = shuffle_xor(s, distance); // defect: partner
    if (is_partner) M::combine(s, right);
}

} // namespace GRIDFOLD_NAMESPACE
