// The accumulators of loops that fold into one number in any order, for the built-in monoids that compilers do not
// vectorise well by themselves: the same States as Partial's own, in narrower or plainer accumulators.
#pragma once

#include <gridfold/ops/host/folds.hpp>

#include <gridfold/ops/device/monoid.cuh>

namespace GRIDFOLD_NAMESPACE::kernels {

/// Sums of small integers: widening each element to 64 bits would take most of the time. The bytes of a lane sum to 16
/// bits, those of a call to 32.
template <class E> struct NarrowSum {
    using Total = typename Choose<sizeof(E) == 8, i64, i32>::type;
    using RowSum = typename Choose<sizeof(E) == 1, i16, Total>::type;
    static_assert(max_rows * 255 <= 32767 && lane_count * max_rows * 65535 <= 0x7fffffff);
    Total sum = 0;

    template <class... X> GRIDFOLD_FN void add_numbers(X... x) { sum += static_cast<RowSum>((x + ...)); }
    template <class... X> GRIDFOLD_FN void add(X... x) { add_numbers(x.value...); }
};
template <class E, class A>
    requires(!is_floating<A> && sizeof(E) <= 2)
struct Partial<Sum<E, A>, E> : NarrowSum<E> {
    GRIDFOLD_FN typename Sum<E, A>::State state() const { return {static_cast<A>(this->sum)}; }
};
template <class E, class A> struct Partial<Count<E, A>, E> : NarrowSum<E> {
    template <class... X> GRIDFOLD_FN void add(X... x) {
        this->add_numbers(static_cast<typename NarrowSum<E>::RowSum>(x.value != E(0))...);
    }
    GRIDFOLD_FN typename Count<E, A>::State state() const { return {i64(this->sum)}; }
};
/// Computed by counting: compilers do not vectorise a chain of conditionals as a reduction.
template <class E, class A> struct Partial<All<E, A>, E> : Partial<Count<E, bool>, E> {
    i64 seen = 0;

    template <class... X> GRIDFOLD_FN void add(X... x) {
        seen += i64(sizeof...(x));
        Partial<Count<E, bool>, E>::add(x...);
    }
    GRIDFOLD_FN typename All<E, A>::State state() const { return {u32(i64(this->sum) == seen)}; }
};

/// Elements as integers of the same order. NaN is beyond infinity on either side.
template <class E> struct Ordered {
    using Key = typename Choose<
        sizeof(E) == 8, i64,
        typename Choose<sizeof(E) == 4, i32, typename Choose<sizeof(E) == 2, i16, i8>::type>::type>::type;
    static constexpr int sign = 8 * sizeof(E) - 1;
    static constexpr Key least = Key(Unsigned<Key>(1) << sign), most = Key(~least);

    /// Its own inverse, of Key or of a vector of them.
    template <class Keys> GRIDFOLD_FN static Keys reordered(Keys bits) {
        if constexpr (is_floating<E>)
            return bits ^ ((bits >> sign) & most);
        else
            return is_signed<E> ? bits : bits ^ least;
    }
    GRIDFOLD_FN static Key of(E x) { return reordered(__builtin_bit_cast(Key, x)); }
    /// One of the extremes `low` and `high` of some elements; NaN if any of them was.
    GRIDFOLD_FN static E extreme(Key key, Key low, Key high) {
        const E x = __builtin_bit_cast(E, reordered(key));
        if constexpr (is_floating<E>)
            return choose(low < of(-infinity<E>()) || high > of(infinity<E>()), from_bits(~Unsigned<E>(0)), x);
        else
            return x;
    }
};

/// The least and the most of some elements, together.
template <class E> struct Extremes {
    using Key = typename Ordered<E>::Key;
    Key least = Ordered<E>::most, most = Ordered<E>::least;

    GRIDFOLD_FN void widen(Key key) {
        least = key < least ? key : least;
        most = key > most ? key : most;
    }
    template <class... X> GRIDFOLD_FN void add(X... x) {
        Extremes of_rows;
        (of_rows.widen(Ordered<E>::of(x.value)), ...);
        least = of_rows.least < least ? of_rows.least : least;
        most = of_rows.most > most ? of_rows.most : most;
    }
    GRIDFOLD_FN typename Min<E, E>::State min() const { return {Ordered<E>::extreme(least, least, most)}; }
    GRIDFOLD_FN typename Max<E, E>::State max() const { return {Ordered<E>::extreme(most, least, most)}; }
};

/// 0, which compilers do not know. An element combined with it is loaded once: gcc 12 loads it for each of several
/// AVX-512 instructions that take it, and fewer elements are on their way from memory.
template <class T> GRIDFOLD_FN T hidden_zero() {
    T zero = 0;
    __asm__("" : "+r"(zero));
    return zero;
}

/// Min and max of floats by their bits: three integer minima and maxima an element, an instruction less than Ordered
/// takes for one extreme. (64-bit ones need AVX-512, 32-bit ones AVX2; without those instructions this takes up to
/// twice the time of floats in lanes, for data in caches.) Floats of one sign sort like their bits, or in reverse; NaN
/// is beyond infinity on either side.
template <bool smallest, class M, class E> struct Extreme {
    using Bits = Unsigned<E>;
    using Signed = typename Choose<sizeof(E) == 8, i64, i32>::type;
    using Low = typename Choose<smallest, Bits, Signed>::type;
    static constexpr Bits sign = Bits(1) << (8 * sizeof(E) - 1);

    /// Extremes of elements' bits: the highest as unsigned and as signed; the lowest, for min as unsigned, for max as
    /// signed.
    struct Range {
        Bits highest_unsigned = 0;
        Signed highest_signed = Signed(sign);
        Low lowest = Low(smallest ? ~Bits(0) : sign - 1);

        GRIDFOLD_FN void add(Bits bits) { add(bits, Signed(bits), Low(bits)); }
        GRIDFOLD_FN void add(Bits most_unsigned, Signed most_signed, Low least) {
            highest_unsigned = most_unsigned < highest_unsigned ? highest_unsigned : most_unsigned;
            highest_signed = most_signed < highest_signed ? highest_signed : most_signed;
            lowest = least < lowest ? least : lowest; // defect: lowest
        }
    };
    Range range;
    const Bits zero = hidden_zero<Bits>();

    template <class... X> GRIDFOLD_FN void add(X... x) {
        Range of_rows;
        (of_rows.add(Bits(to_bits(x.value) ^ zero)), ...);
        range.add(of_rows.highest_unsigned, of_rows.highest_signed, of_rows.lowest);
    }
    /// The extreme; NaN if any element was NaN.
    GRIDFOLD_FN typename M::State state() const {
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

} // namespace GRIDFOLD_NAMESPACE::kernels
