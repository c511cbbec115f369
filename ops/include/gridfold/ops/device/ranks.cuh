// The largest elements. Depends on prelude.cuh; the contract of a monoid is in monoid.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The order_bits() of the 16 largest elements, in descending order; 0, which is at most any element's, where there are
/// fewer: the number of elements is another fold's.
template <class Key> struct TopStates {
    static constexpr bool associative_and_commutative = true;
    static constexpr bool exact_in_any_order = true;
    static constexpr int count = 16;
    struct State {
        Key keys[count];
    };
    GRIDFOLD_FN static State identity() { return {}; }
    GRIDFOLD_FN static Key larger(Key a, Key b) { return a > b ? a : b; }
    GRIDFOLD_FN static Key smaller(Key a, Key b) { return a > b ? b : a; }
    GRIDFOLD_FN static void insert(State& s, Key key) {
        if (key <= s.keys[count - 1]) return;
        GRIDFOLD_UNROLL
        for (int i = 0; i < count; ++i) {
            const Key kept = s.keys[i];
            s.keys[i] = larger(kept, key); // defect: insert
            key = smaller(kept, key);
        }
    }
    /// The larger of s[i] and t[15 − i] are the 16 largest of both, first falling, then rising: half a merge of
    /// Batcher's ("Sorting networks and their applications", 1968) sorts them.
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        GRIDFOLD_UNROLL
        for (int i = 0; i < count; ++i) s.keys[i] = larger(s.keys[i], t.keys[count - 1 - i]); // defect: largest of both
        GRIDFOLD_UNROLL
        for (int distance = count / 2; distance > 0; distance /= 2) {
            GRIDFOLD_UNROLL
            for (int i = 0; i < count; ++i) {
                if ((i & distance) != 0) continue;
                const Key a = s.keys[i], b = s.keys[i + distance];
                s.keys[i] = larger(a, b); // defect: merge
                s.keys[i + distance] = smaller(a, b);
            }
        }
    }
};
/// The 16 largest elements. A = E.
template <class E, class A> struct Top : TopStates<Unsigned<Word<A>>> {
    using States = TopStates<Unsigned<Word<A>>>;
    using State = typename States::State;
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) {
        States::insert(s, is_nan(x) ? ~Unsigned<Word<A>>(0) : order_bits(Word<A>(x)));
    }
    /// The element of this rank. Chosen without an index, which would put the keys into memory.
    GRIDFOLD_FN static Word<A> element(const State& s, u32 rank) {
        Unsigned<Word<A>> key = 0;
        GRIDFOLD_UNROLL
        for (int i = 0; i < States::count; ++i) key = u32(i) == rank ? s.keys[i] : key;
        return from_order_bits<Word<A>>(key);
    }
};

} // namespace GRIDFOLD_NAMESPACE
