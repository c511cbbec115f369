// Users' reductions: one that shows the order of its elements, and some whose States are larger than a few scalars, up
// to the 64 words that a State may have. own_reductions.cpp compiles them.
#pragma once

#include <gridfold/ops/op_macros.hpp>

// clang-format off
// Declares itself commutative and is not: its result depends on the order of elements and states.
GRIDFOLD_REDUCTION(ordered, "a monoid that shows the order of its elements",
    static constexpr bool associative_and_commutative = true;
    struct State { A sum, scale; };
    GRIDFOLD_FN static State identity() { return {A(0), A(0)}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) {
        s.scale = s.scale == A(0) ? A(1) : mul(s.scale, A(3));
        s.sum = add(s.sum, mul(convert<A>(x), s.scale));
    }
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        if (t.scale == A(0)) return; // the identity
        s.sum = s.scale == A(0) ? t.sum : add(mul(s.sum, A(5)), t.sum);
        s.scale = add(s.scale, t.scale);
    }
    GRIDFOLD_FN static A finalize(const State& s) { return s.sum; })

GRIDFOLD_REDUCTION(five_facts, "a State of five scalars of two sizes",
    static constexpr bool associative_and_commutative = true;
    struct State { f64 sum; f64 squares; u32 count; u32 odd; f64 farthest; };
    GRIDFOLD_FN static State identity() { return {0.0, 0.0, 0, 0, 0.0}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64 index) {
        const f64 v = convert<f64>(x);
        s.sum = s.sum + v;
        s.squares = s.squares + v * v;
        s.count += 1;
        s.odd += u32(index) & 1u;
        s.farthest = maximum(s.farthest, abs(v));
    }
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        s.sum = s.sum + t.sum;
        s.squares = s.squares + t.squares;
        s.count += t.count;
        s.odd += t.odd;
        s.farthest = maximum(s.farthest, t.farthest);
    }
    GRIDFOLD_FN static f64 finalize(const State& s) {
        return s.sum + s.squares / (1.0 + s.farthest) + f64(s.count) + 3.0 * f64(s.odd);
    })

// 16 words, inexact: every order of elements and States gives other bits.
GRIDFOLD_REDUCTION(eight_powers, "the sums of the first eight powers, added up",
    static constexpr bool associative_and_commutative = true;
    struct State { f64 sums[8]; };
    GRIDFOLD_FN static State identity() { return {}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) {
        const f64 v = convert<f64>(x) * 0x1p-4;
        f64 power = v;
        for (int k = 0; k < 8; ++k) {
            s.sums[k] = s.sums[k] + power;
            power = power * v;
        }
    }
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        for (int k = 0; k < 8; ++k) s.sums[k] = s.sums[k] + t.sums[k];
    }
    GRIDFOLD_FN static f64 finalize(const State& s) {
        f64 all = 0.0;
        for (int k = 0; k < 8; ++k) all = all + s.sums[k];
        return all;
    })

// 64 words, inexact.
GRIDFOLD_REDUCTION(thirty_two_scales, "the sums of multiples, added up",
    static constexpr bool associative_and_commutative = true;
    struct State { f64 sums[32]; };
    GRIDFOLD_FN static State identity() { return {}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) {
        const f64 v = convert<f64>(x);
        for (int k = 0; k < 32; ++k) s.sums[k] = s.sums[k] + v / f64(k + 3);
    }
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        for (int k = 0; k < 32; ++k) s.sums[k] = s.sums[k] + t.sums[k];
    }
    GRIDFOLD_FN static f64 finalize(const State& s) {
        f64 all = 0.0;
        for (int k = 0; k < 32; ++k) all = all + s.sums[k] * f64(k + 1);
        return all;
    })

// 64 words, exact in any order.
GRIDFOLD_REDUCTION(histogram_mark, "differs for every histogram of the elements' low six bits",
    static constexpr bool associative_and_commutative = true;
    static constexpr bool exact_in_any_order = true;
    struct State { u32 bins[64]; };
    GRIDFOLD_FN static State identity() { return {}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { s.bins[u32(convert<i32>(x)) & 63u] += 1; }
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        for (int k = 0; k < 64; ++k) s.bins[k] += t.bins[k];
    }
    GRIDFOLD_FN static u32 finalize(const State& s) {
        u32 mark = 0;
        for (int k = 0; k < 64; ++k) mark = (mark ^ s.bins[k]) * 0x9e3779b1u;
        return mark;
    })

// Exact in any order, of two fields.
GRIDFOLD_REDUCTION(widest, "the largest element less the smallest",
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

// Exact in any order, of one number that the identity is neutral of.
GRIDFOLD_REDUCTION(farthest, "the largest distance from 0",
    static constexpr bool associative_and_commutative = true;
    static constexpr bool exact_in_any_order = true;
    static constexpr bool identity_is_neutral = true;
    struct State { A value; };
    GRIDFOLD_FN static State identity() { return {A(0)}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { s.value = maximum(s.value, abs(convert<A>(x))); }
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.value = maximum(s.value, t.value); }
    GRIDFOLD_FN static A finalize(const State& s) { return s.value; })
// clang-format on

GRIDFOLD_COMPILED_ELSEWHERE(ordered)
GRIDFOLD_COMPILED_ELSEWHERE(five_facts)
GRIDFOLD_COMPILED_ELSEWHERE(eight_powers)
GRIDFOLD_COMPILED_ELSEWHERE(thirty_two_scales)
GRIDFOLD_COMPILED_ELSEWHERE(histogram_mark)
GRIDFOLD_COMPILED_ELSEWHERE(widest)
GRIDFOLD_COMPILED_ELSEWHERE(farthest)
