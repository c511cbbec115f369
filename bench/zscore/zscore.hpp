// (x - mean) / stddev of a column of f32: who computes it beside gridfold, and what checks it.
#pragma once

#include "harness/contender.hpp"
#include "harness/input.hpp"

namespace bench {

/// CUB for the sums of x and of x * x in f64, 16 bytes at a time, then a kernel that maps. Less careful than gridfold's
/// mean and variance, and so a little faster than an equal would be. The number of elements is a multiple of 4.
Contender zscore_cub_and_kernel(const Input<float>& x, const Input<float>& y, int copies);

/// How many elements of y are not (x - mean) / stddev. Then makes them all wrong, for the next contender.
double count_wrong_and_spoil(const Input<float>& x, const Input<float>& y, int copy, double mean, double stddev);

} // namespace bench
