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

/// Combines the states of a thread's own places, `first` on, into the first.
template <class M, int K> GRIDFOLD_FN void reduce_thread(typename M::State (&s)[K], i32 first, Places places) {
#pragma unroll
    for (int distance = 1; distance < K; distance *= 2)
#pragma unroll
        for (int i = 0; i < K; i += 2 * distance)
            if (places.has_partner(first + i, distance)) M::combine(s[i], s[i + distance]);
}

/// Combines s with that of the lane which differs in the bit `lanes`, if it is a partner. Every thread of the warp calls
/// it; lanes with a lower bit set combine into states that nobody reads.
template <class M> GRIDFOLD_FN void combine_lanes(typename M::State& s, u32 lanes, bool is_partner) {
    const typename M::State right = shuffle_xor(s, lanes);
    if (is_partner) M::combine(s, right);
}

} // namespace GRIDFOLD_NAMESPACE
