// Folds that any order serves: a call folds its elements into one State, by loops that compilers know as reductions.
#pragma once

#include "folding.hpp"

namespace GRIDFOLD_NAMESPACE::kernels {

/// What a loop folds into. add() takes the elements of up to max_rows rows of a lane.
template <class M, class E> struct Partial {
    typename M::State folded = M::identity();

    template <class... X> [[gnu::always_inline]] void add(X... x) { (M::accumulate(folded, E(x), 0), ...); }
    [[gnu::always_inline]] typename M::State state() const { return folded; }
};

/// Small integers added up: widening each to 64 bits would take most of the time. Of bytes, those of a lane fit 16 bits, and
/// those of a call 32.
template <class State, class E> struct NarrowSum {
    using Rows = typename Choose<sizeof(E) == 1, i16, typename Choose<sizeof(E) == 8, i64, i32>::type>::type;
    static_assert(max_rows * 255 <= 32767 && lane_count * max_rows * 65535 <= 0x7fffffff);
    typename Choose<sizeof(E) == 8, i64, i32>::type sum = 0;

    template <class... X> [[gnu::always_inline]] void add(X... x) { sum += static_cast<Rows>((x + ...)); }
    [[gnu::always_inline]] State state() const {
        State s{};
        auto& [total] = s;
        total = static_cast<decltype(total + 0)>(sum);
        return s;
    }
};
template <class E, class A>
    requires(!is_floating<A> && sizeof(E) <= 2)
struct Partial<Sum<E, A>, E> : NarrowSum<typename Sum<E, A>::State, E> {};
template <class E, class A> struct Partial<Count<E, A>, E> : NarrowSum<typename Count<E, A>::State, E> {
    template <class... X> [[gnu::always_inline]] void add(X... x) {
        NarrowSum<typename Count<E, A>::State, E>::add(int(x != E(0))...);
    }
};

/// Min and max of floats by their bits: three integer minima and maxima an element, each an instruction. Floats of one sign
/// order as their bits do, or the other way round; NaN lies beyond infinity on either side.
template <bool smallest, class M, class E> struct Extreme {
    using Bits = Unsigned<E>;
    using Signed = typename Choose<sizeof(E) == 8, i64, i32>::type;
    static constexpr Bits sign = Bits(1) << (8 * sizeof(E) - 1);

    // Of the bits: the largest as unsigned and as signed; and the smallest, of min as unsigned, of max as signed.
    using Low = typename Choose<smallest, Bits, Signed>::type;
    Bits high = 0;
    Signed most = Signed(sign);
    Low low = Low(smallest ? ~Bits(0) : sign - 1);

    template <class... X> [[gnu::always_inline]] void add(X... x) { (add_one(x), ...); }
    [[gnu::always_inline]] void add_one(E x) {
        const Bits bits = to_bits(x);
        high = bits < high ? high : bits;
        most = Signed(bits) < most ? most : Signed(bits);
        low = Low(bits) < low ? Low(bits) : low;
    }
    /// A NaN if there was any.
    [[gnu::always_inline]] typename M::State state() const {
        const Bits infinite = to_bits(infinity<E>());
        const bool nan = most > Signed(infinite) || high > (sign | infinite);
        const Bits negative = smallest ? high : Bits(low), positive = smallest ? Bits(low) : Bits(most);
        const bool is_negative = smallest ? Signed(high) < 0 : most < 0;
        return {from_bits(nan ? ~Bits(0) : is_negative ? negative : positive)};
    }
};
template <class E, class A>
    requires is_floating<E>
struct Partial<Min<E, A>, E> : Extreme<true, Min<E, A>, E> {};
template <class E, class A>
    requires is_floating<E>
struct Partial<Max<E, A>, E> : Extreme<false, Max<E, A>, E> {};

template <class M, class E> struct AnyOrder {
    /// The element that changes no State: what an identity holds.
    static constexpr E neutral() {
        auto s = M::identity();
        auto& [value] = s;
        return E(value);
    }
    [[gnu::always_inline]] static E accepted(E x, bool accept) {
        if constexpr (is_floating<E>)
            return choose(accept, x, neutral());
        else if constexpr (sizeof(E) == 8)
            return E((u64(x) & (u64(0) - accept)) | (u64(neutral()) & ~(u64(0) - accept)));
        else
            return E((int(x) & -int(accept)) | (int(neutral()) & ~-int(accept)));
    }

    template <bool masked, class Source, std::size_t... r>
    static void fold_rows(typename M::State& s, const FoldInput& in, std::size_t first_row, Rows<r...>) {
        const Source x[] = {Source(in, first_row + r)...};
        const Elements<bool> mask[] = {mask_row(in, first_row + r)...};
        const std::size_t n = in.n;
        Partial<M, E> partial;
        for (std::size_t i = 0; i < n; ++i) partial.add(accepted(x[r][i], !masked || mask[r][i])...);
        M::combine(s, partial.state());
    }

    template <bool masked, class Source> static void fold_all(typename M::State& s, const FoldInput& in) {
        if (in.rows == max_rows) return fold_rows<masked, Source>(s, in, 0, AllRows());
        std::size_t row = 0;
        for (; row + 2 <= in.rows; row += 2) fold_rows<masked, Source>(s, in, row, TwoRows());
        if (row < in.rows) fold_rows<masked, Source>(s, in, row, OneRow());
    }

    template <class Source> static void fold(void* state, const FoldInput& in) {
        auto& s = *static_cast<typename M::State*>(state);
        if (in.mask != nullptr)
            fold_all<true, Source>(s, in);
        else
            fold_all<false, Source>(s, in);
    }
};

} // namespace GRIDFOLD_NAMESPACE::kernels
