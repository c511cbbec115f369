// Any, All and Count of elements that are not 0. Depends on prelude.cuh; the contract of a monoid is in monoid.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

struct AnyStates {
    static constexpr bool associative_and_commutative = true;
    static constexpr bool exact_in_any_order = true;
    static constexpr bool identity_is_neutral = true;
    struct State {
        u32 any;
    };
    GRIDFOLD_FN static State identity() { return {0}; }
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.any |= t.any; }
    static constexpr bool reduces_warps = true;
    template <class Warp> GRIDFOLD_FN static void reduce_warp(State& s, Warp warp) { s.any = warp.bit_or(s.any); }
};
/// True if any element is not 0. NaN is not 0.
template <class E, class A> struct Any : AnyStates {
    using States = AnyStates;
    /// A word that is not 0 exactly if x is not 0: OR-ing such words is cheaper than comparing every element.
    GRIDFOLD_FN static u32 truth(E x) {
        if constexpr (sizeof(E) == 4 && is_floating<E>)
            return to_bits(x) & 0x7fffffffu; // defect: negative zero
        else
            return u32(x != E(0));
    }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { s.any |= truth(x); }
};

struct AllStates {
    static constexpr bool associative_and_commutative = true;
    static constexpr bool exact_in_any_order = true;
    static constexpr bool identity_is_neutral = true;
    struct State {
        u32 all;
    };
    GRIDFOLD_FN static State identity() { return {1}; } // defect: all of none
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.all &= t.all; }
    static constexpr bool reduces_warps = true;
    template <class Warp> GRIDFOLD_FN static void reduce_warp(State& s, Warp warp) { s.all = warp.bit_and(s.all); }
};
/// True if no element is 0. NaN is not 0.
template <class E, class A> struct All : AllStates {
    using States = AllStates;
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { s.all = x == E(0) ? 0u : s.all; }
};

struct CountStates {
    static constexpr bool associative_and_commutative = true;
    static constexpr bool exact_in_any_order = true;
    static constexpr bool identity_is_neutral = true;
    struct State {
        i64 count;
    };
    GRIDFOLD_FN static State identity() { return {0}; }
    GRIDFOLD_FN static State start() { return identity(); }
    GRIDFOLD_FN static void end(State&, i64, i64, i64, u32) {}
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.count += t.count; }
    static constexpr bool reduces_warps = true;
    template <class Warp> GRIDFOLD_FN static void reduce_warp(State& s, Warp warp) {
        // Sums of 32 low parts, and of 32 high parts, fit into a word: no count has more than 2 · 27 bits.
        constexpr int low_bits = 27;
        s.count = i64(warp.sum(u32(s.count) & ((1u << low_bits) - 1)) +
                      (u64(warp.sum(u32(s.count >> low_bits))) << low_bits));
    }
};
/// The number of elements that are not 0. NaN is not 0.
template <class E, class A> struct Count : CountStates {
    using States = CountStates;
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { advance(s, x, 0); }
    /// A lane has fewer than 2^32 elements.
    GRIDFOLD_FN static void advance(State& s, E x, u32) {
        s.count = i64(add_one_if(x != E(0), u32(s.count))); // defect: advance
    }
};

} // namespace GRIDFOLD_NAMESPACE
