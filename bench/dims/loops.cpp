#include "loops.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include <omp.h>

namespace bench::dims {
namespace {

constexpr std::size_t piece = 4096; ///< elements whose sums are f32
constexpr std::size_t worth_threads = std::size_t{1} << 16;
constexpr float infinity = std::numeric_limits<float>::infinity();

struct Five {
    double sum = 0, squares = 0;
    float least = infinity, most = -infinity;
    std::int64_t positive = 0;
};

template <Statistic statistic> Five of_row(const float* x, std::size_t n) {
    Five of;
    for (std::size_t begin = 0; begin < n; begin += piece) {
        const std::size_t end = std::min(begin + piece, n);
        float sum = 0, squares = 0, least = of.least, most = of.most;
        int positive = 0;
        if constexpr (statistic == Statistic::sum) {
#pragma omp simd reduction(+ : sum)
            for (std::size_t i = begin; i < end; ++i) sum += x[i];
        } else if constexpr (statistic == Statistic::max) {
#pragma omp simd reduction(max : most)
            for (std::size_t i = begin; i < end; ++i) most = x[i] > most ? x[i] : most;
        } else {
#pragma omp simd reduction(+ : sum, squares, positive) reduction(min : least) reduction(max : most)
            for (std::size_t i = begin; i < end; ++i) {
                const float v = x[i];
                sum += v;
                squares += v * v;
                least = v < least ? v : least;
                most = v > most ? v : most;
                positive += v > 0 ? 1 : 0;
            }
        }
        of = {of.sum + static_cast<double>(sum), of.squares + static_cast<double>(squares), least, most,
              of.positive + positive};
    }
    return of;
}

template <Statistic statistic> void store(const Results& results, std::size_t i, const Five& of) {
    if constexpr (statistic != Statistic::max) results.sum[i] = static_cast<float>(of.sum);
    if constexpr (statistic != Statistic::sum) results.most[i] = of.most;
    if constexpr (statistic == Statistic::five) {
        results.squares[i] = static_cast<float>(of.squares);
        results.least[i] = of.least;
        results.positive[i] = of.positive;
    }
}

template <Statistic statistic> void rows(const Shape& shape, const float* x, const Results& results) {
#pragma omp parallel for schedule(static) if (shape.elements() >= worth_threads)
    for (std::size_t row = 0; row < shape.outer; ++row)
        store<statistic>(results, row, of_row<statistic>(x + row * shape.folded, shape.folded));
}

/// The running statistics of a range of columns.
struct Columns {
    std::vector<double> sum, squares;
    std::vector<float> least, most;
    std::vector<std::int64_t> positive;

    explicit Columns(std::size_t n) : sum(n), squares(n), least(n, infinity), most(n, -infinity), positive(n) {}
};

template <Statistic statistic> void add_row(Columns& of, const float* x, std::size_t n) {
    double *const sum = of.sum.data(), *const squares = of.squares.data();
    float *const least = of.least.data(), *const most = of.most.data();
    std::int64_t* const positive = of.positive.data();
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        const float v = x[i];
        if constexpr (statistic != Statistic::max) sum[i] += static_cast<double>(v);
        if constexpr (statistic != Statistic::sum) most[i] = v > most[i] ? v : most[i];
        if constexpr (statistic == Statistic::five) {
            squares[i] += static_cast<double>(v * v);
            least[i] = v < least[i] ? v : least[i];
            positive[i] += v > 0 ? 1 : 0;
        }
    }
}

void add(Columns& to, const Columns& of) {
    for (std::size_t i = 0; i < to.sum.size(); ++i) {
        to.sum[i] += of.sum[i];
        to.squares[i] += of.squares[i];
        to.least[i] = std::min(to.least[i], of.least[i]);
        to.most[i] = std::max(to.most[i], of.most[i]);
        to.positive[i] += of.positive[i];
    }
}

/// Threads share the rows of each outer coordinate, and add what they have.
template <Statistic statistic> void columns(const Shape& shape, const float* x, const Results& results) {
    for (std::size_t outer = 0; outer < shape.outer; ++outer) {
        Columns all(shape.inner);
        const float* const first = x + outer * shape.folded * shape.inner;
#pragma omp parallel if (shape.folded * shape.inner >= worth_threads)
        {
            Columns own(shape.inner);
#pragma omp for schedule(static) nowait
            for (std::size_t row = 0; row < shape.folded; ++row)
                add_row<statistic>(own, first + row * shape.inner, shape.inner);
#pragma omp critical
            add(all, own);
        }
        for (std::size_t i = 0; i < shape.inner; ++i)
            store<statistic>(results, outer * shape.inner + i,
                             {all.sum[i], all.squares[i], all.least[i], all.most[i], all.positive[i]});
    }
}

template <Statistic statistic> void run(const Shape& shape, const float* x, const Results& results) {
    if (shape.inner == 1)
        rows<statistic>(shape, x, results);
    else
        columns<statistic>(shape, x, results);
}

} // namespace

void loop(Statistic statistic, const Shape& shape, const float* x, const Results& results) {
    switch (statistic) {
    case Statistic::sum: return run<Statistic::sum>(shape, x, results);
    case Statistic::max: return run<Statistic::max>(shape, x, results);
    case Statistic::five: return run<Statistic::five>(shape, x, results);
    }
}

} // namespace bench::dims
