// Moments of masked lanes without branches: the same States as Moments::accumulate for the accepted elements.
//
// Each loop processes elements of one width, over few enough lanes for the first-level cache: a single loop would widen a
// byte's mask for eight vectors of f64 at a time. An element that is not accepted adds 0 to the sums, which changes no
// bit, since a sum that starts with +0 is never -0.
#pragma once

#include <gridfold/ops/host/folds.hpp>

#include <gridfold/ops/device/monoid.cuh>

namespace GRIDFOLD_NAMESPACE::kernels {

template <class E> struct MaskedMoments {
    using M = Moments<E, f64>;
    static constexpr std::size_t chunk = 128;

    /// starts: the lanes have no elements yet, and are not initialised.
    template <bool starts, std::size_t... r>
    GRIDFOLD_FN static void fold_rows(Lanes<typename M::State, lane_count> states, const FoldInput& in,
                                      std::size_t first_row, Rows<r...>) {
        constexpr std::size_t rows = sizeof...(r), last = rows - 1;
        using Bits = typename BitsOf<sizeof(E)>::type;
        auto* const count = reinterpret_cast<f64*>(states.base);
        f64 *const origin = count + lane_count, *const sum = origin + lane_count, *const squares = sum + lane_count;
        const Single<E> x[] = {Single<E>(in, first_row + r)...};
        const u8* const mask[] = {row<u8>(in.mask, in.mask_row, first_row + r)...}; // bool values are 0 or 1

        for (std::size_t begin = 0; begin < in.n; begin += chunk) {
            const std::size_t n = in.n - begin < chunk ? in.n - begin : chunk, lane = in.first + begin;
            i32 accepted[rows][chunk]; // -1 for an accepted element, else 0
            i32 added[chunk];          // the number of accepted elements of a lane
            E first[chunk];            // the first accepted element
            for (std::size_t k = 0; k < rows; ++k) {
                GRIDFOLD_INDEPENDENT
                for (std::size_t i = 0; i < n; ++i) accepted[k][i] = -i32(mask[k][begin + i]);
            }
            GRIDFOLD_INDEPENDENT
            for (std::size_t i = 0; i < n; ++i) {
                E element = E(0);
                ((element = blend(Bits(accepted[last - r][i]), E(x[last - r][begin + i]), element)), ...);
                first[i] = element;
                added[i] = -(accepted[r][i] + ...);
            }
            GRIDFOLD_INDEPENDENT
            for (std::size_t i = 0; i < n; ++i) {
                const f64 before = starts ? 0.0 : count[lane + i];
                origin[lane + i] = before == 0.0 ? M::origin(first[i]) : origin[lane + i];
                count[lane + i] = before + f64(added[i]);
            }
            GRIDFOLD_INDEPENDENT
            for (std::size_t i = 0; i < n; ++i) {
                f64 of_elements = starts ? 0.0 : sum[lane + i], of_squares = starts ? 0.0 : squares[lane + i];
                const f64 about = origin[lane + i];
                const auto add = [&](E element, i32 accept) __attribute__((always_inline)) {
                    const f64 d = from_bits(to_bits(convert<f64>(element) - about) & u64(i64(accept)));
                    of_elements += d;
                    of_squares += d * d;
                };
                (add(x[r][begin + i], accepted[r][i]), ...);
                sum[lane + i] = of_elements;
                squares[lane + i] = of_squares;
            }
        }
    }
};

template <class E, class A> struct MaskedFold<Moments<E, A>> {
    using type = MaskedMoments<E>;
};

} // namespace GRIDFOLD_NAMESPACE::kernels
