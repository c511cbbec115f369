// The loops of contender `loop`: what a user writes without gridfold, with OpenMP on all threads and vectorised.
// Floating-point sums are f32 within 4,096 elements and f64 beyond, as in bench/cpu; columns are summed in f64.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench::dims {

/// What is computed of each row or column; `five` are the sum, the sum of squares, min, max and the number of positive
/// elements.
enum class Statistic : std::uint8_t { sum, max, five };

/// An array of f32 with outer × folded × inner elements; `folded` is folded, so rows have inner = 1, and columns
/// outer = 1.
struct Shape {
    std::size_t outer, folded, inner;
    std::size_t results() const { return outer * inner; }
    std::size_t elements() const { return outer * folded * inner; }
};

/// The results: `results()` of each statistic. Those that are not asked for stay as they are.
struct Results {
    float *sum, *squares, *least, *most;
    std::int64_t* positive;
};

void loop(Statistic statistic, const Shape& shape, const float* x, const Results& results);

} // namespace bench::dims
