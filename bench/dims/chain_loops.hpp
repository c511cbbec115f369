// The loops of contender `loop` of the chains: what a user fuses by hand, row by row on all threads, vectorised with
// -ffast-math, so that gcc calls libmvec's functions.
#pragma once

#include <cstddef>

namespace bench::dims {

/// Each reads `rows` rows of `length` elements of x and writes as many of y.
void softmax(const float* x, float* y, std::size_t rows, std::size_t length);
void layer_norm(const float* x, float* y, std::size_t rows, std::size_t length, float epsilon);

} // namespace bench::dims
