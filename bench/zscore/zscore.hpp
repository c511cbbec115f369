// (x - mean) / stddev of a column of f32: a contender, and a check of results.
#pragma once

#include "harness/contender.hpp"
#include "harness/input.hpp"

namespace bench {

/// CUB for the sums of x and of x * x in f64, 16 bytes at a time, then a kernel that maps. Less accurate than
/// gridfold's mean and variance, and therefore a little faster. The number of elements must be a multiple of 4.
Contender zscore_cub_and_kernel(const Input<float>& x, const Input<float>& y, int copies);

/// The number of elements of y that are not (x - mean) / stddev. Overwrites y with wrong values for the next contender.
double count_wrong_and_spoil(const Input<float>& x, const Input<float>& y, int copy, double mean, double stddev);

} // namespace bench
