// Reducing states across the threads of a warp and of a block, pairwise by index, lowest bit first. Depends on warp.cuh.
//
// A block has 2,048 places for states: place p is in thread p / K, position p % K. A reduction uses the first places that
// are multiples of its spread (a power of two): few states are then spread over all threads, in their order. A state whose
// partner's place is beyond the last used one is taken over unchanged.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The places that hold states.
struct Places {
    i32 end;         // one past the last
    i32 log2_spread; // of the distance between two
    GRIDFOLD_FN i32 spread() const { return 1 << log2_spread; }
    GRIDFOLD_FN bool has_partner(i32 place, i32 distance) const {
        return distance >= spread() && place + distance < end;
    }
};

/// Folds each thread's K places, then the warp's: lane 0 gets the state of the warp's 32 · K places in s[0].
/// Every thread of the warp calls it.
template <class M, int K> GRIDFOLD_FN void reduce_warp(typename M::State (&s)[K], Places places) {
    const i32 first = i32(thread_index()) * K;
#pragma unroll
    for (int distance = 1; distance < K; distance *= 2)
#pragma unroll
        for (int i = 0; i < K; i += 2 * distance)
            if (places.has_partner(first + i, distance)) M::combine(s[i], s[i + distance]);
// Unrolled, the shuffles save nothing that is measurable and cost most of the compile time.
#pragma unroll 1
    for (int lanes = 1; lanes < 32; lanes *= 2) {
        // Lanes with a low bit set combine into states that nobody reads.
        const typename M::State right = shuffle_xor(s[0], lanes);
        if (places.has_partner(first, lanes * K)) M::combine(s[0], right);
    }
}

/// Folds the states of a block's warps, which stand in `states`: lane 0 of the calling warp gets the block's state. Every
/// thread of one warp calls it.
template <class M, int warps, int K>
GRIDFOLD_FN typename M::State reduce_warps(const typename M::State* states, Places places) {
    const u32 lane = warp_lane();
    typename M::State s = states[lane < warps ? lane : 0];
#pragma unroll 1
    for (int lanes = 1; lanes < warps; lanes *= 2) {
        const typename M::State right = shuffle_xor(s, lanes);
        if (places.has_partner(i32(lane) * 32 * K, lanes * 32 * K)) M::combine(s, right);
    }
    return s;
}

} // namespace GRIDFOLD_NAMESPACE
