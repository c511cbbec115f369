// Contender `eigen`: Array expressions of Eigen 3, which vectorise and run on one thread. One expression a statistic,
// except those computed from another (a root, a mean).
#include <cmath>

#include <Eigen/Core>

#include "workloads.hpp"

namespace bench::cpu {
namespace {

template <class T> using Column = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;

template <class T> Column<T> column(const T* x, std::size_t n) { return {x, static_cast<Eigen::Index>(n)}; }
Column<Eigen::half> column(const gf::f16* x, std::size_t n) {
    static_assert(sizeof(gf::f16) == sizeof(Eigen::half));
    return {reinterpret_cast<const Eigen::half*>(x), static_cast<Eigen::Index>(n)};
}

struct Eigen3 {
    template <class T> static double sum(const T* x, std::size_t n) {
        if constexpr (std::is_integral_v<T>)
            return static_cast<double>(column(x, n).template cast<std::int64_t>().sum());
        else if constexpr (std::is_same_v<T, gf::f16>)
            return column(x, n).template cast<float>().sum();
        else
            return static_cast<double>(column(x, n).sum());
    }

    static double cubes(const float* x, std::size_t n) { return column(x, n).cube().sum(); }

    static Numbers five(const float* x, std::size_t n) {
        const auto v = column(x, n);
        return {v.sum(), v.square().sum(), v.minCoeff(), v.maxCoeff(), static_cast<double>((v > 0).count())};
    }

    static Numbers dozen(const float* x, std::size_t n) {
        const auto v = column(x, n);
        const float sum = v.sum(), squares = v.square().sum(), mean = sum / static_cast<float>(n);
        const float variance = (v - mean).square().mean();
        return {sum,
                squares,
                std::sqrt(squares),
                mean,
                variance,
                std::sqrt(variance),
                v.minCoeff(),
                v.maxCoeff(),
                static_cast<double>((v > 0).count()),
                (v != 0).any() ? 1.0 : 0.0,
                (v != 0).all() ? 1.0 : 0.0,
                v.prod()};
    }

    static void zscore(const float* x, std::size_t n, float* z) {
        const auto v = column(x, n);
        const float mean = v.mean();
        const float stddev = std::sqrt((v - mean).square().mean());
        Eigen::Map<Eigen::ArrayXf>(z, static_cast<Eigen::Index>(n)) = (v - mean) / stddev;
    }

    static void log1p_zscore(const float* x, std::size_t n, float* z) {
        Eigen::Map<Eigen::ArrayXf> v(z, static_cast<Eigen::Index>(n));
        v = column(x, n).max(clamp_low).min(clamp_high).log1p();
        const float mean = v.mean();
        const float stddev = std::sqrt((v - mean).square().mean());
        v = (v - mean) / stddev;
    }
};

} // namespace

Call eigen(const Task& task) { return call_of<Eigen3>(task); }

} // namespace bench::cpu
