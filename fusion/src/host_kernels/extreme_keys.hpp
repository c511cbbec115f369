// Extremes of floats in positions, as integers of the same order: an element takes 4 instructions, and 12 as a float,
// with NaN and zeros of both signs.
#pragma once

#include "host_kernels/any_order.hpp"
#include "host_kernels/tree.hpp"

namespace GRIDFOLD_NAMESPACE::kernels {

/// True if one instruction finds the extremes of integers as wide as E.
template <class E> inline constexpr bool has_integer_extremes = vector_bytes >= (sizeof(E) == 8 ? 64 : 32);

/// FoldKeys' type for min and max. Every NaN is the extreme: keys count from the first number after the NaNs of one
/// sign, so that these follow or precede those of the other.
template <bool smallest, class M, class E> struct ExtremeKeys {
    using Key = Unsigned<E>;
    /// The keys of the infinities, and the first key of all, as Ordered's.
    const Key least = Key(Ordered<E>::of(-infinity<E>())), most = Key(Ordered<E>::of(infinity<E>()));
    const Key first = smallest ? Key(most + 1) : least; // defect: first key
    const Key zero = hidden_zero<Key>();

    GRIDFOLD_FN Key of(E x) const {
        return Key(Ordered<E>::reordered(static_cast<typename Ordered<E>::Key>(to_bits(x) ^ zero))) - first;
    }
    GRIDFOLD_FN Key of(typename M::State state) const {
        const auto& [x] = state;
        return of(x);
    }
    GRIDFOLD_FN static Key fold(Key a, Key b) { return (smallest ? b < a : b > a) ? b : a; }
    GRIDFOLD_FN typename M::State state(Key key) const {
        const bool nan = smallest ? key < Key(least - first) : key > Key(most - first);
        const auto bits = Key(Ordered<E>::reordered(static_cast<typename Ordered<E>::Key>(key + first)));
        return {from_bits(nan ? ~Key(0) : bits)};
    }
};
template <class E>
    requires(is_floating<E> && has_integer_extremes<E>)
struct FoldKeys<Min<E, E>, E> {
    using type = ExtremeKeys<true, Min<E, E>, E>;
};
template <class E>
    requires(is_floating<E> && has_integer_extremes<E>)
struct FoldKeys<Max<E, E>, E> {
    using type = ExtremeKeys<false, Max<E, E>, E>;
};

} // namespace GRIDFOLD_NAMESPACE::kernels
