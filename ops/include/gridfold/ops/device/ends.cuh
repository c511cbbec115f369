// The first and the last element. Depends on prelude.cuh; the contract of a monoid is in monoid.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The payload with the lowest index, or the highest. E = u64.
template <class E, class A, bool first> struct End {
    static constexpr bool associative_and_commutative = true;
    static constexpr bool exact_in_any_order = true;
    struct State {
        u64 payload;
        i64 index;
    };
    /// Its index is beyond every element's.
    GRIDFOLD_FN static State identity() { return {0, first ? highest<i64>() : -1}; }
    GRIDFOLD_FN static void accumulate(State& s, E payload, i64 index) { combine(s, {payload, index}); }
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        const bool wins = first ? t.index < s.index : t.index > s.index; // defect: end
        s = {wins ? t.payload : s.payload, wins ? t.index : s.index};
    }
};
template <class E, class A> struct First : End<E, A, true> {};
template <class E, class A> struct Last : End<E, A, false> {};

} // namespace GRIDFOLD_NAMESPACE
