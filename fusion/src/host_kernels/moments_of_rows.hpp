// The moments of short rows of f32, whose lanes share an origin. The tree's first three levels need no shuffle of f64:
// elements change places as f32, of which a vector holds twice as many, so that a level combines whole vectors.
#pragma once

#include "host_kernels/registers.hpp"

#if defined(__AVX2__)
#include <immintrin.h>

namespace GRIDFOLD_NAMESPACE::kernels {

template <class M> struct MomentsOfRows {
    using State = typename M::OfBlock::State;
    using T = typename CombineLanes<typename M::OfBlock>::type;
    static constexpr std::size_t group = 32; ///< the elements that become four lanes
    static constexpr std::size_t plane_bytes = T::lanes_at_once * sizeof(f64);
    static constexpr bool takes_all = false;
    GRIDFOLD_FN static bool takes(std::size_t n) { return n >= group && n <= lane_count; }

    GRIDFOLD_FN static void fold(const ShortRows& in, typename M::State* states) {
        const auto* const x = static_cast<const f32*>(in.x);
        std::size_t left = group / 8; // lanes of a row
        while (8 * left < in.n) left *= 2;
        const std::size_t most = T::lanes_at_once / left;
        alignas(64) char memory[sizeof(State) * T::lanes_at_once];
        const typename T::Some some{memory};
        PrefetchInSteps ahead(in, in.rows * ((in.n + group - 1) / group));
        std::size_t count = 0;
        for (std::size_t row = 0; row < in.rows; row += count) {
            count = most < in.rows - row ? most : in.rows - row;
            for (std::size_t r = 0; r < count; ++r)
                set_row(memory + r * left * sizeof(f64), left, x + (row + r) * in.n, in.n, ahead);
            T::combine_runs(some, count, left);
            for (std::size_t r = 0; r < count; ++r)
                states[row + r] = M::close(some.load(r), M::origin(x[(row + r) * in.n]), static_cast<i64>(in.n));
        }
    }

private:
    using Floats __attribute__((vector_size(32))) = f32;
    using Doubles __attribute__((vector_size(32))) = f64;

    /// Sets `left` lanes. `sums`: the first one's plane of sums.
    GRIDFOLD_FN static void set_row(char* sums, std::size_t left, const f32* x, std::size_t n, PrefetchInSteps& ahead) {
        const f64 origin = M::origin(x[0]);
        std::size_t begin = 0;
        for (; begin + group <= n; begin += group) {
            ahead.step();
            const f32* const at = x + begin;
            set_group(sums + begin / 8 * sizeof(f64), eight(at), eight(at + 8), eight(at + 16), eight(at + 24), origin);
        }
        if (begin < n) {
            set_rest(sums + begin / 8 * sizeof(f64), x + begin, n - begin, origin);
            begin += group;
        }
        constexpr f64 none = 0.0; // stored one by one: a call of memset() takes longer than most rows' few lanes
        for (std::size_t lane = begin / 8; lane < left; ++lane)
            for (char* const plane : {sums, sums + plane_bytes})
                __builtin_memcpy(plane + lane * sizeof none, &none, sizeof none);
    }

    GRIDFOLD_FN static Floats eight(const f32* x) {
        Floats all;
        __builtin_memcpy(&all, x, sizeof all);
        return all;
    }
    /// The first `left` of eight elements. The origin stands for others, so that they add 0 to the sums.
    GRIDFOLD_FN static Floats some_of_eight(const f32* x, std::size_t left, f32 origin) {
        static constexpr i32 masks[] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
        const std::size_t n = left < 8 ? left : 8;
        const __m256i mask = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(masks + 8 - n));
        return _mm256_blendv_ps(origin - Floats{}, _mm256_maskload_ps(x, mask), _mm256_castsi256_ps(mask));
    }
    /// Sets four lanes, of fewer elements.
    GRIDFOLD_FN static void set_rest(char* sums, const f32* x, std::size_t left, f64 about) {
        const auto origin = static_cast<f32>(about);
        const auto of = [=](std::size_t first) __attribute__((always_inline)) {
            const std::size_t some = first < left ? left - first : 0; // defect: rest of a row
            return some_of_eight(some > 0 ? x + first : x, some, origin);
        };
        set_group(sums, of(0), of(8), of(16), of(24), about);
    }

    /// Sets four lanes, of eight elements each.
    GRIDFOLD_FN static void set_group(char* sums, Floats a, Floats b, Floats c, Floats d, f64 about) {
        const Floats ab = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
        const Floats ab_high = __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
        const Floats cd = __builtin_shufflevector(c, d, 0, 8, 1, 9, 4, 12, 5, 13);
        const Floats cd_high = __builtin_shufflevector(c, d, 2, 10, 3, 11, 6, 14, 7, 15);
        // Of elements 4 i + k the even i, then the odd ones.
        alignas(32) Floats of_k[4] = {__builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13),
                                      __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15),
                                      __builtin_shufflevector(ab_high, cd_high, 0, 1, 8, 9, 4, 5, 12, 13),
                                      __builtin_shufflevector(ab_high, cd_high, 2, 3, 10, 11, 6, 7, 14, 15)};
        __asm__("" : "+m"(of_k)); // in memory, from where a conversion takes half a vector without a shuffle
        const Doubles origin = about - Doubles{}; // 0 + −0 would be +0
        Doubles sum[2], squares[2];
#pragma GCC unroll 2
        for (int odd = 0; odd < 2; ++odd) {
            Doubles of[4];
#pragma GCC unroll 4
            for (int k = 0; k < 4; ++k)
                of[k] = _mm256_cvtps_pd(_mm_load_ps(reinterpret_cast<const f32*>(&of_k[k]) + 4 * odd)) - origin;
            sum[odd] = (of[0] + of[1]) + (of[2] + of[3]);
            squares[odd] = (of[0] * of[0] + of[1] * of[1]) + (of[2] * of[2] + of[3] * of[3]);
        }
        sum[0] += sum[1];
        squares[0] += squares[1];
        __builtin_memcpy(sums, sum, sizeof sum[0]);
        __builtin_memcpy(sums + plane_bytes, squares, sizeof squares[0]);
    }
};

template <> struct FoldRows<Moments<f32, f64>, f32> {
    using type = MomentsOfRows<Moments<f32, f64>>;
};

} // namespace GRIDFOLD_NAMESPACE::kernels

#endif
