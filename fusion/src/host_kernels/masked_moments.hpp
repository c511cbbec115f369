// Moments of masked lanes without branches: the same States as Moments::accumulate for the accepted elements.
//
// A lane's origin replaces an element that is not accepted, so that it adds 0 to the sums. That changes no bit, since a
// sum that starts with +0 is never -0. Each loop processes elements of one width, over few enough lanes for the
// first-level cache: a single loop would widen a byte's mask for eight vectors of f64 at a time.
#pragma once

#include <gridfold/ops/host/folds.hpp>

#include <gridfold/ops/device/monoid.cuh>

namespace GRIDFOLD_NAMESPACE::kernels {

template <class E> struct MaskedMoments {
    using M = Moments<E, f64>;
    /// The type in which elements are replaced. Every origin is a value of it: f64 does not hold every 64-bit integer.
    using Kept = typename Choose<sizeof(E) <= 4, E, f64>::type;
    static constexpr std::size_t chunk = 128;

    /// Some lanes of all States.
    struct Span {
        f64 *count, *origin, *sum, *squares;
        std::size_t n;
    };

    /// starts: the lanes have no elements yet, and are not initialised.
    template <bool starts, std::size_t... r>
    GRIDFOLD_FN static void fold_rows(Lanes<typename M::State, lane_count> states, const FoldInput& in,
                                      std::size_t first_row, Rows<r...> rows) {
        auto* const count = reinterpret_cast<f64*>(states.base);
        f64 *const origin = count + lane_count, *const sum = origin + lane_count, *const squares = sum + lane_count;
        const Single<E> x[] = {Single<E>(in, first_row + r)...};
        const u8* const mask[] = {row<u8>(in.mask, in.mask_row, first_row + r)...}; // bool values are 0 or 1
        for (std::size_t begin = 0; begin < in.n; begin += chunk) {
            const std::size_t lane = in.first + begin;
            const Span lanes{count + lane, origin + lane, sum + lane, squares + lane,
                             in.n - begin < chunk ? in.n - begin : chunk};
            if (starts || has_empty(lanes)) set_origins<starts>(lanes, begin, x, mask, rows);
            add<starts>(lanes, begin, x, mask, rows);
        }
    }

private:
    GRIDFOLD_FN static bool has_empty(const Span& lanes) {
        u64 empty = 0;
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < lanes.n; ++i) empty |= u64(lanes.count[i] == 0.0);
        return empty != 0;
    }

    /// The first accepted element of each lane without elements becomes its origin.
    template <bool starts, std::size_t rows, std::size_t... r>
    GRIDFOLD_FN static void set_origins(const Span& lanes, std::size_t begin, const Single<E> (&x)[rows],
                                        const u8* const (&mask)[rows], Rows<r...>) {
        using Bits = typename BitsOf<sizeof(E)>::type;
        E first[chunk];
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < lanes.n; ++i) {
            E element = E(0);
            ((element = blend(Bits(Bits(0) - mask[rows - 1 - r][begin + i]), E(x[rows - 1 - r][begin + i]), element)),
             ...);
            first[i] = element;
        }
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < lanes.n; ++i)
            lanes.origin[i] = starts || lanes.count[i] == 0.0 ? M::origin(first[i]) : lanes.origin[i];
    }

    template <bool starts, std::size_t rows, std::size_t... r>
    GRIDFOLD_FN static void add(const Span& lanes, std::size_t begin, const Single<E> (&x)[rows],
                                const u8* const (&mask)[rows], Rows<r...>) {
        using Bits = typename BitsOf<sizeof(Kept)>::type;
        i32 added[chunk];
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < lanes.n; ++i) added[i] = i32(u8((mask[r][begin + i] + ...)));
        Kept kept[rows][chunk], origin[chunk];
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < lanes.n; ++i) origin[i] = static_cast<Kept>(lanes.origin[i]);
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < lanes.n; ++i)
            ((kept[r][i] = blend(Bits(Bits(0) - mask[r][begin + i]), static_cast<Kept>(E(x[r][begin + i])), origin[i])),
             ...);
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < lanes.n; ++i) {
            f64 of_elements = starts ? 0.0 : lanes.sum[i], of_squares = starts ? 0.0 : lanes.squares[i];
            const f64 about = lanes.origin[i];
            const auto add_one = [&](Kept element) __attribute__((always_inline)) {
                const f64 d = convert<f64>(element) - about;
                of_elements += d;
                of_squares += d * d;
            };
            (add_one(kept[r][i]), ...);
            lanes.count[i] = (starts ? 0.0 : lanes.count[i]) + f64(added[i]);
            lanes.sum[i] = of_elements;
            lanes.squares[i] = of_squares;
        }
    }
};

template <class E, class A> struct MaskedFold<Moments<E, A>> {
    using type = MaskedMoments<E>;
};

} // namespace GRIDFOLD_NAMESPACE::kernels
