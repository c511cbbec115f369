// Minima, maxima and their indices. Depends on prelude.cuh; the contract of a monoid is in monoid.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The smallest element, or the largest; NaN if any is NaN; −0 < +0. A = E.
template <class E, class A, bool smallest> struct Extreme {
    static constexpr bool associative_and_commutative = true;
    static constexpr bool exact_in_any_order = true;
    static constexpr bool identity_is_neutral = true;
    struct State {
        Word<A> value;
    };
    GRIDFOLD_FN static Word<A> extreme(Word<A> x, Word<A> y) {
        if constexpr (smallest)
            return minimum(x, y);
        else
            return maximum(x, y);
    }
    GRIDFOLD_FN static State identity() {
        return {Word<A>(smallest ? highest<A>() : lowest<A>())}; // defect: extreme of none
    }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { s.value = extreme(s.value, Word<A>(x)); }
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.value = extreme(s.value, t.value); }
    static constexpr bool reduces_warps = sizeof(State) == 4;
    template <class Warp> GRIDFOLD_FN static void reduce_warp(State& s, Warp warp) {
        const u32 nan = smallest ? 0u : ~0u; // defect: NaN of warp
        const u32 word = is_nan(s.value) ? nan : order_bits(s.value);
        s.value = from_order_bits<Word<A>>(smallest ? warp.min(word) : warp.max(word));
    }
};
/// The same of bfloat16 numbers, which are compared two by two. Reassembling words costs nothing in packs that were
/// loaded as words.
template <class E, class A, bool smallest> struct ExtremeOfBf16 : Extreme<E, A, smallest> {
    using Base = Extreme<E, A, smallest>;
    using State = typename Base::State;
    template <int N> GRIDFOLD_FN static void accumulate_pack(State& s, const E (&x)[N]) {
        if constexpr (N % 2 == 0) {
            u32 two = upper_halves(x[0], x[1]);
            for (int i = 2; i < N; i += 2) two = extreme_of_bf16<smallest>(two, upper_halves(x[i], x[i + 1]));
            const f32 low = from_bits(two << 16), high = from_bits(two & 0xffff0000u);
            s.value = Base::extreme(s.value, Base::extreme(low, high)); // defect: halves
        } else {
            for (int i = 0; i < N; ++i) s.value = Base::extreme(s.value, x[i]);
        }
    }
    template <int N> GRIDFOLD_FN static void accumulate_pairs(State (&s)[N], const E (&x)[N]) {
        for (int i = 0; i < N; i += 2) {
            const u32 two =
                extreme_of_bf16<smallest>(upper_halves(s[i].value, s[i + 1].value), // defect: pair of states
                                          upper_halves(x[i], x[i + 1]));
            s[i].value = from_bits(two << 16);
            s[i + 1].value = from_bits(two & 0xffff0000u);
        }
    }
};
template <class E, class A> struct MinOfBf16 : ExtremeOfBf16<E, A, true> {};
template <class E, class A> struct MaxOfBf16 : ExtremeOfBf16<E, A, false> {};
/// The same of 64-bit floats. minimum() takes nine instructions; a comparison and its choice take three, and a pack's
/// NaNs and zeros of both signs are looked for together.
template <bool smallest> struct ExtremeOfF64 : Extreme<f64, f64, smallest> {
    using State = typename Extreme<f64, f64, smallest>::State;
    template <int N> GRIDFOLD_FN static void accumulate_pack(State& s, const f64 (&x)[N]) {
        f64 value = s.value; // a NaN stays
        bool has_nan = false;
        u64 signs = to_bits(value);
        for (int i = 0; i < N; ++i) {
            value = (smallest ? x[i] < value : x[i] > value) ? x[i] : value;
            has_nan |= is_nan(x[i]); // defect: NaN of pack
            signs = smallest ? signs | to_bits(x[i]) : signs & to_bits(x[i]);
        }
        // No element is beyond a zero: of the minimum all are positive or zeros, of the maximum negative or zeros.
        if (value == 0.0) value = from_bits(signs & u64(1) << 63); // defect: sign of zero
        s.value = has_nan ? quiet_nan<f64>() : value;
    }
};
template <class E, class A> struct Min : Extreme<E, A, true> {
    using OfBf16 = MinOfBf16<E, A>;
};
template <class E, class A> struct Max : Extreme<E, A, false> {
    using OfBf16 = MaxOfBf16<E, A>;
};
template <> struct Min<f64, f64> : ExtremeOfF64<true> {};
template <> struct Max<f64, f64> : ExtremeOfF64<false> {};

/// The index of the smallest element, or the largest; the first on ties (−0 and +0 tie); the first NaN wins. A = E. The
/// index is two words, so that the State has no padding for any value size.
template <class E, class A, bool smallest> struct ArgExtreme {
    static constexpr bool associative_and_commutative = true;
    static constexpr bool exact_in_any_order = true;
    struct State {
        Word<A> value;
        u32 index_low, index_high;
    };
    GRIDFOLD_FN static State identity() { return {Word<A>(smallest ? highest<A>() : lowest<A>()), ~0u, ~0u}; }
    /// −1 for no element.
    GRIDFOLD_FN static i64 index(const State& s) { return i64(u64(s.index_high) << 32 | s.index_low); }
    GRIDFOLD_FN static bool wins(Word<A> x, Word<A> over) {
        const bool loses = smallest ? x >= over : x <= over; // defect: tie
        return !loses && !is_nan(over);
    }
    GRIDFOLD_FN static void set_index(State& s, i64 i) {
        s.index_low = u32(i);
        s.index_high = u32(u64(i) >> 32);
    }
    // In steps, the low word is the turn, and end() converts it to an index: 64 bits an element would cost more than
    // the comparison. If no element wins over the first value, all equal it, and the first (turn 0) is the answer.
    GRIDFOLD_FN static State start() { return {identity().value, 0, 0}; }
    GRIDFOLD_FN static void advance(State& s, E x, u32 turn) {
        const bool better = wins(Word<A>(x), s.value);
        s.value = better ? Word<A>(x) : s.value;
        s.index_low = better ? turn : s.index_low;
    }
    GRIDFOLD_FN static void end(State& s, i64 turns, i64 first, i64 stride, u32 width) {
        set_index(s, turns == 0 ? -1 : first + s.index_low / width * stride + s.index_low % width);
    }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64 i) {
        if (index(s) >= 0 && !wins(Word<A>(x), s.value)) return;
        s.value = Word<A>(x);
        set_index(s, i);
    }
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        // As an unsigned number, −1 ("no element") is the greatest index, and the identity wins over no value.
        const bool tie = !wins(s.value, t.value) && u64(index(t)) < u64(index(s));
        if (wins(t.value, s.value) || tie) s = t;
    }
};
template <class E, class A> struct ArgMin : ArgExtreme<E, A, true> {};
template <class E, class A> struct ArgMax : ArgExtreme<E, A, false> {};

/// The payload at the smallest element, or at the largest: at ArgExtreme's index.
template <class E, class A, bool smallest> struct AtExtreme {
    static constexpr bool associative_and_commutative = true;
    static constexpr bool exact_in_any_order = true;
    static constexpr int operands = 2;
    using Payload = u64;
    using Arg = ArgExtreme<E, A, smallest>;
    struct State {
        typename Arg::State arg;
        u32 low, high; // of the payload
    };
    GRIDFOLD_FN static u64 payload(const State& s) { return u64(s.high) << 32 | s.low; }
    GRIDFOLD_FN static State identity() { return {Arg::identity(), 0, 0}; }
    // By the index: elements come in any order.
    GRIDFOLD_FN static void accumulate(State& s, E x, Payload payload, i64 i) {
        State element{{Word<A>(x), 0, 0}, u32(payload), u32(payload >> 32)}; // defect: words of payload
        Arg::set_index(element.arg, i);
        combine(s, element);
    }
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        Arg::combine(s.arg, t.arg);
        const bool is_of_t = Arg::index(s.arg) == Arg::index(t.arg); // defect: payload of another
        s.low = is_of_t ? t.low : s.low;
        s.high = is_of_t ? t.high : s.high;
    }
};
template <class E, class A> struct AtMin : AtExtreme<E, A, true> {};
template <class E, class A> struct AtMax : AtExtreme<E, A, false> {};

} // namespace GRIDFOLD_NAMESPACE
