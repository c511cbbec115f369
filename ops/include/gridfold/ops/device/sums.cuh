// Sums, sums of squares and products. Depends on prelude.cuh; the contract of a monoid is in monoid.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The base of sums: a State of one A, and its addition. Nothing is added to a lane's first element: −0 + x = x, which
/// compilers know. A sum of zeros is +0, whatever their signs: value() adds +0.
template <class A> struct Total {
    static constexpr bool associative_and_commutative = true;
    static constexpr bool exact_in_any_order = !is_floating<A>; // defect: exact
    static constexpr bool identity_is_neutral = true;
    struct State {
        A sum;
    };
    static constexpr bool symmetric = true;
    GRIDFOLD_FN static State identity() { return {A(-0.0)}; }
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.sum = add(s.sum, t.sum); }
    GRIDFOLD_FN static A value(const State& s) { return add(s.sum, A(0)); } // defect: zero of sum
    static constexpr bool reduces_warps = sizeof(A) == 8 && !is_floating<A>;
    template <class Warp> GRIDFOLD_FN static void reduce_warp(State& s, Warp warp) {
        s.sum = A(warp.sum(Unsigned<A>(s.sum)));
    }
};

/// Sum, in A.
template <class E, class A> struct Sum : Total<A> {
    using States = Total<A>;
    static constexpr bool takes_products = sizeof(E) >= 4;
    using State = typename Total<A>::State;
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { s.sum = add(s.sum, convert<A>(x)); }
    /// The sum of a pack of elements of at most 16 bits fits into 32. Reassembling words costs nothing in packs that
    /// were loaded as words.
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
};

/// Sum of squares, in A.
template <class E, class A> struct SumOfSquares : Total<A> {
    using States = Total<A>;
    using State = typename Total<A>::State;
    GRIDFOLD_FN static void accumulate(State& s, E element, i64) {
        const A x = convert<A>(element);
        s.sum = add(s.sum, mul(x, x)); // defect: square
    }
};

template <class A> struct ProductStates {
    static constexpr bool associative_and_commutative = true;
    static constexpr bool exact_in_any_order = !is_floating<A>;
    static constexpr bool identity_is_neutral = true;
    static constexpr bool symmetric = true;
    struct State {
        A product;
    };
    GRIDFOLD_FN static State identity() { return {A(1)}; } // defect: product of none
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.product = mul(s.product, t.product); }
};
/// Product, in A.
template <class E, class A> struct Product : ProductStates<A> {
    using States = ProductStates<A>;
    using State = typename States::State;
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { s.product = mul(s.product, convert<A>(x)); }
};

} // namespace GRIDFOLD_NAMESPACE
