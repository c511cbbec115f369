// Folds that any order serves: a call folds its elements into one State, by loops that compilers know as reductions:
// each accumulator is touched once an iteration, whatever the rows.
#pragma once

#include "host_kernels/folding.hpp"

namespace GRIDFOLD_NAMESPACE::kernels {

/// What a loop folds into. add() takes a lane's elements of up to max_rows rows; state() is asked for after one at
/// least.
template <class M, class E> struct Partial {
    typename M::State folded = M::identity();

    template <class... X> [[gnu::always_inline]] void add(X... x) {
        typename M::State of_rows = M::identity();
        (M::accumulate(of_rows, x, 0), ...);
        M::combine(folded, of_rows);
    }
    [[gnu::always_inline]] typename M::State state() const { return folded; }
};

/// Small integers added up: widening each to 64 bits would take most of the time. Of bytes, those of a lane fit 16
/// bits, and those of a call 32.
template <class E> struct NarrowSum {
    using Total = typename Choose<sizeof(E) == 8, i64, i32>::type;
    using RowSum = typename Choose<sizeof(E) == 1, i16, Total>::type;
    static_assert(max_rows * 255 <= 32767 && lane_count * max_rows * 65535 <= 0x7fffffff);
    Total sum = 0;

    template <class... X> [[gnu::always_inline]] void add(X... x) { sum += static_cast<RowSum>((x + ...)); }
};
template <class E, class A>
    requires(!is_floating<A> && sizeof(E) <= 2)
struct Partial<Sum<E, A>, E> : NarrowSum<E> {
    [[gnu::always_inline]] typename Sum<E, A>::State state() const { return {static_cast<A>(this->sum)}; }
};
template <class E, class A> struct Partial<Count<E, A>, E> : NarrowSum<E> {
    template <class... X> [[gnu::always_inline]] void add(X... x) {
        NarrowSum<E>::add(static_cast<typename NarrowSum<E>::RowSum>(x != E(0))...);
    }
    [[gnu::always_inline]] typename Count<E, A>::State state() const { return {i64(this->sum)}; }
};
/// By their count: a chain of conditionals is no reduction to compilers.
template <class E, class A> struct Partial<All<E, A>, E> : Partial<Count<E, bool>, E> {
    i64 seen = 0;

    template <class... X> [[gnu::always_inline]] void add(X... x) {
        seen += i64(sizeof...(x));
        Partial<Count<E, bool>, E>::add(x...);
    }
    [[gnu::always_inline]] typename All<E, A>::State state() const { return {u32(i64(this->sum) == seen)}; }
};

/// Min and max of floats by their bits: three integer minima and maxima an element. (Before AVX-512 there are no
/// instructions for those of 64 bits, nor before AVX2 for those of 32: up to twice the time of floats in lanes, where
/// nothing waits for memory.) Floats of one sign order as their bits do, or the other way round; NaN lies beyond
/// infinity on either side.
template <bool smallest, class M, class E> struct Extreme {
    using Bits = Unsigned<E>;
    using Signed = typename Choose<sizeof(E) == 8, i64, i32>::type;
    using Low = typename Choose<smallest, Bits, Signed>::type;
    static constexpr Bits sign = Bits(1) << (8 * sizeof(E) - 1);

    /// Of the bits of some elements: the highest as unsigned and as signed; the lowest, of min as unsigned, of max as
    /// signed.
    struct Range {
        Bits highest_unsigned = 0;
        Signed highest_signed = Signed(sign);
        Low lowest = Low(smallest ? ~Bits(0) : sign - 1);

        [[gnu::always_inline]] void add(Bits most_unsigned, Signed most_signed, Low least) {
            highest_unsigned = most_unsigned < highest_unsigned ? highest_unsigned : most_unsigned;
            highest_signed = most_signed < highest_signed ? highest_signed : most_signed;
            lowest = least < lowest ? least : lowest;
        }
    };
    Range range;

    template <class... X> [[gnu::always_inline]] void add(X... x) {
        Range of_rows;
        (of_rows.add(to_bits(x), Signed(to_bits(x)), Low(to_bits(x))), ...);
        range.add(of_rows.highest_unsigned, of_rows.highest_signed, of_rows.lowest);
    }
    /// A NaN if there was any.
    [[gnu::always_inline]] typename M::State state() const {
        const Bits infinite = to_bits(infinity<E>()), high = range.highest_unsigned, low = Bits(range.lowest);
        const Signed most = range.highest_signed;
        const bool nan = most > Signed(infinite) || high > (sign | infinite);
        const bool is_negative = smallest ? Signed(high) < 0 : most < 0;
        const Bits negative = smallest ? high : low, positive = smallest ? low : Bits(most);
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
