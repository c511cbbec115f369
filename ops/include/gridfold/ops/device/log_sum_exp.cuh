// Sums of exponentials. Depends on prelude.cuh; the contract of a monoid is in monoid.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The largest element so far, and the sum of e^(x − largest). The identity is (−∞, 0). A NaN propagates through the
/// sum.
template <class A> struct LogSumExpStates {
    static constexpr bool associative_and_commutative = true;
    struct State {
        A largest;
        A sum;
    };
    GRIDFOLD_FN static State identity() { return {-infinity<A>(), A(0)}; }
    /// e^(x − from) for x ≤ from; 1 if both are the same infinity.
    GRIDFOLD_FN static A exp_below(A x, A from) { return x == from ? A(1) : exp_of_nonpositive(x - from); }
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        const A largest = s.largest > t.largest ? s.largest : t.largest;
        s = {largest, s.sum * exp_below(s.largest, largest) + t.sum * exp_below(t.largest, largest)}; // defect: bases
    }
    /// −∞ for no element.
    GRIDFOLD_FN static A value(const State& s) { return s.largest + log(s.sum); }
};
/// The logarithm of a sum of exponentials, in A (floating).
template <class E, class A> struct LogSumExp : LogSumExpStates<A> {
    using States = LogSumExpStates<A>;
    using State = typename States::State;
    GRIDFOLD_FN static void accumulate(State& s, E element, i64) {
        const A x = convert<A>(element);
        if (x > s.largest)
            s = {x, s.sum * States::exp_below(s.largest, x) + A(1)};
        else
            s.sum = s.sum + States::exp_below(x, s.largest);
    }
};

} // namespace GRIDFOLD_NAMESPACE
