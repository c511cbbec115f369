// The monoids behind the reductions: State, identity, accumulate, combine and what is read off the end. Compiled by the
// host compiler for the CPU backend and by NVRTC for generated kernels.
//
// E is the element type (bool, i8 … u64, f32, f64), A the accumulator type. accumulate sees the elements of one lane in
// increasing index order; combine(s, t) gets s from before t. A State is trivially copyable, whole 32-bit words without
// padding, at most 64 of them. Depends on prelude.cuh alone.
//
// A monoid may also offer accumulate in three steps, for lanes that no mask interrupts. start() is what a lane begins
// with; advance(s, x, row) takes each element in turn, row counting from 0 (a lane has fewer than 2^32 elements);
// end(s, rows, index, stride, width) says how many they were, perhaps none, the index of the first, and how they stood:
// `width` side by side, then the next `stride` further on.
//
// Or the lanes of a block that no mask interrupts share something of its first element, and keep less than a State:
// OfBlock, a monoid itself. origin(x) is what they share; OfBlock::accumulate(s, x, origin) takes an element; close(s,
// origin, elements) is the State of all their elements: the same, of finite sums, as if each lane had closed and
// combined.
//
// One that is exact in any order may also offer
//   accumulate_pack(s, x)  N elements at once, in any order
//   reduce_warp(s, warp)   makes s of every lane the combination of all lanes', with the Warp of warp.cuh, where
//                          `reduces_warps` is true
//
// Each definition starts with `template <` and ends with `};`, both alone at the start of a line, and needs no other:
// a generated kernel holds the text of those that it uses (monoid_source).
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// Sum, in A.
template <class E, class A> struct Sum {
    static constexpr bool associative_and_commutative = true;
    struct State {
        A sum;
    };
    GRIDFOLD_FN static State identity() { return {A(0)}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { s.sum = add(s.sum, convert<A>(x)); }
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.sum = add(s.sum, t.sum); }
    /// Of elements of 16 bits and less the sum of a pack fits into 32. Where a pack was loaded as words, putting them
    /// together again costs nothing.
    template <int N> GRIDFOLD_FN static void accumulate_pack(State& s, const E (&x)[N]) {
        using Narrow = typename Choose<(sizeof(E) > 2), A, typename Choose<is_signed<E>, i32, u32>::type>::type;
        Narrow sum = 0;
        if constexpr (sizeof(E) == 1 && N % 4 == 0)
            for (int i = 0; i < N; i += 4)
                sum = add_bytes(u8(x[i]) | u32(u8(x[i + 1])) << 8 | u32(u8(x[i + 2])) << 16 | u32(u8(x[i + 3])) << 24,
                                sum);
        else if constexpr (sizeof(E) == 2 && N % 2 == 0)
            for (int i = 0; i < N; i += 2) sum = add_halves(u16(x[i]) | u32(u16(x[i + 1])) << 16, sum);
        else
            for (int i = 0; i < N; ++i) sum = add(sum, convert<Narrow>(x[i]));
        s.sum = add(s.sum, convert<A>(sum));
    }
    static constexpr bool reduces_warps = sizeof(A) == 8 && !is_floating<A>;
    template <class Warp> GRIDFOLD_FN static void reduce_warp(State& s, Warp warp) {
        s.sum = A(warp.sum(Unsigned<A>(s.sum)));
    }
};

/// Product, in A.
template <class E, class A> struct Product {
    static constexpr bool associative_and_commutative = true;
    struct State {
        A product;
    };
    GRIDFOLD_FN static State identity() { return {A(1)}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { s.product = mul(s.product, convert<A>(x)); }
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.product = mul(s.product, t.product); }
};

/// Sum of squares, in A.
template <class E, class A> struct SumOfSquares {
    static constexpr bool associative_and_commutative = true;
    struct State {
        A sum;
    };
    GRIDFOLD_FN static State identity() { return {A(0)}; }
    GRIDFOLD_FN static void accumulate(State& s, E element, i64) {
        const A x = convert<A>(element);
        s.sum = add(s.sum, mul(x, x));
    }
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.sum = add(s.sum, t.sum); }
    static constexpr bool reduces_warps = sizeof(A) == 8 && !is_floating<A>;
    template <class Warp> GRIDFOLD_FN static void reduce_warp(State& s, Warp warp) {
        s.sum = A(warp.sum(Unsigned<A>(s.sum)));
    }
};

/// The smallest element; NaN if any is NaN; −0 < +0. A = E.
template <class E, class A> struct Min {
    static constexpr bool associative_and_commutative = true;
    struct State {
        Word<A> value;
    };
    GRIDFOLD_FN static State identity() { return {Word<A>(highest<A>())}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { s.value = minimum(s.value, Word<A>(x)); }
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.value = minimum(s.value, t.value); }
    static constexpr bool reduces_warps = sizeof(State) == 4;
    template <class Warp> GRIDFOLD_FN static void reduce_warp(State& s, Warp warp) {
        const u32 word = is_nan(s.value) ? 0u : order_word(s.value);
        s.value = from_order_word<Word<A>>(warp.min(word));
    }
};

/// The largest element; NaN if any is NaN; −0 < +0. A = E.
template <class E, class A> struct Max {
    static constexpr bool associative_and_commutative = true;
    struct State {
        Word<A> value;
    };
    GRIDFOLD_FN static State identity() { return {Word<A>(lowest<A>())}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { s.value = maximum(s.value, Word<A>(x)); }
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.value = maximum(s.value, t.value); }
    static constexpr bool reduces_warps = sizeof(State) == 4;
    template <class Warp> GRIDFOLD_FN static void reduce_warp(State& s, Warp warp) {
        const u32 word = is_nan(s.value) ? ~0u : order_word(s.value);
        s.value = from_order_word<Word<A>>(warp.max(word));
    }
};

/// The index of the smallest element, the first on ties (−0 and +0 tie); the first NaN wins. A = E. The index is held
/// as two words, so that no value's size leaves padding.
template <class E, class A> struct ArgMin {
    static constexpr bool associative_and_commutative = true;
    struct State {
        Word<A> value;
        u32 index_low, index_high;
    };
    GRIDFOLD_FN static State identity() { return {Word<A>(highest<A>()), ~0u, ~0u}; }
    /// −1 if there was no element.
    GRIDFOLD_FN static i64 index(const State& s) { return i64(u64(s.index_high) << 32 | s.index_low); }
    GRIDFOLD_FN static bool wins(Word<A> x, Word<A> over) { return !(x >= over) && !is_nan(over); }
    GRIDFOLD_FN static void set_index(State& s, i64 i) {
        s.index_low = u32(i);
        s.index_high = u32(u64(i) >> 32);
    }
    // In steps, the low word counts elements, and end() makes it an index: 64 bits an element would cost more than the
    // comparison. Where nothing wins over the value to begin with, every element is it.
    GRIDFOLD_FN static State start() { return {identity().value, 0, 0}; }
    GRIDFOLD_FN static void advance(State& s, E x, u32 row) {
        const bool better = wins(Word<A>(x), s.value);
        s.value = better ? Word<A>(x) : s.value;
        s.index_low = better ? row : s.index_low;
    }
    GRIDFOLD_FN static void end(State& s, i64 rows, i64 first, i64 stride, u32 width) {
        set_index(s, rows == 0 ? -1 : first + s.index_low / width * stride + s.index_low % width);
    }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64 i) {
        if (index(s) >= 0 && !wins(Word<A>(x), s.value)) return;
        s.value = Word<A>(x);
        set_index(s, i);
    }
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        // As unsigned numbers, "no element" is the last of all indices, and its value wins over none.
        const bool tie = !wins(s.value, t.value) && u64(index(t)) < u64(index(s));
        if (wins(t.value, s.value) || tie) s = t;
    }
};

/// The index of the largest element, the first on ties (−0 and +0 tie); the first NaN wins. A = E. The index is held
/// as two words, so that no value's size leaves padding.
template <class E, class A> struct ArgMax {
    static constexpr bool associative_and_commutative = true;
    struct State {
        Word<A> value;
        u32 index_low, index_high;
    };
    GRIDFOLD_FN static State identity() { return {Word<A>(lowest<A>()), ~0u, ~0u}; }
    /// −1 if there was no element.
    GRIDFOLD_FN static i64 index(const State& s) { return i64(u64(s.index_high) << 32 | s.index_low); }
    GRIDFOLD_FN static bool wins(Word<A> x, Word<A> over) { return !(x <= over) && !is_nan(over); }
    GRIDFOLD_FN static void set_index(State& s, i64 i) {
        s.index_low = u32(i);
        s.index_high = u32(u64(i) >> 32);
    }
    // In steps, the low word counts elements, and end() makes it an index: 64 bits an element would cost more than the
    // comparison. Where nothing wins over the value to begin with, every element is it.
    GRIDFOLD_FN static State start() { return {identity().value, 0, 0}; }
    GRIDFOLD_FN static void advance(State& s, E x, u32 row) {
        const bool better = wins(Word<A>(x), s.value);
        s.value = better ? Word<A>(x) : s.value;
        s.index_low = better ? row : s.index_low;
    }
    GRIDFOLD_FN static void end(State& s, i64 rows, i64 first, i64 stride, u32 width) {
        set_index(s, rows == 0 ? -1 : first + s.index_low / width * stride + s.index_low % width);
    }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64 i) {
        if (index(s) >= 0 && !wins(Word<A>(x), s.value)) return;
        s.value = Word<A>(x);
        set_index(s, i);
    }
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        // As unsigned numbers, "no element" is the last of all indices, and its value wins over none.
        const bool tie = !wins(s.value, t.value) && u64(index(t)) < u64(index(s));
        if (wins(t.value, s.value) || tie) s = t;
    }
};

/// Is any element not 0? NaN is not 0.
template <class E, class A> struct Any {
    static constexpr bool associative_and_commutative = true;
    struct State {
        u32 any;
    };
    GRIDFOLD_FN static State identity() { return {0}; }
    /// Not 0 exactly where x is not 0: OR-ing such words is cheaper than comparing every element.
    GRIDFOLD_FN static u32 truth(E x) {
        if constexpr (sizeof(E) == 4 && is_floating<E>)
            return to_bits(x) & 0x7fffffffu;
        else
            return u32(x != E(0));
    }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { s.any |= truth(x); }
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.any |= t.any; }
    static constexpr bool reduces_warps = true;
    template <class Warp> GRIDFOLD_FN static void reduce_warp(State& s, Warp warp) { s.any = warp.bit_or(s.any); }
};

/// Are all elements not 0? NaN is not 0.
template <class E, class A> struct All {
    static constexpr bool associative_and_commutative = true;
    struct State {
        u32 all;
    };
    GRIDFOLD_FN static State identity() { return {1}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { s.all = x == E(0) ? 0u : s.all; }
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.all &= t.all; }
    static constexpr bool reduces_warps = true;
    template <class Warp> GRIDFOLD_FN static void reduce_warp(State& s, Warp warp) { s.all = warp.bit_and(s.all); }
};

/// How many elements are not 0. NaN is not 0.
template <class E, class A> struct Count {
    static constexpr bool associative_and_commutative = true;
    struct State {
        i64 count;
    };
    GRIDFOLD_FN static State identity() { return {0}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { s.count += i64(x != E(0)); }
    GRIDFOLD_FN static State start() { return identity(); }
    GRIDFOLD_FN static void advance(State& s, E x, u32) { s.count = i64(u32(s.count) + u32(x != E(0))); }
    GRIDFOLD_FN static void end(State&, i64, i64, i64, u32) {}
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.count += t.count; }
    static constexpr bool reduces_warps = true;
    template <class Warp> GRIDFOLD_FN static void reduce_warp(State& s, Warp warp) {
        // The sum of 32 numbers of so many bits fits into a word; so does that of the rest of what counts there are.
        constexpr int low_bits = 27;
        s.count = i64(warp.sum(u32(s.count) & ((1u << low_bits) - 1)) +
                      (u64(warp.sum(u32(s.count >> low_bits))) << low_bits));
    }
};

/// Count, mean and summed squared distance from the mean, in f64, without E[x²] − E[x]².
///
/// Sums of d and d² about an origin, one of the elements (or 0 instead of a huge one, an infinity or NaN): one pass,
/// and no division until the end. The lanes of a block share its first element, so their sums just add up; a masked
/// lane's origin is its own first. combine() moves one side to the other's origin, whichever leaves the smaller sum of
/// squares: an outlier does not stay the origin of many others. About an element, that sum is at most n + 1 times the
/// one about the mean, and in practice a few times: so many of f64's digits cancel. A mean loses what lies below the
/// last digit of its origin.
template <class E, class A> struct Moments {
    static constexpr bool associative_and_commutative = true;
    struct State {
        f64 count;
        f64 origin;
        f64 sum;     // of x − origin
        f64 squares; // of (x − origin)²
    };
    GRIDFOLD_FN static State identity() { return {0.0, 0.0, 0.0, 0.0}; }
    /// Not so large that the way from it, times a count, might be infinite.
    GRIDFOLD_FN static f64 origin(E element) {
        const f64 x = convert<f64>(element);
        return abs(x) < 0x1p1000 ? x : 0.0;
    }
    struct OfBlock {
        static constexpr bool associative_and_commutative = true;
        struct State {
            f64 sum;
            f64 squares;
        };
        GRIDFOLD_FN static State identity() { return {0.0, 0.0}; }
        GRIDFOLD_FN static void accumulate(State& s, E element, f64 origin) {
            const f64 d = convert<f64>(element) - origin;
            s = {s.sum + d, s.squares + d * d};
        }
        GRIDFOLD_FN static void combine(State& s, const State& t) { s = {s.sum + t.sum, s.squares + t.squares}; }
    };
    GRIDFOLD_FN static State close(const typename OfBlock::State& s, f64 origin, i64 elements) {
        return {f64(elements), origin, s.sum, s.squares};
    }
    GRIDFOLD_FN static void accumulate(State& s, E element, i64) {
        if (s.count == 0.0) s.origin = origin(element);
        typename OfBlock::State sums{s.sum, s.squares};
        OfBlock::accumulate(sums, element, s.origin);
        s = {s.count + 1.0, s.origin, sums.sum, sums.squares};
    }
    // Without branches: they would be most of its time, on a GPU as on a CPU.
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        const f64 way = t.origin - s.origin, s_way = s.count * way, t_way = t.count * way;
        const f64 squares_about_s = s.squares + (t.squares + 2.0 * way * (t.sum + 0.5 * t_way));
        const f64 squares_about_t = t.squares + (s.squares - 2.0 * way * (s.sum - 0.5 * s_way));
        const bool about_t = s.count == 0.0 || (t.count != 0.0 && squares_about_t < squares_about_s);
        s = {s.count + t.count, about_t ? t.origin : s.origin,
             about_t ? t.sum + (s.sum - s_way) : s.sum + (t.sum + t_way), about_t ? squares_about_t : squares_about_s};
    }
    GRIDFOLD_FN static f64 mean(const State& s) { return s.origin + s.sum / s.count; }
    GRIDFOLD_FN static f64 variance(const State& s, f64 ddof) {
        const bool is_infinite =
            s.squares == infinity<f64>() && is_finite(s.sum); // and would be less something infinite
        const f64 squares = is_infinite ? s.squares : s.squares - s.sum * (s.sum / s.count), divisor = s.count - ddof;
        return divisor > 0.0 ? (squares > 0.0 || squares != squares ? squares : 0.0) / divisor : quiet_nan<f64>();
    }
};

/// The logarithm of a sum of exponentials, in A (floating): the largest element so far, and the sum of the exponentials
/// of what the others lie below it. Nothing yet: (−∞, 0). A NaN lives on in the sum.
template <class E, class A> struct LogSumExp {
    static constexpr bool associative_and_commutative = true;
    struct State {
        A largest;
        A sum;
    };
    GRIDFOLD_FN static State identity() { return {-infinity<A>(), A(0)}; }
    /// e^(x − from), where infinities of one sign cancel.
    GRIDFOLD_FN static A exp_below(A x, A from) { return x == from ? A(1) : exp(x - from); }
    GRIDFOLD_FN static void accumulate(State& s, E element, i64) {
        const A x = convert<A>(element);
        if (x > s.largest)
            s = {x, s.sum * exp_below(s.largest, x) + A(1)};
        else
            s.sum = s.sum + exp_below(x, s.largest);
    }
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        const A largest = s.largest > t.largest ? s.largest : t.largest;
        s = {largest, s.sum * exp_below(s.largest, largest) + t.sum * exp_below(t.largest, largest)};
    }
    /// −∞ for nothing.
    GRIDFOLD_FN static A value(const State& s) { return s.largest + log(s.sum); }
};

} // namespace GRIDFOLD_NAMESPACE
