// The folds of a monoid, built-in or a user's, on the CPU. They use the optional functions of its struct
// (ops/device/monoid.cuh), detected on the struct. Functions are inlined (GRIDFOLD_FN) into those that GRIDFOLD_FOLDS
// and GRIDFOLD_STATES define, and get their attributes (instruction set, exactness).
#pragma once

#include <gridfold/ops/host/lanes.hpp>
#include <gridfold/ops/host/sources.hpp>

#include <gridfold/core/device/fold.cuh>

// Not every loop vectorises, on every instruction set and level of optimisation: clang would warn in the user's file.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

namespace GRIDFOLD_NAMESPACE::kernels {

using gf::cpu::BlockRows, gf::cpu::FoldKernels, gf::cpu::lane_count;

// Declarations of a struct --------------------------------------------------------------------------------------------

template <class M, class = void> inline constexpr bool identity_is_neutral = false;
template <class M>
inline constexpr bool identity_is_neutral<M, Void<decltype(M::identity_is_neutral)>> =
    M::identity_is_neutral && exact_in_any_order<M>;

template <class M, class = void> inline constexpr bool takes_products = false;
template <class M>
inline constexpr bool takes_products<M, Void<decltype(M::takes_products)>> = M::takes_products && operand_count<M> == 1;

/// The monoid of the functions of States: M's base M::States, or M.
template <class M> struct StatesOf {
    using Type = M;
};
template <class M>
    requires(__is_base_of(typename M::States, M))
struct StatesOf<M> {
    using Type = typename M::States;
};

/// True if elements may be assigned to lanes in any way. Not for monoids in steps, which count each lane's elements.
template <class M>
inline constexpr bool in_any_order = exact_in_any_order<M> && (identity_is_neutral<M> || !offers_steps<M>);

/// True for a State of one number that a loop can use as an accumulator, which compilers vectorise as a reduction.
template <class M>
inline constexpr bool is_one_number = in_any_order<M> && identity_is_neutral<M> && operand_count<M> == 1;

/// The lanes that a fold keeps. In any order, enough for a loop to vectorise, within the first-level cache; only one if
/// a State has too many scalars for planar lanes.
constexpr std::size_t lanes_in_any_order = 256;
template <class M>
inline constexpr std::size_t lanes_of =
    !in_any_order<M>                                            ? lane_count
    : is_one_number<M> || field_count<typename M::State>() == 0 ? 1
                                                                : lanes_in_any_order;

// A State of one number, in any order ---------------------------------------------------------------------------------

template <class E> struct Indexed {
    E value;
    i64 index;
};

/// The accumulators of a loop, each updated once an iteration for any number of rows. add() takes a lane's elements of
/// up to max_rows rows; state() requires at least one add().
template <class M, class E> struct Partial {
    typename M::State folded = M::identity();

    template <class... X> GRIDFOLD_FN void add(X... x) {
        typename M::State of_rows = M::identity();
        (M::accumulate(of_rows, x.value, x.index), ...);
        M::combine(folded, of_rows);
    }
    GRIDFOLD_FN typename M::State state() const { return folded; }
};

template <class M, class E, Loops loops> struct OneNumber {
    static_assert(field_count<typename M::State>() == 1, "identity_is_neutral is for a State of one number");

    /// The element that changes no State: the identity's value.
    GRIDFOLD_FN static constexpr E neutral() {
        auto s = M::identity();
        auto& [value] = s;
        return E(value);
    }
    GRIDFOLD_FN static E accepted(E x, bool accept) {
        if constexpr (is_floating<E>)
            return choose(accept, x, neutral());
        else if constexpr (sizeof(E) == 8)
            return E((u64(x) & (u64(0) - accept)) | (u64(neutral()) & ~(u64(0) - accept)));
        else
            return E((int(x) & -int(accept)) | (int(neutral()) & ~-int(accept)));
    }

    template <bool masked, class Source, std::size_t... r>
    GRIDFOLD_FN static void fold_rows(typename M::State& s, const FoldInput& in, std::size_t first_row, Rows<r...>) {
        const Source x[] = {Source(in, first_row + r)...};
        const Elements<bool> mask[] = {mask_row(in, first_row + r)...};
        const i64 step = in.index_row, index = in.index + static_cast<i64>(first_row) * step;
        const std::size_t n = in.n;
        Partial<M, E> partial;
        for (std::size_t i = 0; i < n; ++i)
            partial.add(Indexed<E>{accepted(x[r][i], !masked || mask[r][i]),
                                   index + static_cast<i64>(i) + static_cast<i64>(r) * step}...);
        M::combine(s, partial.state());
    }

    template <bool masked, class Source> GRIDFOLD_FN static void fold_all(typename M::State& s, const FoldInput& in) {
        if constexpr (takes_four<loops, E, masked>)
            if (in.rows == max_rows) return fold_rows<masked, Source>(s, in, 0, AllRows());
        std::size_t row = 0;
        if constexpr (loops == Loops::all)
            for (; row + 2 <= in.rows; row += 2) fold_rows<masked, Source>(s, in, row, TwoRows());
        for (; row < in.rows; ++row) fold_rows<masked, Source>(s, in, row, OneRow());
    }

    template <class Source> GRIDFOLD_FN static void fold(void* state, const FoldInput& in) {
        auto& s = *static_cast<typename M::State*>(state);
        if (in.mask != nullptr)
            fold_all<true, Source>(s, in);
        else
            fold_all<false, Source>(s, in);
    }
};

// Lanes ---------------------------------------------------------------------------------------------------------------

/// Specialised for monoids with a separate fold of masked lanes, `type`.
template <class M> struct MaskedFold {};

/// Specialised for monoids whose lanes are combined in a way of their own: type::combine(lanes, n).
template <class M> struct CombineLanes {};

/// Specialised for monoids whose short rows without a mask are folded in a way of their own: type::fold(rows, states),
/// if type::takes_all, or of lengths that it takes().
template <class M, class E> struct FoldRows {};

/// Specialised for monoids whose positions fold elements without a mask as keys, `type`: of() an element or a State,
/// combined by fold(), and made a State again by state().
template <class M, class E> struct FoldKeys {};

template <class M, class E, Loops loops = Loops::all> struct Folds {
    using State = typename M::State;

    static constexpr std::size_t lanes = lanes_of<M>;
    static constexpr bool in_steps = offers_steps<M> && !in_any_order<M>;
    static constexpr bool of_block = LaneMonoidOf<M, false>::of_block;
    static constexpr bool starts_masked = requires { typename MaskedFold<M>::type; };
    /// If a choice depends on the previous row, gcc threads jumps between rows and does not vectorise the loop.
    static constexpr bool rows_one_by_one = in_steps;

    /// The function with which a loop folds elements. Without a mask, monoids in steps or with OfBlock (monoid.cuh)
    /// fold lanes that are not States yet.
    enum class Way {
        accumulate,
        masked,
        start_masked, ///< from a lane's first element on
        start,        ///< not States, from a lane's first element on
        advance       ///< not States, after a lane's first element
    };

    /// The monoid of a lane.
    template <Way way> using LaneMonoid = typename LaneMonoidOf<M, !(way == Way::start || way == Way::advance)>::Type;
    template <Way way> using Lane = typename LaneMonoid<way>::State;
    template <Way way> using LanesOf = Lanes<Lane<way>, lanes>;

    GRIDFOLD_FN static void identity(void* memory, std::size_t count) {
        const Lanes<State, lanes> states{static_cast<char*>(memory)};
        for (std::size_t i = 0; i < count; ++i) states.store(i, M::identity());
    }

    /// The origin that a block's lanes share. It is stored after them, since they are smaller than States.
    using Origin = typename OriginOf<M>::Type;
    GRIDFOLD_FN static Origin& shared_origin(char* memory) {
        constexpr std::size_t bytes = sizeof(Lane<Way::start>) * lane_count;
        static_assert(!of_block || sizeof(State) >= sizeof(Lane<Way::start>) + sizeof(Origin));
        return *reinterpret_cast<Origin*>(memory + bytes);
    }
    template <Way way> GRIDFOLD_FN static Origin origin(LanesOf<way> states) {
        if constexpr (of_block && (way == Way::start || way == Way::advance))
            return shared_origin(states.base);
        else
            return {};
    }

    template <Way way, class X>
    GRIDFOLD_FN static void fold_element(Lane<way>& s, const X& x, [[maybe_unused]] bool accept,
                                         [[maybe_unused]] i64 index, [[maybe_unused]] u32 row,
                                         [[maybe_unused]] const Origin& origin) {
        if constexpr (way == Way::masked) {
            if (accept) accumulate_in<M>(s, x, index);
        } else if constexpr (way == Way::accumulate) {
            accumulate_in<M>(s, x, index);
        } else if constexpr (of_block) {
            accumulate_in<typename M::OfBlock>(s, x, origin);
        } else {
            M::advance(s, x, row);
        }
    }

    /// Folds rows first_row + r.
    template <Way way, class Source, std::size_t... r>
    GRIDFOLD_FN static void fold_rows(LanesOf<way> states, const FoldInput& in, std::size_t first_row,
                                      Rows<r...> numbers) {
        if constexpr (starts_masked && (way == Way::masked || way == Way::start_masked))
            return MaskedFold<M>::type::template fold_rows<way == Way::start_masked>(states, in, first_row, numbers);
        else if constexpr (!in_any_order<M>)
            fold_span<way, Source>(states, in, first_row, in.first, 0, in.n, numbers);
        else
            for (std::size_t begin = 0; begin < in.n; begin += lanes)
                fold_span<way, Source>(states, in, first_row, 0, begin, in.n - begin < lanes ? in.n - begin : lanes,
                                       numbers);
    }

    /// Folds element begin + i of each of these rows into lane first + i, i < n.
    template <Way way, class Source, std::size_t... r>
    GRIDFOLD_FN static void fold_span(LanesOf<way> states, const FoldInput& in, std::size_t first_row,
                                      std::size_t first, std::size_t begin, std::size_t n, Rows<r...>) {
        const Source x[] = {Source(in, first_row + r)...};
        const Elements<bool> mask[] = {mask_row(in, first_row + r)...};
        const i64 step = in.index_row, index = in.index + static_cast<i64>(first_row) * step;
        const u32 number = static_cast<u32>(in.first_row) + static_cast<u32>(first_row);
        const Origin origin = Folds::template origin<way>(states);
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < n; ++i) {
            const i64 at = index + static_cast<i64>(begin + i);
            const auto fold_lane = [&](Lane<way> & s) __attribute__((always_inline)) {
                if constexpr (way == Way::start) {
                    if constexpr (of_block)
                        s = M::OfBlock::identity();
                    else
                        s = M::start();
                }
                (fold_element<way>(s, x[r][begin + i], way == Way::masked && mask[r][begin + i],
                                   at + static_cast<i64>(r) * step, number + static_cast<u32>(r), origin),
                 ...);
            };
            if constexpr (way == Way::start) {
                Lane<way> s{};
                fold_lane(s);
                states.store(first + i, s);
            } else {
                states.update(first + i, fold_lane);
            }
        }
    }

    template <class Source, Way way, Way next = way>
    GRIDFOLD_FN static void fold_all(LanesOf<way> states, const FoldInput& in) {
        std::size_t row = 0;
        constexpr bool masked = way == Way::masked || way == Way::start_masked;
        if constexpr (!rows_one_by_one && takes_four<loops, E, masked>)
            if (in.rows == max_rows) return fold_rows<way, Source>(states, in, 0, AllRows());
        if constexpr (!rows_one_by_one && loops == Loops::all)
            if (in.rows >= 2) {
                fold_rows<way, Source>(states, in, 0, TwoRows());
                row = 2;
            }
        if constexpr (way != next)
            if (row == 0) fold_rows<way, Source>(states, in, row++, OneRow());
        for (; row < in.rows; ++row) fold_rows<next, Source>(states, in, row, OneRow());
    }

    template <class Source> GRIDFOLD_FN static void fold(void* memory, const FoldInput& in) {
        auto* const base = static_cast<char*>(memory);
        if constexpr (is_one_number<M>) {
            OneNumber<M, E, loops>::template fold<Source>(memory, in);
        } else if (in.mask != nullptr) {
            if constexpr (starts_masked)
                if (in.first_row == 0) return fold_all<Source, Way::start_masked, Way::masked>({base}, in);
            fold_all<Source, Way::masked>({base}, in);
        } else if constexpr (in_steps || of_block) {
            if constexpr (of_block)
                if (in.first_row == 0 && in.first == 0) shared_origin(base) = origin_of<M>(Source(in, 0)[0]);
            if (in.first_row == 0)
                fold_all<Source, Way::start, Way::advance>({base}, in);
            else
                fold_all<Source, Way::advance>({base}, in);
        } else {
            fold_all<Source, Way::accumulate>({base}, in);
        }
    }

    // Combining -------------------------------------------------------------------------------------------------------

    /// Combines the first n lanes, a power of two, pairwise by index, lowest bit first.
    template <class Any> GRIDFOLD_FN static typename Any::State combine(char* base, std::size_t n) {
        const Lanes<typename Any::State, lanes> states{base};
        if constexpr (requires { typename CombineLanes<Any>::type; })
            return CombineLanes<Any>::type::combine(states, n);
        for (std::size_t half = n / 2; half > 0; half /= 2) {
            // Lane i is written after lanes 2i and 2i + 1 were read, and not read again on this level.
            GRIDFOLD_INDEPENDENT
            for (std::size_t i = 0; i < half; ++i) {
                typename Any::State s = states.load(2 * i); // defect: pair
                Any::combine(s, states.load(2 * i + 1));    // defect: pair
                states.store(i, s);
            }
        }
        return states.load(0);
    }

    GRIDFOLD_FN static void end_lanes(Lanes<State, lanes> states, const BlockRows& rows, std::size_t begin,
                                      std::size_t end, i64 elements) {
        const i64 index = rows.index, stride = rows.index_row;
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = begin; i < end; ++i) {
            State s = states.load(i);
            M::end(s, elements, index + static_cast<i64>(i), stride, 1);
            states.store(i, s);
        }
    }

    GRIDFOLD_FN static void finish_unmasked(void* memory, std::size_t count, const BlockRows& rows, void* state) {
        auto* const base = static_cast<char*>(memory);
        if constexpr (of_block) {
            const auto sums = combine<typename M::OfBlock>(base, count);
            const i64 elements = (rows.rows - 1) * static_cast<i64>(lane_count) + static_cast<i64>(rows.longer);
            *static_cast<State*>(state) = M::close(sums, shared_origin(base), elements);
        } else if constexpr (in_steps) {
            end_lanes({base}, rows, 0, rows.longer, rows.rows);
            end_lanes({base}, rows, rows.longer, count, rows.rows - 1);
            finish(memory, count, state);
        }
    }

    GRIDFOLD_FN static void finish(void* memory, std::size_t count, void* state) {
        *static_cast<State*>(state) = combine<M>(static_cast<char*>(memory), count);
    }

    GRIDFOLD_FN static void pairwise(void* states, std::size_t n) {
        auto* s = static_cast<State*>(states);
        for (std::size_t distance = 1; distance < n; distance *= 2)
            for (std::size_t i = 0; i + distance < n; i += 2 * distance) M::combine(s[i], s[i + distance]);
    }
};

} // namespace GRIDFOLD_NAMESPACE::kernels

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

/// Defines name<M, E>, the folding functions of a monoid's FoldKernels, with these loops and attributes. Must be used
/// inside GRIDFOLD_NAMESPACE::kernels, like GRIDFOLD_STATES.
///
/// gcc gives a function without floating-point operands the flags of functions inlined into it: `own` keeps the
/// attributes.
#define GRIDFOLD_FOLDS(name, loops, ...)                                                                \
    template <class M, class E> struct name {                                                           \
        __VA_ARGS__ static void fold(void* lanes, const FoldInput& in) {                                \
            [[maybe_unused]] const f64 own = static_cast<f64>(in.n);                                    \
            Folds<M, E, loops>::template fold<typename SourceOf<M, E>::Type>(lanes, in);                \
        }                                                                                               \
        __VA_ARGS__ static void fold_product(void* lanes, const FoldInput& in) {                        \
            [[maybe_unused]] const f64 own = static_cast<f64>(in.n);                                    \
            if constexpr (takes_products<M>) Folds<M, E, loops>::template fold<Products<E>>(lanes, in); \
        }                                                                                               \
    }

/// Defines name<M>, the functions of FoldKernels that start lanes and combine States: the element type means nothing.
#define GRIDFOLD_STATES(name, ...)                                                                                    \
    template <class M> struct name {                                                                                  \
        __VA_ARGS__ static void identity(void* lanes, std::size_t count) { Folds<M, u8>::identity(lanes, count); }    \
        __VA_ARGS__ static void finish_unmasked(void* lanes, std::size_t count, const BlockRows& rows, void* state) { \
            Folds<M, u8>::finish_unmasked(lanes, count, rows, state);                                                 \
        }                                                                                                             \
        __VA_ARGS__ static void finish(void* lanes, std::size_t count, void* state) {                                 \
            Folds<M, u8>::finish(lanes, count, state);                                                                \
        }                                                                                                             \
        __VA_ARGS__ static void pairwise(void* states, std::size_t n) { Folds<M, u8>::pairwise(states, n); }          \
    }

namespace GRIDFOLD_NAMESPACE::kernels {

/// The FoldKernels of a monoid, from functions that the macros above define.
template <template <class, class> class Fold, template <class> class States, class M, class E>
constexpr FoldKernels make_kernels() {
    using Shared = typename StatesOf<M>::Type;
    using Own = States<Shared>;
    static_assert(sizeof(typename Shared::State) == sizeof(typename M::State) && lanes_of<Shared> == lanes_of<M>);
    FoldKernels kernels{.state_bytes = sizeof(typename M::State),
                        .lanes = lanes_of<M>,
                        .identity = &Own::identity,
                        .starts_masked = Folds<M, E>::starts_masked,
                        .fold = &Fold<M, E>::fold,
                        .fold_product = nullptr,
                        .finish_unmasked = nullptr,
                        .finish = &Own::finish,
                        .pairwise = &Own::pairwise};
    if constexpr (takes_products<M>) kernels.fold_product = &Fold<M, E>::fold_product;
    if constexpr (Folds<M, E>::in_steps || Folds<M, E>::of_block) kernels.finish_unmasked = &Own::finish_unmasked;
    return kernels;
}
template <template <class, class> class Fold, template <class> class States, class M, class E>
inline constexpr FoldKernels kernels_of = make_kernels<Fold, States, M, E>();

} // namespace GRIDFOLD_NAMESPACE::kernels
