// The fold policy: which of the optional functions of a monoid (ops/device/monoid.cuh) a fold uses, detected on the
// monoid's struct. Compiled by the host, which estimates registers from it, and by NVRTC. Depends on prelude.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

template <class> using Void = void;

/// The number of operands that a monoid folds.
template <class M, class = void> inline constexpr int operand_count = 1;
template <class M> inline constexpr int operand_count<M, Void<decltype(M::operands)>> = M::operands;

template <class M, class = void> inline constexpr bool exact_in_any_order = false;
template <class M>
inline constexpr bool exact_in_any_order<M, Void<decltype(M::exact_in_any_order)>> = M::exact_in_any_order;

/// True if combine(s, t) and combine(t, s) give the same bits.
template <class M, class = void> inline constexpr bool is_symmetric = exact_in_any_order<M>;
template <class M> inline constexpr bool is_symmetric<M, Void<decltype(M::symmetric)>> = M::symmetric;

template <class M, class = void> inline constexpr bool offers_steps = false;
template <class M> inline constexpr bool offers_steps<M, Void<decltype(&M::start)>> = operand_count<M> == 1;

template <class M, class = void> inline constexpr bool offers_packs = false;
template <class M>
inline constexpr bool offers_packs<M, Void<decltype(&M::template accumulate_pack<1>)>> =
    exact_in_any_order<M> && operand_count<M> == 1;

template <class M, class = void> inline constexpr bool offers_pairs = false;
template <class M>
inline constexpr bool offers_pairs<M, Void<decltype(&M::template accumulate_pairs<2>)>> = offers_packs<M>;

/// True if a monoid has a reduce_warp() of its own.
template <class M, class = void> inline constexpr bool reduces_warps = false;
template <class M>
inline constexpr bool reduces_warps<M, Void<decltype(M::reduces_warps)>> = M::reduces_warps && exact_in_any_order<M>;

/// Two operands of a monoid at one place, and three.
template <class X, class Y> struct Two {
    X x;
    Y y;
};
template <class X> struct Three {
    X x, y, z;
};

/// The type of a monoid's second operand: E, or M::Payload.
template <class M, class E, class = void> struct SecondOperandOf {
    using Type = E;
};
template <class M, class E> struct SecondOperandOf<M, E, Void<typename M::Payload>> {
    using Type = typename M::Payload;
};
/// What a fold takes of an element: an E, or all operands of a monoid that folds several.
template <class M, class E, int operands = operand_count<M>> struct TakenBy {
    using Type = E;
};
template <class M, class E> struct TakenBy<M, E, 2> {
    using Type = Two<E, typename SecondOperandOf<M, E>::Type>;
};
template <class M, class E> struct TakenBy<M, E, 3> {
    using Type = Three<E>;
};

/// M::accumulate(s, …) of one operand or several. `at` is the element's index; for OfBlock the origin.
template <class M, class State, class X, class At> GRIDFOLD_FN void accumulate_in(State& s, const X& x, const At& at) {
    M::accumulate(s, x, at);
}
template <class M, class State, class X, class Y, class At>
GRIDFOLD_FN void accumulate_in(State& s, const Two<X, Y>& two, const At& at) {
    M::accumulate(s, two.x, two.y, at);
}
template <class M, class State, class X, class At>
GRIDFOLD_FN void accumulate_in(State& s, const Three<X>& three, const At& at) {
    M::accumulate(s, three.x, three.y, three.z, at);
}

/// The type of the origin that a block's lanes share: M::Origin, or f64.
template <class M, class = void> struct OriginOf {
    using Type = f64;
};
template <class M> struct OriginOf<M, Void<typename M::Origin>> {
    using Type = typename M::Origin;
};
/// M::origin(…) of one operand or two.
template <class M, class X> GRIDFOLD_FN typename OriginOf<M>::Type origin_of(const X& x) { return M::origin(x); }
template <class M, class X, class Y> GRIDFOLD_FN typename OriginOf<M>::Type origin_of(const Two<X, Y>& two) {
    return M::origin(two.x, two.y);
}

/// The monoid of a block's lanes: OfBlock if M has it and the fold has no mask, else M.
template <class M, bool masked, class = void> struct LaneMonoidOf {
    using Type = M;
    static constexpr bool of_block = false;
};
template <class M> struct LaneMonoidOf<M, false, Void<typename M::OfBlock>> {
    using Type = typename M::OfBlock;
    static constexpr bool of_block = true;
};

/// The monoid of elements that are bfloat16 numbers: OfBf16 if M has it, else M.
template <class M, class = void> struct MonoidOfBf16 {
    using Type = M;
};
template <class M> struct MonoidOfBf16<M, Void<typename M::OfBf16>> {
    using Type = typename M::OfBf16;
};
template <class M> using OfBf16 = typename MonoidOfBf16<M>::Type;

/// The choices for one fold.
template <class M, bool is_masked> struct FoldPolicy {
    using Monoid = M;
    using LaneMonoid = typename LaneMonoidOf<M, is_masked>::Type;
    using Origin = typename OriginOf<M>::Type;
    static constexpr bool masked = is_masked;
    /// Lanes share an origin, and keep a smaller state than State.
    static constexpr bool of_block = LaneMonoidOf<M, masked>::of_block;
    /// A thread keeps one state for all its lanes; it sees their elements in increasing order.
    static constexpr bool joins = exact_in_any_order<M>;
    /// Uses start, advance, end instead of accumulate.
    static constexpr bool in_steps = !masked && offers_steps<M>; // defect: in steps
    /// Uses accumulate_pack for whole slabs.
    static constexpr bool in_packs = !masked && !in_steps && offers_packs<M>;
    /// Uses accumulate_pairs for positions.
    static constexpr bool in_pairs = in_packs && offers_pairs<M>;
    /// Elements may be assigned to lanes in any way: the fold uses their indices, never their turns.
    static constexpr bool shifts = joins && !offers_steps<M>;

    static constexpr int state_words = sizeof(typename M::State) / 4;
    static constexpr int lane_words = sizeof(typename LaneMonoid::State) / 4;
    static constexpr int origin_words = of_block ? sizeof(Origin) / 4 : 0;
};

} // namespace GRIDFOLD_NAMESPACE
