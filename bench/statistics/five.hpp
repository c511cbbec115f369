// Contenders for five statistics of one column of f32: sum, sum of squares, min, max, number of positive elements.
#pragma once

#include "harness/contender.hpp"
#include "harness/input.hpp"

namespace bench {

/// The statistics in the order of the results; also the state of cub_struct.
struct Five {
    float sum, squares, least, most;
    std::int64_t positive;
};
inline std::vector<double> numbers(const Five& five) {
    return {static_cast<double>(five.sum), static_cast<double>(five.squares), static_cast<double>(five.least),
            static_cast<double>(five.most), static_cast<double>(five.positive)};
}

/// CUB with five calls.
Contender five_cub(const Input<float>& x, int copies);

/// One TransformReduce with a state of five, in two variants: one element at a time, and 16 bytes at a time (a user's
/// next step towards bandwidth; the number of elements must be a multiple of 4).
std::vector<Contender> five_cub_struct(const Input<float>& x, int copies);

/// The graph of the five statistics of a column "x", and their right values.
gf::Graph five_statistics();
std::vector<Expected> expected_five(const Digits& digits);

} // namespace bench
