// Combining the states of a block's threads, pairwise by number, lowest bit first. Depends on lanes.cuh and shared.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// Combines the first `count` of a thread's states into s[0].
template <class M, int K> GRIDFOLD_FN void reduce_thread(typename M::State (&s)[K], i32 count) {
#pragma unroll
    for (int distance = 1; distance < K; distance *= 2)
#pragma unroll
        for (int i = 0; i < K; i += 2 * distance)                        // defect: thread pairs
            if (i + distance < count) M::combine(s[i], s[i + distance]); // defect: thread count
}

/// Combines s with the state of the lane that differs in the bit `distance`, if `is_partner`. All threads of the warp
/// must call it; states of lanes with that bit or a lower one set are not used afterwards.
template <class M> GRIDFOLD_FN void combine_lanes(typename M::State& s, u32 distance, bool is_partner) {
    const typename M::State right = shuffle_xor(s, distance); // defect: partner
    if (is_partner) M::combine(s, right);
}

/// The monoid of a reduction: LaneMonoid within a block, Monoid across blocks.
template <class Fold, bool lanes>
using MonoidOf = typename Choose<lanes, typename Fold::LaneMonoid, typename Fold::Monoid>::type;

/// A fold's states of a block's warps. The two reductions of a block use different memory: the second may begin before
/// the first has ended.
template <class Fold, int warps, bool first>
using WarpStates = Shared<typename MonoidOf<Fold, first>::State, warps, 2 * Fold::word + first>;

/// True if each thread reduces a fold's states of `lanes` lanes by itself: reading 16 words of shared memory takes as
/// long as one shuffle.
template <class Fold, int lanes, bool all>
inline constexpr bool one_thread_reduces =
    lanes < 32 && all && sizeof(typename MonoidOf<Fold, all>::State) == 4 && !reduces_warps<MonoidOf<Fold, all>>;

/// Reduces the first states of `lanes` lanes of a warp (a power of 2) to one, pairwise by number, lowest bit first; the
/// first lane gets the result. `number`: this lane's. Without `all`, lanes with number·each ≥ count have no state.
template <class Kernel, int lanes, bool all, class States>
GRIDFOLD_FN void reduce_lanes(States& states, i32 number, i32 count, i32 each) {
    Kernel::Folds::each([&](auto f) {
        using Monoid = MonoidOf<decltype(f), all>;
        if constexpr (reduces_warps<Monoid>) {
            const bool none = i32(warp_lane()) >= lanes || (!all && number * each >= count); // defect: none
            if ((lanes < 32 || !all) && none) f.of(states)[0] = Monoid::identity();
            Monoid::reduce_warp(f.of(states)[0], Warp{});
        }
    });
    // All folds take each step together, so that their latencies overlap. The loop over wide states is not unrolled:
    // its steps are long already, and unrolling costs compile time.
    constexpr int unrolled = Kernel::Folds::words <= 8 ? 5 : 1;
#pragma unroll(unrolled)
    for (int distance = 1; distance < lanes; distance *= 2) {              // defect: pairwise
        const bool is_partner = all || (number + distance) * each < count; // defect: is partner
        Kernel::Folds::each([&](auto f) {
            using Monoid = MonoidOf<decltype(f), all>;
            if constexpr (!reduces_warps<Monoid> && !one_thread_reduces<decltype(f), lanes, all>)
                combine_lanes<Monoid>(f.of(states)[0], distance, is_partner);
        });
    }
}

/// True if this warp owns any of the `count` states (`each` a thread). Warps that own none return early; polling would
/// only slow the others down.
GRIDFOLD_FN bool has_states(i32 count, i32 each) { return i32(warp_index() * 32) * each < count; }

/// Reduces `count` states of every fold to one, pairwise by number, lowest bit first. Thread t < Threads owns the
/// states each·t to each·t + each − 1, where each ≤ K is a power of two; thread 0 gets the result in its state 0.
/// `all`: the states are K · Threads lanes. If Threads > 32, all threads of the block must call it, once for each value
/// of `all`; without `all`, the first warp may call it alone if it owns all `count` states.
template <class Kernel, int Threads, bool all, class States>
GRIDFOLD_FN void reduce(States& states, i32 count, i32 each) {
    constexpr int warp_count = Threads / 32;
    const i32 thread = i32(thread_index());
    const bool takes_part = all || has_states(count, each);

    if (takes_part) {
        const i32 own = all ? each : smaller(each, count - thread * each); // defect: own
        Kernel::Folds::each([&](auto f) { reduce_thread<MonoidOf<decltype(f), all>>(f.of(states), own); });
        reduce_lanes<Kernel, 32, all>(states, thread, count, each);
    }
    if constexpr (warp_count > 1) {
        if (!all && count <= 32 * each) return; // the first warp owned all states // defect: second warp
        if (takes_part)
            Kernel::Folds::each([&](auto f) {
                if (warp_lane() == 0 && thread < Threads)
                    WarpStates<decltype(f), warp_count, all>::put(warp_index(), f.of(states)[0]);
            });
        barrier(); // defect: barrier
        if (warp_index() != 0) return;
        const i32 warp = i32(warp_lane()) % warp_count; // the warp whose state this lane reads
        Kernel::Folds::each([&](auto f) {
            using Warps = WarpStates<decltype(f), warp_count, all>;
            if constexpr (one_thread_reduces<decltype(f), warp_count, all>) {
                typename MonoidOf<decltype(f), all>::State of_warps[warp_count];
#pragma unroll
                for (int i = 0; i < warp_count; ++i) of_warps[i] = Warps::get(u32(i));
                reduce_thread<MonoidOf<decltype(f), all>>(of_warps, warp_count); // defect: of warps
                f.of(states)[0] = of_warps[0];
            } else {
                if (all || warp * 32 * each < count) f.of(states)[0] = Warps::get(u32(warp));
            }
        });
        reduce_lanes<Kernel, warp_count, all>(states, warp, count, each * 32);
    }
}

} // namespace GRIDFOLD_NAMESPACE
