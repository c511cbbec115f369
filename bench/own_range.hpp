// A reduction defined as a user would, and the same result from two built-in ones, for the benchmarks of CPU and GPU.
#pragma once

#include <gridfold/gridfold.hpp>

// clang-format off
GRIDFOLD_REDUCTION(range, "the largest element less the smallest",
    static constexpr bool associative_and_commutative = true;
    static constexpr bool exact_in_any_order = true;
    struct State { A low, high; };
    GRIDFOLD_FN static State identity() { return {highest<A>(), lowest<A>()}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) {
        s.low = minimum(s.low, convert<A>(x)), s.high = maximum(s.high, convert<A>(x));
    }
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        s.low = minimum(s.low, t.low), s.high = maximum(s.high, t.high);
    }
    GRIDFOLD_FN static A finalize(const State& s) { return sub(s.high, s.low); })
// clang-format on

namespace bench {

inline gf::Graph own_range() {
    gf::Graph g("range");
    g.output("range", gf::range(g.input<float>("x", {g.dim("n")})));
    return g;
}

inline gf::Graph built_in_range() {
    gf::Graph g("built_in_range");
    const gf::Value x = g.input<float>("x", {g.dim("n")});
    g.output("range", gf::max(x) - gf::min(x));
    return g;
}

} // namespace bench
