// The monoids of monoid.cuh as kernels over planar lanes, for the instruction set that this file is compiled for.
#include "host_kernels/any_order.hpp"
#include "host_kernels/masked_moments.hpp"

namespace GRIDFOLD_NAMESPACE {

const FoldKernels* fold_kernels(int monoid, int element, int accumulator);

namespace kernels {

/// The monoids by their position in reduce.def.
enum class Position : int {
#define GRIDFOLD_MONOID_OP(id, ...) id,
#define GRIDFOLD_REDUCE_OP(...)
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP
};

/// Where a choice depends on the row before, gcc threads jumps from row to row and then finds no loop to vectorise.
template <class M> inline constexpr bool rows_one_by_one = false;
template <class E, class A> inline constexpr bool rows_one_by_one<ArgMin<E, A>> = true;
template <class E, class A> inline constexpr bool rows_one_by_one<ArgMax<E, A>> = true;

/// Sums of products are what graphs are full of: squares, dot products, moments.
template <class M, class E> inline constexpr bool takes_products = false;
template <class E, class A> inline constexpr bool takes_products<Sum<E, A>, E> = sizeof(E) >= 4;

/// Monoids whose masked lanes have a fold of their own, `type`.
template <class M> struct MaskedFold {};
template <class E, class A> struct MaskedFold<Moments<E, A>> {
    using type = MaskedMoments<E>;
};

/// Monoids of which four pairs of lanes are combined in straight code: gcc 12 makes shuffles of it, and of a loop AVX2's
/// permutations, which take twice the time (bench/NOTES.md). Baseline code and AVX-512's have no such difference.
template <class M> inline constexpr bool combines_in_fours = false;
#if defined(__AVX2__) && !defined(__AVX512F__)
template <class E> inline constexpr bool combines_in_fours<Sum<E, f32>> = true;
#endif

/// Combines lanes until at most eight are left, and returns how many.
template <class M> std::size_t combine_in_fours(Lanes<typename M::State> lanes, std::size_t n) {
    for (; n > 8; n /= 2)
        for (std::size_t i = 0; i < n / 2; i += 4) {
            typename M::State even[4], odd[4];
            for (std::size_t j = 0; j < 4; ++j) {
                even[j] = lanes.load(2 * (i + j));
                odd[j] = lanes.load(2 * (i + j) + 1);
            }
            for (std::size_t j = 0; j < 4; ++j) M::combine(even[j], odd[j]);
            for (std::size_t j = 0; j < 4; ++j) lanes.store(i + j, even[j]);
        }
    return n;
}

/// Combines the first n lanes, a power of two, pairwise by index, lowest bit first.
template <class M> typename M::State combine_lanes(Lanes<typename M::State> states, std::size_t n) {
    if constexpr (combines_in_fours<M>) n = combine_in_fours<M>(states, n);
    for (std::size_t half = n / 2; half > 0; half /= 2) {
        // Lane i is written after lanes 2i and 2i + 1 were read, and nobody reads it again on this level.
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < half; ++i) {
            typename M::State s = states.load(2 * i);
            M::combine(s, states.load(2 * i + 1));
            states.store(i, s);
        }
    }
    return states.load(0);
}

template <class M, class E> struct Monoid : Folding<M, E> {
    using Base = Folding<M, E>;
    using Way = typename Base::Way;
    using State = typename M::State;
    using Base::in_steps;
    using Base::of_block;
    static constexpr bool starts_masked = requires { typename MaskedFold<M>::type; };
    template <Way way> using LanesOf = typename Base::template LanesOf<way>;

    static void identity(void* lanes, std::size_t count) {
        const Lanes<State> states{static_cast<char*>(lanes)};
        for (std::size_t i = 0; i < count; ++i) states.store(i, M::identity());
    }

    /// Folds rows first_row + r.
    template <Way way, class Source, std::size_t... r>
    static void fold_rows(LanesOf<way> states, const FoldInput& in, std::size_t first_row, Rows<r...> numbers) {
        if constexpr (starts_masked && (way == Way::masked || way == Way::start_masked))
            return MaskedFold<M>::type::template fold_rows<way == Way::start_masked>(states, in, first_row, numbers);
        const Source x[] = {Source(in, first_row + r)...};
        const Elements<bool> mask[] = {mask_row(in, first_row + r)...};
        const i64 step = in.index_row, index = in.index + static_cast<i64>(first_row) * step;
        const u32 number = static_cast<u32>(in.first_row) + static_cast<u32>(first_row);
        const std::size_t n = in.n, first = in.first;
        const f64 origin = Base::template origin<way>(states);
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < n; ++i) {
            auto s = Base::template lane_before<way>(states, first + i);
            const i64 at = index + static_cast<i64>(i);
            (Base::template fold_element<way>(s, x[r][i], way == Way::masked && mask[r][i],
                                              at + static_cast<i64>(r) * step, number + static_cast<u32>(r), origin),
             ...);
            states.store(first + i, s);
        }
    }

    template <class Source, Way way, Way next = way> static void fold_all(LanesOf<way> states, const FoldInput& in) {
        std::size_t row = 0;
        if constexpr (!rows_one_by_one<M>) {
            if (in.rows == max_rows) return fold_rows<way, Source>(states, in, 0, AllRows());
            if (in.rows >= 2) {
                fold_rows<way, Source>(states, in, 0, TwoRows());
                row = 2;
            }
        }
        if (row == 0) fold_rows<way, Source>(states, in, row++, OneRow());
        for (; row < in.rows; ++row) fold_rows<next, Source>(states, in, row, OneRow());
    }

    template <class Source> static void fold(void* lanes, const FoldInput& in) {
        auto* const base = static_cast<char*>(lanes);
        if constexpr (in_any_order<M>) {
            AnyOrder<M, E>::template fold<Source>(lanes, in);
        } else if (in.mask != nullptr) {
            if constexpr (starts_masked)
                if (in.first_row == 0) return fold_all<Source, Way::start_masked, Way::masked>({base}, in);
            fold_all<Source, Way::masked>({base}, in);
        } else if constexpr (in_steps || of_block) {
            if constexpr (of_block)
                if (in.first_row == 0 && in.first == 0) Base::origin_of(base) = M::origin(Source(in, 0)[0]);
            if (in.first_row == 0)
                fold_all<Source, Way::start, Way::advance>({base}, in);
            else
                fold_all<Source, Way::advance>({base}, in);
        } else {
            fold_all<Source, Way::accumulate>({base}, in);
        }
    }

    static void end_lanes(Lanes<State> states, const BlockRows& rows, std::size_t begin, std::size_t end,
                          i64 elements) {
        const i64 index = rows.index, stride = rows.index_row;
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = begin; i < end; ++i) {
            State s = states.load(i);
            M::end(s, elements, index + static_cast<i64>(i), stride, 1);
            states.store(i, s);
        }
    }

    static void finish_unmasked(void* lanes, std::size_t count, const BlockRows& rows, void* state) {
        auto* const base = static_cast<char*>(lanes);
        if constexpr (of_block) {
            using Sums = typename M::OfBlock;
            const auto sums = combine_lanes<Sums>({base}, count);
            const i64 elements = (rows.rows - 1) * static_cast<i64>(lane_count) + static_cast<i64>(rows.longer);
            *static_cast<State*>(state) = M::close(sums, Base::origin_of(base), elements);
        } else if constexpr (in_steps) {
            end_lanes({base}, rows, 0, rows.longer, rows.rows);
            end_lanes({base}, rows, rows.longer, count, rows.rows - 1);
            finish(lanes, count, state);
        }
    }

    static void finish(void* lanes, std::size_t count, void* state) {
        *static_cast<State*>(state) = combine_lanes<M>({static_cast<char*>(lanes)}, count);
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

    static constexpr FoldKernels kernels{.state_bytes = sizeof(State),
                                         .in_any_order = in_any_order<M>,
                                         .identity = identity,
                                         .starts_masked = starts_masked,
                                         .fold = fold<Single<E>>,
                                         .fold_product = product(),
                                         .finish_unmasked = in_steps || of_block ? &finish_unmasked : nullptr,
                                         .finish = finish,
                                         .pairwise = pairwise};
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
#define GRIDFOLD_DTYPE(accumulator, ...) entry<M, rule, element, Type::accumulator>(),
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
};

template <template <class, class> class M, Accumulator rule> struct Table {
    static constexpr const FoldKernels* const* rows[] = {
#define GRIDFOLD_DTYPE(element, ...) Row<M, rule, Type::element>::entries,
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
};

} // namespace kernels

/// A monoid runs over whatever the rule of one of its reductions allows.
const FoldKernels* fold_kernels(int monoid, int element, int accumulator) {
    using namespace kernels;
    const FoldKernels* found = nullptr;
#define GRIDFOLD_MONOID_OP(...)
#define GRIDFOLD_REDUCE_OP(id, monoid_, rule, ...)                 \
    if (found == nullptr && Position(monoid) == Position::monoid_) \
        found = Table<monoid_, Accumulator::rule>::rows[element][accumulator];
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP
    return found;
}

} // namespace GRIDFOLD_NAMESPACE
