// What a user without gridfold would write: one OpenMP SIMD loop a statistic, for the machine that compiles it.
#pragma once

#include <cstddef>

namespace loops {

/// A read ceiling: the sum of the memory's 64-bit words, on all cores.
unsigned long read_words(const float* x, std::size_t n);

float sum(const float* x, std::size_t n);
float sum_of_cubes(const float* x, std::size_t n);
float sum_of_squares(const float* x, std::size_t n);
float l2_norm(const float* x, std::size_t n);
double mean(const float* x, std::size_t n);
double variance(const float* x, std::size_t n);
double stddev(const float* x, std::size_t n);
float min(const float* x, std::size_t n);
float max(const float* x, std::size_t n);
long count_positive(const float* x, std::size_t n);
bool any(const float* x, std::size_t n);
bool all(const float* x, std::size_t n);
float product(const float* x, std::size_t n);

} // namespace loops
