// cub::DeviceSegmentedReduce over consecutive rows of one length.
#pragma once

#include <vector>

#include "harness/contender.hpp"
#include "harness/input.hpp"

namespace bench {

/// One call: the sum of each row, in gridfold's type of result, or its maximum.
template <class T> Contender rows_cub(bool sum, const Input<T>& x, std::int64_t rows, int copies);

/// Five calls: the five statistics of each row, row after row.
Contender five_cub_segmented(const Input<float>& x, std::int64_t rows, int copies);

/// One call with a state of five, in the two variants of five_cub_struct.
std::vector<Contender> five_cub_struct_segmented(const Input<float>& x, std::int64_t rows, int copies);

} // namespace bench
