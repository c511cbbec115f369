// Contenders that fold a column.
#pragma once

#include <vector>

#include "harness/contender.hpp"
#include "harness/input.hpp"

namespace bench {

/// cub::DeviceReduce into gridfold's type of result; 16-bit floats are widened first, because CUB would add them in 16
/// bits.
template <class T> Contender cub_sum(const Input<T>& x, int copies);

/// cub::DeviceReduce::TransformReduce. f32 and i32.
template <class T> Contender cub_cubes(const Input<T>& x, int copies);

/// cub::DeviceReduce::Max and ArgMax.
Contender cub_max(const Input<float>& x, int copies);
Contender cub_argmax(const Input<float>& x, int copies);

/// cub::DeviceReduce::TransformReduce of two columns of equal length, one element and four elements at a time.
std::vector<Contender> cub_dot(const Input<float>& x, const Input<float>& y, int copies);

/// thrust::reduce and thrust::transform_reduce with a caching allocator. They return to the host, so they can be called
/// but not captured.
Contender thrust_sum(const Input<float>& x);
Contender thrust_cubes(const Input<float>& x);

} // namespace bench
