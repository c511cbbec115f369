// Contender `omp_fused`: all statistics of a workload in one OpenMP SIMD loop, fused by hand, on all threads if the
// column is large enough.
#include <cmath>
#include <limits>

#include "pieces.hpp"
#include "workloads.hpp"

namespace bench::cpu {
namespace {

/// The least elements for which waking threads pays off where each takes a logarithm.
constexpr std::size_t worth_logarithms = 1 << 12;

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Sums of d and d², where d is the difference from the first element.
struct Moments {
    double origin, sum = 0, squares = 0;

    double mean(double count) const { return origin + sum / count; }
    double variance(double count) const { return (squares - sum * sum / count) / count; }
};

struct OmpFused {
    static Numbers five(const float* x, std::size_t n) {
        double sum = 0, squares = 0;
        float least = infinity, most = -infinity;
        std::int64_t positive = 0;
#pragma omp parallel for reduction(+ : sum, squares, positive) reduction(min : least) reduction(max : most) \
    schedule(static) if (n >= worth_threads)
        for (std::size_t p = 0; p < piece_count(n); ++p) {
            const float* const piece = x + p * piece_elements;
            const std::size_t size = piece_size(p, n);
            float piece_sum = 0, piece_squares = 0, piece_least = infinity, piece_most = -infinity;
            int piece_positive = 0;
#pragma omp simd reduction(+ : piece_sum, piece_squares, piece_positive) reduction(min : piece_least) \
    reduction(max : piece_most)
            for (std::size_t i = 0; i < size; ++i) {
                const float v = piece[i];
                piece_sum += v;
                piece_squares += v * v;
                piece_least = v < piece_least ? v : piece_least;
                piece_most = v > piece_most ? v : piece_most;
                piece_positive += v > 0 ? 1 : 0;
            }
            sum += static_cast<double>(piece_sum);
            squares += static_cast<double>(piece_squares);
            least = piece_least < least ? piece_least : least;
            most = piece_most > most ? piece_most : most;
            positive += piece_positive;
        }
        return {sum, squares, least, most, static_cast<double>(positive)};
    }

    static Numbers dozen(const float* x, std::size_t n) {
        const double count = static_cast<double>(n), origin = x[0];
        double sum = 0, squares = 0, from_origin = 0, squares_from_origin = 0;
        float least = infinity, most = -infinity, product = 1;
        std::int64_t positive = 0;
        int any = 0, all = 1;
#pragma omp parallel for reduction(+ : sum, squares, from_origin, squares_from_origin, positive)              \
    reduction(min : least) reduction(max : most) reduction(* : product) reduction(| : any) reduction(& : all) \
    schedule(static) if (n >= worth_threads)
        for (std::size_t p = 0; p < piece_count(n); ++p) {
            const float* const piece = x + p * piece_elements;
            const std::size_t size = piece_size(p, n);
            double piece_from_origin = 0, piece_squares_from_origin = 0;
            float piece_sum = 0, piece_squares = 0, piece_product = 1, piece_least = infinity, piece_most = -infinity;
            int piece_positive = 0, piece_any = 0, piece_all = 1;
#pragma omp simd reduction(+ : piece_sum, piece_squares, piece_from_origin, piece_squares_from_origin, piece_positive) \
    reduction(min : piece_least) reduction(max : piece_most) reduction(* : piece_product) reduction(| : piece_any)     \
    reduction(& : piece_all)
            for (std::size_t i = 0; i < size; ++i) {
                const float v = piece[i];
                const double d = static_cast<double>(v) - origin;
                piece_sum += v;
                piece_squares += v * v;
                piece_from_origin += d;
                piece_squares_from_origin += d * d;
                piece_least = v < piece_least ? v : piece_least;
                piece_most = v > piece_most ? v : piece_most;
                piece_positive += v > 0 ? 1 : 0;
                piece_any |= v != 0 ? 1 : 0;
                piece_all &= v != 0 ? 1 : 0;
                piece_product *= v;
            }
            sum += static_cast<double>(piece_sum);
            squares += static_cast<double>(piece_squares);
            from_origin += piece_from_origin;
            squares_from_origin += piece_squares_from_origin;
            least = piece_least < least ? piece_least : least;
            most = piece_most > most ? piece_most : most;
            positive += piece_positive;
            any |= piece_any;
            all &= piece_all;
            product *= piece_product;
        }
        const Moments moments{origin, from_origin, squares_from_origin};
        return {sum,
                squares,
                std::sqrt(squares),
                sum / count,
                moments.variance(count),
                std::sqrt(moments.variance(count)),
                least,
                most,
                static_cast<double>(positive),
                static_cast<double>(any),
                static_cast<double>(all),
                product};
    }

    static void zscore(const float* x, std::size_t n, float* z) {
        const double origin = x[0];
        double sum = 0, squares = 0;
#pragma omp parallel for simd reduction(+ : sum, squares) schedule(static) if (parallel : n >= worth_threads)
        for (std::size_t i = 0; i < n; ++i) {
            const double d = static_cast<double>(x[i]) - origin;
            sum += d;
            squares += d * d;
        }
        standardise(x, n, {origin, sum, squares}, z);
    }

    /// Keeps the logarithms in z between its passes.
    static void log1p_zscore(const float* x, std::size_t n, float* z) {
        const auto logarithm = [](float v) {
            const float low = v < clamp_low ? clamp_low : v;
            return std::log1p(low > clamp_high ? clamp_high : low);
        };
        const double origin = logarithm(x[0]);
        double sum = 0, squares = 0;
#pragma omp parallel for reduction(+ : sum, squares) schedule(static) if (parallel : n >= worth_logarithms)
        for (std::size_t i = 0; i < n; ++i) {
            z[i] = logarithm(x[i]);
            const double d = static_cast<double>(z[i]) - origin;
            sum += d;
            squares += d * d;
        }
        standardise(z, n, {origin, sum, squares}, z);
    }

private:
    /// z may be x.
    static void standardise(const float* x, std::size_t n, const Moments& moments, float* z) {
        const auto count = static_cast<double>(n);
        const auto centre = static_cast<float>(moments.mean(count));
        const auto spread = static_cast<float>(std::sqrt(moments.variance(count)));
#pragma omp parallel for simd schedule(static) if (parallel : n >= worth_threads)
        for (std::size_t i = 0; i < n; ++i) z[i] = (x[i] - centre) / spread;
    }
};

} // namespace

Call omp_fused(const Task& task) { return call_of<OmpFused>(task); }

} // namespace bench::cpu
