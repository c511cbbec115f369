// The monoids of monoid.cuh as kernels over planar lanes, for the instruction set that this file is compiled for.
#include "accumulator_types.hpp"

#include <gridfold/ops/device/monoid.cuh>

namespace GRIDFOLD_NAMESPACE {

const FoldKernels* fold_kernels(int monoid, int element, int accumulator);

namespace kernels {

/// Calls f(field of s, field of t, bytes before it) for each field of a State, in order. States are aggregates of 1 to 4
/// scalars.
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
[[gnu::always_inline]] inline Elements<bool> mask_row(const FoldInput& in, std::size_t r) {
    return {row<u8>(in.mask, in.mask_row, r)};
}

/// yes where `accept` is true, else no; by their bits, so that no compiler makes it a branch that it cannot vectorise.
template <class T> [[gnu::always_inline]] inline T choose(bool accept, T yes, T no) {
    using Bits = typename Choose<sizeof(T) == 8, u64, u32>::type;
    const Bits mask = Bits(0) - Bits(accept);
    return __builtin_bit_cast(T, (__builtin_bit_cast(Bits, yes) & mask) | (__builtin_bit_cast(Bits, no) & ~mask));
}

template <class M> constexpr bool counts_bools = false;
template <class A> constexpr bool counts_bools<Count<bool, A>> = true;

/// Where a choice depends on the row before, gcc threads jumps from row to row and then finds no loop to vectorise.
template <class M> constexpr bool rows_one_by_one = false;
template <class E, class A> constexpr bool rows_one_by_one<ArgMin<E, A>> = true;
template <class E, class A> constexpr bool rows_one_by_one<ArgMax<E, A>> = true;

/// Sums of products are what graphs are full of: squares, dot products, moments.
template <class M, class E> constexpr bool takes_products = false;
template <class E, class A> constexpr bool takes_products<Sum<E, A>, E> = sizeof(E) >= 4;

template <class M, class E> struct Monoid {
    using State = typename M::State;

    /// A State of one word folds its lanes in any order, where rows have no numbers.
    static constexpr bool in_steps = requires(State& s, E x) { M::start(s, x); } && sizeof(State) > 8;

    static void identity(void* lanes) {
        const Lanes<State> states{static_cast<char*>(lanes)};
        for (std::size_t i = 0; i < lane_count; ++i) states.store(i, M::identity());
    }

    /// Accumulates x where `accept` is true, without a branch: fields are chosen one by one.
    [[gnu::always_inline]] static void accumulate_if(bool accept, State& s, E x, i64 index) {
        State t = s;
        M::accumulate(t, x, index);
        for_fields(s, t,
                   [&](auto& field, auto& accumulated, std::size_t) { field = choose(accept, accumulated, field); });
    }

    /// How a loop over elements folds them.
    enum class Way {
        accumulate,
        masked,
        start,  ///< in steps, from a lane's first element on
        advance ///< in steps, going on
    };

    template <Way way>
    [[gnu::always_inline]] static void fold_element(State& s, E x, [[maybe_unused]] bool accept, i64 index,
                                                    [[maybe_unused]] u32 row) {
        if constexpr (way == Way::masked)
            accumulate_if(accept, s, x, index);
        else if constexpr (way == Way::accumulate)
            M::accumulate(s, x, index);
        else
            M::advance(s, x, row);
    }

    template <Way way, class Source> static void fold_row(Lanes<State> states, const FoldInput& in, std::size_t r) {
        const Source x(in, r);
        const Elements<bool> mask = mask_row(in, r);
        const i64 index = in.index + static_cast<i64>(r) * in.index_row;
        const u32 number = static_cast<u32>(in.first_row) + static_cast<u32>(r);
        const std::size_t n = in.n, first = in.first;
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < n; ++i) {
            State s = states.load(first + i);
            if constexpr (way == Way::start) M::start(s, x[i]);
            fold_element<way>(s, x[i], way == Way::masked && mask[i], index + static_cast<i64>(i), number);
            states.store(first + i, s);
        }
    }

    template <Way way, class Source> static void fold_rows(Lanes<State> states, const FoldInput& in) {
        static_assert(max_rows == 4);
        constexpr bool masked = way == Way::masked;
        const Source x0(in, 0), x1(in, 1), x2(in, 2), x3(in, 3);
        const Elements<bool> m0 = mask_row(in, 0), m1 = mask_row(in, 1), m2 = mask_row(in, 2), m3 = mask_row(in, 3);
        const i64 index = in.index, step = in.index_row;
        const u32 number = static_cast<u32>(in.first_row);
        const std::size_t n = in.n, first = in.first;
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < n; ++i) {
            State s = states.load(first + i);
            if constexpr (counts_bools<M>) {
                // Added as bytes first: widening each to 64 bits would take most of the time.
                const auto accepted = [](bool x, bool m) { return static_cast<u8>(masked ? x & m : x); };
                s.count += static_cast<u8>(accepted(x0[i], masked && m0[i]) + accepted(x1[i], masked && m1[i]) +
                                           accepted(x2[i], masked && m2[i]) + accepted(x3[i], masked && m3[i]));
                states.store(first + i, s);
                continue;
            }
            const i64 at = index + static_cast<i64>(i);
            if constexpr (way == Way::start) M::start(s, x0[i]);
            fold_element<way>(s, x0[i], masked && m0[i], at, number);
            fold_element<way>(s, x1[i], masked && m1[i], at + step, number + 1);
            fold_element<way>(s, x2[i], masked && m2[i], at + 2 * step, number + 2);
            fold_element<way>(s, x3[i], masked && m3[i], at + 3 * step, number + 3);
            states.store(first + i, s);
        }
    }

    template <class Source, Way way, Way next = way> static void fold_all(Lanes<State> states, const FoldInput& in) {
        if constexpr (!rows_one_by_one<M>)
            if (in.rows == max_rows) return fold_rows<way, Source>(states, in);
        fold_row<way, Source>(states, in, 0);
        for (std::size_t row = 1; row < in.rows; ++row) fold_row<next, Source>(states, in, row);
    }

    template <class Source> static void fold(void* lanes, const FoldInput& in) {
        const Lanes<State> states{static_cast<char*>(lanes)};
        if (in.mask != nullptr) return fold_all<Source, Way::masked>(states, in);
        if constexpr (!in_steps)
            fold_all<Source, Way::accumulate>(states, in);
        else if (in.first_row == 0)
            fold_all<Source, Way::start, Way::advance>(states, in);
        else
            fold_all<Source, Way::advance>(states, in);
    }

    static void end(void* lanes, const BlockRows& rows) {
        if constexpr (in_steps) {
            const Lanes<State> states{static_cast<char*>(lanes)};
            for (std::size_t i = 0; i < (rows.rows > 1 ? lane_count : rows.longer); ++i) {
                State s = states.load(i);
                M::end(s, rows.rows - (i < rows.longer ? 0 : 1), rows.index + static_cast<i64>(i), rows.index_row, 1);
                states.store(i, s);
            }
        }
    }

    static void finish(void* lanes, void* state) {
        const Lanes<State> states{static_cast<char*>(lanes)};
        for (std::size_t half = lane_count / 2; half > 0; half /= 2) {
            // Lane i is written after lanes 2i and 2i + 1 were read, and nobody reads it again on this level.
            GRIDFOLD_INDEPENDENT
            for (std::size_t i = 0; i < half; ++i) {
                State s = states.load(2 * i);
                M::combine(s, states.load(2 * i + 1));
                states.store(i, s);
            }
        }
        *static_cast<State*>(state) = states.load(0);
    }

    static void pairwise(void* states, std::size_t n) {
        auto* s = static_cast<State*>(states);
        for (std::size_t distance = 1; distance < n; distance *= 2)
            for (std::size_t i = 0; i + distance < n; i += 2 * distance) M::combine(s[i], s[i + distance]);
    }

    using Fold = void (*)(void*, const FoldInput&);
    static constexpr Fold product() {
        if constexpr (takes_products<M, E>)
            return &fold<Products<E>>;
        else
            return nullptr;
    }

    static constexpr FoldKernels kernels{sizeof(State), identity, fold<Single<E>>, product(), in_steps ? &end : nullptr,
                                         finish,        pairwise};
};

template <template <class, class> class M, Accumulator rule, Type element, Type accumulator>
constexpr const FoldKernels* entry() {
    if constexpr (accumulates(rule, element, TypeFacts<element>::kind, accumulator, TypeFacts<accumulator>::kind))
        return &Monoid<M<Element<element>, Element<accumulator>>, Element<element>>::kernels;
    else
        return nullptr;
}

/// The kernels of one monoid over one element type, by accumulator type.
template <template <class, class> class M, Accumulator rule, Type element> struct Row {
    static constexpr const FoldKernels* entries[] = {
#define DTYPE(accumulator, ...) entry<M, rule, element, Type::accumulator>(),
#include <gridfold/core/dtype.def>
#undef DTYPE
    };
};

template <template <class, class> class M, Accumulator rule> struct Table {
    static constexpr const FoldKernels* const* rows[] = {
#define DTYPE(element, ...) Row<M, rule, Type::element>::entries,
#include <gridfold/core/dtype.def>
#undef DTYPE
    };
};

/// The monoids by their position in reduce.def.
enum class Position : int {
#define MONOID(id, ...) id,
#define REDUCE(...)
#include <gridfold/ops/reduce.def>
#undef REDUCE
#undef MONOID
};

} // namespace kernels

/// A monoid runs over whatever the rule of one of its reductions allows.
const FoldKernels* fold_kernels(int monoid, int element, int accumulator) {
    using namespace kernels;
    const FoldKernels* found = nullptr;
#define MONOID(...)
#define REDUCE(id, monoid_, rule, ...)                             \
    if (found == nullptr && Position(monoid) == Position::monoid_) \
        found = Table<monoid_, Accumulator::rule>::rows[element][accumulator];
#include <gridfold/ops/reduce.def>
#undef REDUCE
#undef MONOID
    return found;
}

} // namespace GRIDFOLD_NAMESPACE
