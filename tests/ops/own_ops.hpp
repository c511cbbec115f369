// Maps and reductions as a user of the library defines them; several test files include them.
#pragma once

#include <gridfold/ops/op_macros.hpp>

GRIDFOLD_MAP(softplus, 1, floating, "log(1 + exp(a))", maximum(a, T(0)) + log1p(exp(-abs(a))))

GRIDFOLD_MAP(lerp, 3, quotient, "a, moved by the share c of the way to b", a + (b - a) * c)

GRIDFOLD_MAP(within, 3, compare, "is a in [b, c]?", b <= a && a <= c)

GRIDFOLD_MAP(positive, 1, compare, "is a above 0?", a > T(0))

GRIDFOLD_MAP(closer, 2, compare, "is a closer to 0 than b?", abs(a) < abs(b))

GRIDFOLD_MAP(low_bit, 1, same, "the lowest bit set: a meaning for integers only", T(neg(a) & a))

GRIDFOLD_REDUCTION(range, "the largest element less the smallest",
    static constexpr bool associative_and_commutative = true;
    static constexpr bool exact_in_any_order = true;
    static constexpr bool needs_elements = true;
    struct State { A low, high; };
    GRIDFOLD_FN static State identity() { return {highest<A>(), lowest<A>()}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) {
        s.low = minimum(s.low, convert<A>(x));
        s.high = maximum(s.high, convert<A>(x));
    }
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        s.low = minimum(s.low, t.low);
        s.high = maximum(s.high, t.high);
    }
    GRIDFOLD_FN static A finalize(const State& s) { return sub(s.high, s.low); })

GRIDFOLD_REDUCTION(mean_of_squares, "the mean of a * a, 0 for no elements",
    static constexpr bool associative_and_commutative = true;
    static constexpr bool floating_accumulator = true;
    struct State { i64 count; f64 sum; };
    GRIDFOLD_FN static State identity() { return {0, 0.0}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) {
        const f64 v = convert<f64>(x);
        s.sum = s.sum + v * v;
        s.count += 1;
    }
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        s.sum = s.sum + t.sum;
        s.count += t.count;
    }
    GRIDFOLD_FN static A finalize(const State& s) { return s.count == 0 ? A(0) : A(s.sum / f64(s.count)); })

GRIDFOLD_COMPILED_ELSEWHERE(range)
GRIDFOLD_COMPILED_ELSEWHERE(mean_of_squares)
