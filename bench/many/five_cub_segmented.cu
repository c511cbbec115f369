// Five statistics of each row by CUB: one call a statistic, five reads of everything.
#include <algorithm>
#include <limits>
#include <numeric>

#include "many/segmented_cub.cuh"
#include "statistics/five.hpp"

namespace bench {

namespace {

struct Square {
    __host__ __device__ float operator()(float x) const { return x * x; }
};

struct IsPositive {
    __host__ __device__ std::int64_t operator()(float x) const { return x > 0; }
};

} // namespace

Contender five_cub_segmented(const Input<float>& x, std::int64_t rows, int copies) {
    const std::int64_t length = x.elements() / rows;
    const auto floats = device_array<float>(4 * rows * copies); // sums, squares, minima, maxima of each copy
    const auto counts = device_array<std::int64_t>(rows * copies);
    const auto in = [x](int copy) -> const float* { return x.copy(copy); };
    const auto out = [floats, rows](int statistic) {
        return [floats, rows, statistic](int copy) { return floats.get() + (4 * copy + statistic) * rows; };
    };
    const auto count = [counts, rows](int copy) { return counts.get() + rows * copy; };
    const auto mapped = [in](auto map) {
        return [in, map](int copy) { return thrust::make_transform_iterator(in(copy), map); };
    };
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const std::vector<LibraryCall> calls{
        segmented(in, out(0), rows, length, cuda::std::plus<>{}, 0.0f),
        segmented(mapped(Square{}), out(1), rows, length, cuda::std::plus<>{}, 0.0f),
        segmented(in, out(2), rows, length, cuda::minimum<>{}, infinity),
        segmented(in, out(3), rows, length, cuda::maximum<>{}, -infinity),
        segmented(mapped(IsPositive{}), count, rows, length, cuda::std::plus<>{}, std::int64_t{0}),
    };
    Contender contender = library_contender(
        "cub", copies, calls, std::shared_ptr<std::byte[]>(floats, reinterpret_cast<std::byte*>(floats.get())),
        static_cast<std::size_t>(4 * rows) * sizeof(float));
    contender.results = [out, count, rows](int copy) {
        const auto of = [&](int statistic) { return to_host(out(statistic)(copy), rows); };
        const auto total = [](const auto& values) { return std::accumulate(values.begin(), values.end(), 0.0); };
        return std::vector<double>{total(of(0)), total(of(1)), std::ranges::min(of(2)), std::ranges::max(of(3)),
                                   total(to_host(count(copy), rows))};
    };
    return contender;
}

} // namespace bench
