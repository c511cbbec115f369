// The monoids of monoid.cuh as kernels over planar lanes, for the instruction set that this file is compiled for.
#include "accumulator_types.hpp"

#include <gridfold/ops/device/monoid.cuh>

namespace GRIDFOLD_NAMESPACE {

const FoldKernels* fold_kernels(int monoid, int element, int accumulator);

namespace kernels {

/// Calls f(field, bytes before it) for each field of a State, in order. States are aggregates of 1 to 4 scalars.
struct AnyScalar {
    template <class T> operator T() const;
};
template <class State, class F> [[gnu::always_inline]] inline void for_fields(State& s, F f) {
    constexpr AnyScalar any{};
    if constexpr (requires { State{any, any, any, any}; }) {
        auto& [a, b, c, d] = s;
        static_assert(sizeof a + sizeof b + sizeof c + sizeof d == sizeof s, "a State has no padding");
        f(a, 0), f(b, sizeof a), f(c, sizeof a + sizeof b), f(d, sizeof a + sizeof b + sizeof c);
    } else if constexpr (requires { State{any, any, any}; }) {
        auto& [a, b, c] = s;
        static_assert(sizeof a + sizeof b + sizeof c == sizeof s, "a State has no padding");
        f(a, 0), f(b, sizeof a), f(c, sizeof a + sizeof b);
    } else if constexpr (requires { State{any, any}; }) {
        auto& [a, b] = s;
        static_assert(sizeof a + sizeof b == sizeof s, "a State has no padding");
        f(a, 0), f(b, sizeof a);
    } else {
        auto& [a] = s;
        static_assert(sizeof a == sizeof s, "a State has no padding");
        f(a, 0);
    }
}

/// Planar lanes of a State.
template <class State> struct Lanes {
    char* base;

    template <class Field> [[gnu::always_inline]] Field* plane(const Field&, std::size_t offset) const {
        return reinterpret_cast<Field*>(base + offset * lane_count);
    }
    [[gnu::always_inline]] State load(std::size_t i) const {
        State s;
        for_fields(s, [&](auto& field, std::size_t offset) { field = plane(field, offset)[i]; });
        return s;
    }
    [[gnu::always_inline]] void store(std::size_t i, State s) const {
        for_fields(s, [&](auto& field, std::size_t offset) { plane(field, offset)[i] = field; });
    }
};

template <class M, class E> struct Monoid {
    using State = typename M::State;

    static void identity(void* lanes) {
        const Lanes<State> states{static_cast<char*>(lanes)};
        for (std::size_t i = 0; i < lane_count; ++i) states.store(i, M::identity());
    }

    /// Accumulates x where `accept` is true, without a branch.
    template <bool masked>
    [[gnu::always_inline]] static void accumulate(State& s, E x, [[maybe_unused]] bool accept, i64 index) {
        if constexpr (masked) {
            State t = s;
            M::accumulate(t, x, index);
            // Fields are chosen one by one: a choice between whole States would be a branch.
            char* const t_bytes = reinterpret_cast<char*>(&t);
            for_fields(s, [&]<class Field>(Field& field, std::size_t offset) {
                field = accept ? *reinterpret_cast<Field*>(t_bytes + offset) : field;
            });
        } else {
            M::accumulate(s, x, index);
        }
    }

    template <bool masked> static void fold_row(Lanes<State> states, const FoldInput& in, std::size_t row) {
        const auto* x = reinterpret_cast<const E*>(static_cast<const char*>(in.x) + row * in.x_row);
        const bool* mask = masked ? in.mask + row * in.mask_row : nullptr;
        const i64 index = in.index + static_cast<i64>(row) * in.index_row;
        const std::size_t n = in.n, first = in.first;
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < n; ++i) {
            State s = states.load(first + i);
            accumulate<masked>(s, x[i], masked && mask[i], index + static_cast<i64>(i));
            states.store(first + i, s);
        }
    }

    template <bool masked> static void fold_rows(Lanes<State> states, const FoldInput& in) {
        static_assert(max_rows == 4);
        const auto row = [&](std::size_t r) {
            return reinterpret_cast<const E*>(static_cast<const char*>(in.x) + r * in.x_row);
        };
        const E *x0 = row(0), *x1 = row(1), *x2 = row(2), *x3 = row(3);
        const bool *m0 = in.mask, *m1 = m0, *m2 = m0, *m3 = m0;
        if constexpr (masked) m1 += in.mask_row, m2 += 2 * in.mask_row, m3 += 3 * in.mask_row;
        const i64 index = in.index, step = in.index_row;
        const std::size_t n = in.n, first = in.first;
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < n; ++i) {
            State s = states.load(first + i);
            const i64 at = index + static_cast<i64>(i);
            accumulate<masked>(s, x0[i], masked && m0[i], at);
            accumulate<masked>(s, x1[i], masked && m1[i], at + step);
            accumulate<masked>(s, x2[i], masked && m2[i], at + 2 * step);
            accumulate<masked>(s, x3[i], masked && m3[i], at + 3 * step);
            states.store(first + i, s);
        }
    }

    template <bool masked> static void fold_all(Lanes<State> states, const FoldInput& in) {
        if (in.rows == max_rows) return fold_rows<masked>(states, in);
        for (std::size_t row = 0; row < in.rows; ++row) fold_row<masked>(states, in, row);
    }

    static void fold(void* lanes, const FoldInput& in) {
        const Lanes<State> states{static_cast<char*>(lanes)};
        in.mask != nullptr ? fold_all<true>(states, in) : fold_all<false>(states, in);
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

    static constexpr FoldKernels kernels{sizeof(State), identity, fold, finish, pairwise};
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
