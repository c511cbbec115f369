// Contender `omp_simd`: one OpenMP SIMD loop a statistic, on all threads if the column is large enough.
#include <cmath>
#include <limits>
#include <type_traits>

#if defined(__AVX__) && defined(__F16C__)
#include <immintrin.h>
#endif

#include "pieces.hpp"
#include "workloads.hpp"

namespace bench::cpu {
namespace {

/// The sum over all pieces of sum_of_piece(elements, count).
template <class Total, class T, class SumOfPiece> double total(const T* x, std::size_t n, SumOfPiece sum_of_piece) {
    Total sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(static) if (n >= worth_threads)
    for (std::size_t p = 0; p < piece_count(n); ++p)
        sum += static_cast<Total>(sum_of_piece(x + p * piece_elements, piece_size(p, n)));
    return static_cast<double>(sum);
}

/// The sum of term(x[i]); each piece is summed in a Sum.
template <class Sum, class T, class Term> double total_of(const T* x, std::size_t n, Term term) {
    using Total = std::conditional_t<std::is_integral_v<Sum>, std::int64_t, double>;
    return total<Total>(x, n, [term](const T* piece, std::size_t size) {
        Sum sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::size_t i = 0; i < size; ++i) sum += static_cast<Sum>(term(piece[i]));
        return sum;
    });
}

/// Written with intrinsics: compilers do not vectorise the conversion of halves.
double sum_of_halves(const gf::f16* x, std::size_t n) {
#if defined(__AVX__) && defined(__F16C__)
    return total<double>(x, n, [](const gf::f16* piece, std::size_t size) {
        constexpr std::size_t lanes = 8, chains = 4;
        __m256 sums[chains] = {};
        std::size_t i = 0;
        for (; i + chains * lanes <= size; i += chains * lanes)
            for (std::size_t c = 0; c < chains; ++c) {
                const auto* const halves = reinterpret_cast<const __m128i*>(piece + i + c * lanes);
                sums[c] = _mm256_add_ps(sums[c], _mm256_cvtph_ps(_mm_loadu_si128(halves)));
            }
        float lanes_of_sum[lanes];
        _mm256_storeu_ps(lanes_of_sum, _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3])));
        float sum = 0;
        for (const float lane : lanes_of_sum) sum += lane;
        for (; i < size; ++i) sum += number(piece[i]);
        return sum;
    });
#else
    return total_of<float>(x, n, [](gf::f16 v) { return number(v); });
#endif
}

double squares(const float* x, std::size_t n) {
    return total_of<float>(x, n, [](float v) { return v * v; });
}

double mean(const float* x, std::size_t n) {
    return total_of<float>(x, n, [](float v) { return v; }) / static_cast<double>(n);
}

/// The variance from sums about the first element, in one loop.
double variance(const float* x, std::size_t n) {
    const double origin = x[0], count = static_cast<double>(n);
    double sum = 0, sum_of_squares = 0;
#pragma omp parallel for simd reduction(+ : sum, sum_of_squares) schedule(static) if (parallel : n >= worth_threads)
    for (std::size_t i = 0; i < n; ++i) {
        const double d = static_cast<double>(x[i]) - origin;
        sum += d;
        sum_of_squares += d * d;
    }
    return (sum_of_squares - sum * sum / count) / count;
}

float min(const float* x, std::size_t n) {
    float least = std::numeric_limits<float>::infinity();
#pragma omp parallel for simd reduction(min : least) schedule(static) if (parallel : n >= worth_threads)
    for (std::size_t i = 0; i < n; ++i) least = x[i] < least ? x[i] : least;
    return least;
}

float max(const float* x, std::size_t n) {
    float most = -std::numeric_limits<float>::infinity();
#pragma omp parallel for simd reduction(max : most) schedule(static) if (parallel : n >= worth_threads)
    for (std::size_t i = 0; i < n; ++i) most = x[i] > most ? x[i] : most;
    return most;
}

double positive(const float* x, std::size_t n) {
    return total_of<int>(x, n, [](float v) { return v > 0 ? 1 : 0; });
}

bool any(const float* x, std::size_t n) {
    int found = 0;
#pragma omp parallel for simd reduction(| : found) schedule(static) if (parallel : n >= worth_threads)
    for (std::size_t i = 0; i < n; ++i) found |= x[i] != 0 ? 1 : 0;
    return found != 0;
}

bool all(const float* x, std::size_t n) {
    int held = 1;
#pragma omp parallel for simd reduction(& : held) schedule(static) if (parallel : n >= worth_threads)
    for (std::size_t i = 0; i < n; ++i) held &= x[i] != 0 ? 1 : 0;
    return held != 0;
}

float product(const float* x, std::size_t n) {
    float result = 1;
#pragma omp parallel for simd reduction(* : result) schedule(static) if (parallel : n >= worth_threads)
    for (std::size_t i = 0; i < n; ++i) result *= x[i];
    return result;
}

struct OmpSimd {
    template <class T> static double sum(const T* x, std::size_t n) {
        if constexpr (std::is_same_v<T, gf::f16>)
            return sum_of_halves(x, n);
        else
            return total_of<PieceSum<T>>(x, n, [](T v) { return v; });
    }
    static double cubes(const float* x, std::size_t n) {
        return total_of<float>(x, n, [](float v) { return v * v * v; });
    }
    static Numbers five(const float* x, std::size_t n) {
        return {sum(x, n), squares(x, n), min(x, n), max(x, n), positive(x, n)};
    }
    static Numbers dozen(const float* x, std::size_t n) {
        return {sum(x, n),
                squares(x, n),
                std::sqrt(squares(x, n)),
                mean(x, n),
                variance(x, n),
                std::sqrt(variance(x, n)),
                min(x, n),
                max(x, n),
                positive(x, n),
                any(x, n) ? 1.0 : 0.0,
                all(x, n) ? 1.0 : 0.0,
                product(x, n)};
    }
    static void zscore(const float* x, std::size_t n, float* z) {
        const auto centre = static_cast<float>(mean(x, n));
        const auto spread = static_cast<float>(std::sqrt(variance(x, n)));
#pragma omp parallel for simd schedule(static) if (parallel : n >= worth_threads)
        for (std::size_t i = 0; i < n; ++i) z[i] = (x[i] - centre) / spread;
    }
};

} // namespace

Call omp_simd(const Task& task) { return call_of<OmpSimd>(task); }

} // namespace bench::cpu
