// How the lanes of a thread fold: which of the ways that a monoid offers (ops/device/monoid.cuh) a fold takes, detected
// on its struct. Compiled by the host, which estimates registers by it, and by NVRTC. Depends on prelude.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

template <class> using Void = void;

template <class M, class = void> inline constexpr bool exact_in_any_order = false;
template <class M>
inline constexpr bool exact_in_any_order<M, Void<decltype(M::exact_in_any_order)>> = M::exact_in_any_order;

template <class M, class = void> inline constexpr bool offers_steps = false;
template <class M> inline constexpr bool offers_steps<M, Void<decltype(&M::start)>> = true;

template <class M, class = void> inline constexpr bool offers_packs = false;
template <class M>
inline constexpr bool offers_packs<M, Void<decltype(&M::template accumulate_pack<1>)>> = exact_in_any_order<M>;

/// True if a monoid reduces a warp's states by itself.
template <class M, class = void> inline constexpr bool reduces_warps = false;
template <class M>
inline constexpr bool reduces_warps<M, Void<decltype(M::reduces_warps)>> = M::reduces_warps && exact_in_any_order<M>;

/// The monoid of the lanes of a block: OfBlock where M has it and no mask interrupts them, else M.
template <class M, bool masked, class = void> struct LaneMonoidOf {
    using Type = M;
    static constexpr bool of_block = false;
};
template <class M> struct LaneMonoidOf<M, false, Void<typename M::OfBlock>> {
    using Type = typename M::OfBlock;
    static constexpr bool of_block = true;
};

/// How one fold goes about its elements.
template <class M, bool is_masked> struct FoldPolicy {
    using Monoid = M;
    using LaneMonoid = typename LaneMonoidOf<M, is_masked>::Type;
    static constexpr bool masked = is_masked;
    /// Lanes share an origin, and keep less than a State.
    static constexpr bool of_block = LaneMonoidOf<M, masked>::of_block;
    /// A thread keeps one state for all its lanes. It sees their elements in increasing order, too.
    static constexpr bool joins = exact_in_any_order<M>;
    /// start, advance, end instead of accumulate.
    static constexpr bool in_steps = !masked && offers_steps<M>; // defect: in steps
    /// Whole slabs are taken pack by pack.
    static constexpr bool in_packs = !masked && !in_steps && offers_packs<M>;
    /// Elements may be dealt to lanes in any way: each is seen with its index, but none is counted.
    static constexpr bool shifts = joins && !offers_steps<M>;

    static constexpr int state_words = sizeof(typename M::State) / 4;
    static constexpr int lane_words = sizeof(typename LaneMonoid::State) / 4;
    static constexpr int origin_words = of_block ? 2 : 0;
};

} // namespace GRIDFOLD_NAMESPACE
