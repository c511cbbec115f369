// Maps and reductions of a user's: those of the README and of examples/04_own_ops.cpp, a sum, and a fold
// whose result shows in which order elements were folded and states combined.
#pragma once

#include <gridfold/gridfold.hpp>

GRIDFOLD_MAP(leaky, 1, number, "a, or a tenth of it where negative", a > T(0) ? a : a / T(10))
GRIDFOLD_MAP(huber, 2, floating, "Huber's loss of a, linear beyond b",
             abs(a) <= b ? T(0.5) * a * a : b * (abs(a) - T(0.5) * b))

// clang-format off
GRIDFOLD_REDUCTION(range, "the largest element less the smallest",
    static constexpr bool associative_and_commutative = true;
    static constexpr bool needs_elements = true;
    struct State { A low, high; };
    GRIDFOLD_FN static State identity() { return {highest<A>(), lowest<A>()}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) {
        s.low = minimum(s.low, convert<A>(x)), s.high = maximum(s.high, convert<A>(x));
    }
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        s.low = minimum(s.low, t.low), s.high = maximum(s.high, t.high);
    }
    GRIDFOLD_FN static A finalize(const State& s) { return sub(s.high, s.low); })

GRIDFOLD_REDUCTION(peak, "the element farthest from 0, the positive one of a tie",
    static constexpr bool associative_and_commutative = true;
    struct State { A value; };
    GRIDFOLD_FN static State identity() { return {A(0)}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { combine(s, {convert<A>(x)}); }
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        const A mine = abs(s.value), other = abs(t.value);
        if (other > mine || (other == mine && t.value > s.value)) s.value = t.value;
    }
    GRIDFOLD_FN static A finalize(const State& s) { return s.value; })

GRIDFOLD_REDUCTION(total, "the sum",
    static constexpr bool associative_and_commutative = true;
    struct State { A sum; };
    GRIDFOLD_FN static State identity() { return {A(0)}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { s.sum = add(s.sum, convert<A>(x)); }
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.sum = add(s.sum, t.sum); }
    GRIDFOLD_FN static A finalize(const State& s) { return s.sum; })

// Neither associative nor commutative, whatever it says: each order of folding and combining gives another result.
// A state of weight 0 holds nothing, and changes none that it meets. Integers wrap.
GRIDFOLD_REDUCTION(order_mark, "differs for every order",
    static constexpr bool associative_and_commutative = true;
    struct State { A sum, weight; };
    GRIDFOLD_FN static State identity() { return {A(0), A(0)}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) {
        s.sum = add(mul(s.sum, A(3)), convert<A>(x));
        s.weight = add(s.weight, A(1));
    }
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        if (t.weight == A(0)) return;
        s.sum = s.weight == A(0) ? t.sum : add(mul(s.sum, A(5)), mul(t.sum, A(7)));
        s.weight = add(s.weight, t.weight);
    }
    GRIDFOLD_FN static A finalize(const State& s) { return s.sum; })
// clang-format on
