// Reducing states across the threads of a warp and of a block, pairwise by index, lowest bit first. Depends on warp.cuh.
//
// State number i sits in thread i / K, position i % K. Only states [0, valid) exist; a state whose partner does not is
// taken over unchanged.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// Folds each thread's K states, then the warp's: lane 0 gets the warp's 32 · K states in s[0].
/// Every thread of the warp calls it. `valid` counts states of the block.
template <class M, int K> GRIDFOLD_FN void reduce_warp(typename M::State (&s)[K], i64 valid) {
    const i64 first = i64(thread_index()) * K;
#pragma unroll
    for (int step = 1; step < K; step *= 2)
#pragma unroll
        for (int i = 0; i < K; i += 2 * step)
            if (first + i + step < valid) M::combine(s[i], s[i + step]);
#pragma unroll
    for (int lanes = 1; lanes < 32; lanes *= 2) {
        // Lanes with a low bit set combine into states that nobody reads.
        const typename M::State right = shuffle_xor(s[0], lanes);
        if (first + i64(lanes) * K < valid) M::combine(s[0], right);
    }
}

/// Folds the states of a block's warps, which stand in `warps`: lane 0 of the calling warp gets the block's state.
/// Every thread of one warp calls it. `valid` and K are those of the reduce_warp calls before.
template <class M, int Threads, int K>
GRIDFOLD_FN typename M::State reduce_warps(const typename M::State* warps, i64 valid) {
    constexpr int count = Threads / 32;
    const u32 lane = warp_lane();
    typename M::State s = warps[lane < count ? lane : 0];
#pragma unroll
    for (int lanes = 1; lanes < count; lanes *= 2) {
        const typename M::State right = shuffle_xor(s, lanes);
        if ((i64(lane) + lanes) * 32 * K < valid) M::combine(s, right);
    }
    return s;
}

} // namespace GRIDFOLD_NAMESPACE
