// Sum, sum of squares, min, max and how many are positive, of one column of f32: who computes them beside gridfold.
#pragma once

#include "harness/contender.hpp"
#include "harness/input.hpp"

namespace bench {

/// In the order of their results. Also the state of cub_struct.
struct Five {
    float sum, squares, least, most;
    std::int64_t positive;
};
inline std::vector<double> numbers(const Five& five) {
    return {static_cast<double>(five.sum), static_cast<double>(five.squares), static_cast<double>(five.least),
            static_cast<double>(five.most), static_cast<double>(five.positive)};
}

/// Five calls.
Contender five_cub(const Input<float>& x, int copies);

/// One TransformReduce with a state of five, in two variants: an element at a time, and 16 bytes at a time (what a user
/// who looks for bandwidth would try next; the number of elements must be a multiple of 4).
std::vector<Contender> five_cub_struct(const Input<float>& x, int copies);

/// The five statistics of a column "x", and what they must be.
gf::Graph five_statistics();
std::vector<Expected> expected_five(const Digits& digits);

} // namespace bench
