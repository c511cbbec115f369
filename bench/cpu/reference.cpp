#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

namespace bench::cpu {
namespace {

/// Sums of a column's powers and of their absolute values, and other statistics; exact except the cubes' last digits.
struct Facts {
    double sum = 0, squares = 0, cubes = 0, absolute = 0, absolute_cubes = 0;
    double least = std::numeric_limits<double>::infinity(), most = -least, positive = 0, product = 1;
};

template <class T> Facts facts_of(const T* x, std::size_t n) {
    double sum = 0, squares = 0, cubes = 0, absolute = 0, absolute_cubes = 0, positive = 0, product = 1;
    double least = std::numeric_limits<double>::infinity(), most = -least;
#pragma omp parallel for schedule(static) reduction(+ : sum, squares, cubes, absolute, absolute_cubes, positive) \
    reduction(min : least) reduction(max : most) reduction(* : product)
    for (std::size_t i = 0; i < n; ++i) {
        const auto v = static_cast<double>(number(x[i]));
        sum += v;
        squares += v * v;
        cubes += v * v * v;
        absolute += std::abs(v);
        absolute_cubes += std::abs(v * v * v);
        least = std::min(least, v);
        most = std::max(most, v);
        positive += v > 0 ? 1 : 0;
        product *= v;
    }
    return {sum, squares, cubes, absolute, absolute_cubes, least, most, positive, product};
}

double words_of(const Task& task) {
    const auto* const bytes = static_cast<const char*>(task.x);
    const std::size_t words = task.n * size_of(task.type) / sizeof(std::uint64_t);
    std::uint64_t total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total)
    for (std::size_t i = 0; i < words; ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes + i * sizeof word, sizeof word);
        total += word;
    }
    return static_cast<double>(total);
}

double logarithm(float x) { return std::log1p(static_cast<double>(std::clamp(x, clamp_low, clamp_high))); }

void set_moments_of_logarithms(Reference& r, const Task& task) {
    const auto* const x = static_cast<const float*>(task.x);
    const double n = static_cast<double>(task.n);
    double sum = 0, squares = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (std::size_t i = 0; i < task.n; ++i) sum += logarithm(x[i]);
    r.mean = sum / n;
#pragma omp parallel for schedule(static) reduction(+ : squares)
    for (std::size_t i = 0; i < task.n; ++i) squares += (logarithm(x[i]) - r.mean) * (logarithm(x[i]) - r.mean);
    r.stddev = std::sqrt(squares / n);
}

} // namespace

Reference refer(const Task& task) {
    Facts f;
    with_column(task, [&](const auto* x) -> Call {
        f = facts_of(x, task.n);
        return {};
    });
    const double n = static_cast<double>(task.n), mean = f.sum / n;
    const double variance = f.squares / n - mean * mean; // the mean is nearly 0: no digits cancel
    const double norm = std::sqrt(f.squares), stddev = std::sqrt(variance);
    Reference r{{}, {}, words_of(task), mean, stddev};
    if (task.workload == Workload::log1p_zscore) set_moments_of_logarithms(r, task);
    switch (task.workload) {
    case Workload::sum:
        r.numbers = {f.sum};
        r.scale = {f.absolute};
        break;
    case Workload::cubes:
        r.numbers = {f.cubes};
        r.scale = {f.absolute_cubes};
        break;
    case Workload::five:
        r.numbers = {f.sum, f.squares, f.least, f.most, f.positive};
        r.scale = {f.absolute, f.squares};
        break;
    case Workload::dozen:
        r.numbers = {f.sum, f.squares, norm, mean, variance, stddev, f.least, f.most, f.positive, 1, 1, f.product};
        r.scale = {f.absolute, f.squares, norm, f.absolute / n, variance, stddev, 0, 0, 0, 0, 0, 1};
        break;
    case Workload::zscore:
    case Workload::log1p_zscore: break;
    case Workload::range:
    case Workload::built_in_range:
        r.numbers = {f.most - f.least};
        r.scale = {f.most - f.least};
        break;
    case Workload::many: { // sums of so few elements are exact in any order, in f32 too
        std::vector<double> sums;
        for (std::size_t row = 0; row < row_count(task.n); ++row)
            sums.push_back(
                std::accumulate(static_cast<const float*>(task.x) + row * row_elements,
                                static_cast<const float*>(task.x) + row * row_elements + row_size(row, task.n), 0.0));
        r.numbers = numbers_of_sums(sums);
        break;
    }
    }
    return r;
}

bool Reference::agrees(const Task& task, double tolerance) const {
    const auto* x = static_cast<const float*>(task.x);
    const bool of_logarithms = task.workload == Workload::log1p_zscore;
    bool right = true;
#pragma omp parallel for schedule(static) reduction(&& : right)
    for (std::size_t i = 0; i < task.n; ++i)
        right = right && std::abs(static_cast<double>(task.z[i]) -
                                  ((of_logarithms ? logarithm(x[i]) : static_cast<double>(x[i])) - mean) / stddev) <=
                             2 * tolerance;
    return right;
}

} // namespace bench::cpu
