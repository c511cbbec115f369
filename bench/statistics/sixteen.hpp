// Contenders for sixteen statistics of a table with four columns.
#pragma once

#include "harness/contender.hpp"
#include "harness/input.hpp"

namespace bench {

struct Table {
    Input<float> a, b;
    Input<std::int32_t> c;
    Input<std::uint8_t> d;

    Table(std::int64_t rows, int copies)
        : a(rows, copies, 1), b(rows, copies, 2), c(rows, copies, 3), d(rows, copies, 4) {}
    static constexpr std::int64_t row_bytes = 13;
};

/// CUB with one call a statistic, except two pairs from one call each: mean and variance, and the maximum with its
/// index. The results are in the order of the graph's.
Contender sixteen_cub(const Table& table, int copies);

} // namespace bench
