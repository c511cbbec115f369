// Contender `loop`: one plain loop on one thread. Floating-point sums are f64, because a float at 2^24 cannot count by
// ones.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "workloads.hpp"

namespace bench::cpu {
namespace {

struct Loop {
    template <class T> static double sum(const T* x, std::size_t n) {
        std::conditional_t<std::is_integral_v<T>, std::int64_t, double> total = 0;
        for (std::size_t i = 0; i < n; ++i) total += static_cast<decltype(total)>(number(x[i]));
        return static_cast<double>(total);
    }

    static double cubes(const float* x, std::size_t n) {
        double total = 0;
        for (std::size_t i = 0; i < n; ++i) total += static_cast<double>(x[i] * x[i] * x[i]);
        return total;
    }

    static double range(const float* x, std::size_t n) {
        float least = std::numeric_limits<float>::infinity(), most = -least;
        for (std::size_t i = 0; i < n; ++i) least = std::min(least, x[i]), most = std::max(most, x[i]);
        return most - least;
    }

    static Numbers five(const float* x, std::size_t n) {
        double total = 0, squares = 0;
        float least = std::numeric_limits<float>::infinity(), most = -least;
        std::int64_t positive = 0;
        for (std::size_t i = 0; i < n; ++i) {
            total += static_cast<double>(x[i]);
            squares += static_cast<double>(x[i] * x[i]);
            least = std::min(least, x[i]);
            most = std::max(most, x[i]);
            positive += x[i] > 0;
        }
        return {total, squares, least, most, static_cast<double>(positive)};
    }

    static Numbers dozen(const float* x, std::size_t n) {
        const double count = static_cast<double>(n), origin = x[0];
        double total = 0, squares = 0, from_origin = 0, squares_from_origin = 0;
        float least = std::numeric_limits<float>::infinity(), most = -least, product = 1;
        std::int64_t positive = 0;
        bool any = false, all = true;
        for (std::size_t i = 0; i < n; ++i) {
            const double d = static_cast<double>(x[i]) - origin;
            total += static_cast<double>(x[i]);
            squares += static_cast<double>(x[i] * x[i]);
            from_origin += d;
            squares_from_origin += d * d;
            least = std::min(least, x[i]);
            most = std::max(most, x[i]);
            positive += x[i] > 0;
            any |= x[i] != 0;
            all &= x[i] != 0;
            product *= x[i];
        }
        const double variance = (squares_from_origin - from_origin * from_origin / count) / count;
        return {total,
                squares,
                std::sqrt(squares),
                total / count,
                variance,
                std::sqrt(variance),
                least,
                most,
                static_cast<double>(positive),
                any ? 1.0 : 0.0,
                all ? 1.0 : 0.0,
                product};
    }

    static void row_sums(const float* x, std::size_t n, float* sums) {
        for (std::size_t row = 0; row < row_count(n); ++row)
            sums[row] = static_cast<float>(sum(x + row * row_elements, row_size(row, n)));
    }

    static void zscore(const float* x, std::size_t n, float* z) {
        const double origin = x[0];
        double total = 0, squares = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const double d = static_cast<double>(x[i]) - origin;
            total += d;
            squares += d * d;
        }
        standardise(x, n, origin, total, squares, z);
    }

    static void log1p_zscore(const float* x, std::size_t n, float* z) {
        double total = 0, squares = 0, origin = 0;
        for (std::size_t i = 0; i < n; ++i) {
            z[i] = std::log1p(std::clamp(x[i], clamp_low, clamp_high));
            if (i == 0) origin = z[0];
            const double d = static_cast<double>(z[i]) - origin;
            total += d;
            squares += d * d;
        }
        standardise(z, n, origin, total, squares, z);
    }

private:
    /// From the sums of x − origin and of its squares; z may be x.
    static void standardise(const float* x, std::size_t n, double origin, double total, double squares, float* z) {
        const auto count = static_cast<double>(n);
        const auto mean = static_cast<float>(origin + total / count);
        const auto stddev = static_cast<float>(std::sqrt((squares - total * total / count) / count));
        for (std::size_t i = 0; i < n; ++i) z[i] = (x[i] - mean) / stddev;
    }
};

} // namespace

Call loop(const Task& task) { return call_of<Loop>(task); }

} // namespace bench::cpu
