// What the kernels that fold have in common: planar lanes, sources of elements, and which monoids take which way.
#pragma once

#include "host_kernels/accumulator_types.hpp"

#include <gridfold/core/device/fold.cuh>
#include <gridfold/ops/device/monoid.cuh>

namespace GRIDFOLD_NAMESPACE::kernels {

/// Calls f(field of s, field of t, bytes before it) for each field of a State, in order. States are aggregates of 1 to
/// 4 scalars.
struct AnyScalar {
    template <class T> operator T() const;
};
template <class State, class F> [[gnu::always_inline]] inline void for_fields(State& s, State& t, F f) {
    constexpr AnyScalar any{};
    if constexpr (requires { State{any, any, any, any}; }) {
        auto& [a, b, c, d] = s;
        auto& [w, x, y, z] = t;
        static_assert(sizeof a + sizeof b + sizeof c + sizeof d == sizeof s, "a State has no padding");
        f(a, w, 0), f(b, x, sizeof a), f(c, y, sizeof a + sizeof b), f(d, z, sizeof a + sizeof b + sizeof c);
    } else if constexpr (requires { State{any, any, any}; }) {
        auto& [a, b, c] = s;
        auto& [w, x, y] = t;
        static_assert(sizeof a + sizeof b + sizeof c == sizeof s, "a State has no padding");
        f(a, w, 0), f(b, x, sizeof a), f(c, y, sizeof a + sizeof b);
    } else if constexpr (requires { State{any, any}; }) {
        auto& [a, b] = s;
        auto& [w, x] = t;
        static_assert(sizeof a + sizeof b == sizeof s, "a State has no padding");
        f(a, w, 0), f(b, x, sizeof a);
    } else {
        auto& [a] = s;
        auto& [w] = t;
        static_assert(sizeof a == sizeof s, "a State has no padding");
        f(a, w, 0);
    }
}

/// Planar lanes of a State.
template <class State> struct Lanes {
    char* base;

    template <class Field> [[gnu::always_inline]] Field* plane(const Field&, std::size_t offset) const {
        return reinterpret_cast<Field*>(base + offset * lane_count);
    }
    [[gnu::always_inline]] State load(std::size_t i) const {
        State s{};
        for_fields(s, s, [&](auto& field, auto&, std::size_t offset) { field = plane(field, offset)[i]; });
        return s;
    }
    [[gnu::always_inline]] void store(std::size_t i, State s) const {
        for_fields(s, s, [&](auto& field, auto&, std::size_t offset) { plane(field, offset)[i] = field; });
    }
};

/// Elements of type E in memory. A bool is read as the byte that it is: vectorisers stumble over bools.
template <class E> struct Elements {
    using Stored = E;
    const E* x;
    [[gnu::always_inline]] E operator[](std::size_t i) const { return x[i]; }
};
template <> struct Elements<bool> {
    using Stored = u8;
    const u8* x;
    [[gnu::always_inline]] bool operator[](std::size_t i) const { return x[i] != 0; }
};
template <class T> [[gnu::always_inline]] inline const T* row(const void* first, std::size_t row_bytes, std::size_t r) {
    return reinterpret_cast<const T*>(static_cast<const char*>(first) + r * row_bytes);
}

/// What a loop folds: row r of x, or of the products of x and y.
template <class E> struct Single {
    Elements<E> x;
    Single(const FoldInput& in, std::size_t r) : x{row<typename Elements<E>::Stored>(in.x, in.x_row, r)} {}
    [[gnu::always_inline]] E operator[](std::size_t i) const { return x[i]; }
};
template <class E> struct Products {
    const E *x, *y;
    Products(const FoldInput& in, std::size_t r) : x(row<E>(in.x, in.x_row, r)), y(row<E>(in.y, in.y_row, r)) {}
    [[gnu::always_inline]] E operator[](std::size_t i) const { return mul(x[i], y[i]); }
};
/// The numbers of the rows that one loop folds, as a pack: vectorisers take straight code.
template <std::size_t...> struct Rows {};
using OneRow = Rows<0>;
using TwoRows = Rows<0, 1>;
using AllRows = Rows<0, 1, 2, 3>;
static_assert(max_rows == 4);

[[gnu::always_inline]] inline Elements<bool> mask_row(const FoldInput& in, std::size_t r) {
    return {row<u8>(in.mask, in.mask_row, r)};
}

/// Exact in any order, and not of several fields: one may be an index, which sees its elements in order.
template <class M>
inline constexpr bool in_any_order = exact_in_any_order<M> && sizeof(typename M::State) <= any_order_bytes;

template <class M, class E> struct Folding {
    using State = typename M::State;

    static constexpr bool in_steps = requires { &M::start; } && !in_any_order<M>;
    static constexpr bool of_block = requires { typename M::OfBlock; };

    /// How a loop over elements folds them. Without a mask, monoids that offer it fold lanes that are no States yet
    /// (monoid.cuh: in steps, or OfBlock).
    enum class Way {
        accumulate,
        masked,
        start_masked, ///< from a lane's first element on
        start,        ///< no States, from a lane's first element on
        advance       ///< no States, going on
    };

    /// What a lane holds.
    template <Way way> static auto lane() {
        if constexpr (of_block && (way == Way::start || way == Way::advance))
            return typename M::OfBlock::State();
        else
            return State();
    }
    template <Way way> using Lane = decltype(lane<way>());
    template <Way way> using LanesOf = Lanes<Lane<way>>;

    /// Of lane i, before these elements.
    template <Way way> [[gnu::always_inline]] static Lane<way> lane_before(LanesOf<way> lanes, std::size_t i) {
        if constexpr (way == Way::start_masked)
            return M::identity();
        else if constexpr (way != Way::start)
            return lanes.load(i);
        else if constexpr (of_block)
            return M::OfBlock::identity();
        else
            return M::start();
    }

    /// Where the origin is that a block's lanes share: behind them, since they are smaller than States.
    static f64& origin_of(char* lanes) {
        constexpr std::size_t bytes = sizeof(Lane<Way::start>) * lane_count;
        static_assert(!of_block || sizeof(State) >= sizeof(Lane<Way::start>) + sizeof(f64));
        return *reinterpret_cast<f64*>(lanes + bytes);
    }
    template <Way way> static f64 origin(LanesOf<way> lanes) {
        if constexpr (of_block && (way == Way::start || way == Way::advance))
            return origin_of(lanes.base);
        else
            return 0.0;
    }

    /// Accumulates x where `accept` is true, without a branch: fields are chosen one by one.
    [[gnu::always_inline]] static void accumulate_if(bool accept, State& s, E x, i64 index) {
        State t = s;
        M::accumulate(t, x, index);
        for_fields(s, t,
                   [&](auto& field, auto& accumulated, std::size_t) { field = choose(accept, accumulated, field); });
    }

    template <Way way>
    [[gnu::always_inline]] static void fold_element(Lane<way>& s, E x, [[maybe_unused]] bool accept,
                                                    [[maybe_unused]] i64 index, [[maybe_unused]] u32 row,
                                                    [[maybe_unused]] f64 origin) {
        if constexpr (way == Way::masked || way == Way::start_masked)
            accumulate_if(accept, s, x, index);
        else if constexpr (way == Way::accumulate)
            M::accumulate(s, x, index);
        else if constexpr (of_block)
            M::OfBlock::accumulate(s, x, origin);
        else
            M::advance(s, x, row);
    }
};

} // namespace GRIDFOLD_NAMESPACE::kernels
