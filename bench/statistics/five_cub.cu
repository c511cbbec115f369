// A CUB user's first version: one call a statistic, five reads of the column.
#include <cub/device/device_reduce.cuh>

#include "harness/library.hpp"
#include "statistics/five_maps.cuh"

namespace bench {

Contender five_cub(const Input<float>& x, int copies) {
    using Reduce = cub::DeviceReduce;
    const auto states = device_array<Five>(copies);
    const auto data = [x](int copy) -> const float* { return x.copy(copy); };
    const auto out = [states](int copy) { return states.get() + copy; };
    const std::int64_t n = x.elements();
    const std::vector<LibraryCall> calls{
        [=](void* storage, std::size_t& bytes, int copy, cudaStream_t stream) {
            return Reduce::Sum(storage, bytes, data(copy), &out(copy)->sum, n, stream);
        },
        [=](void* storage, std::size_t& bytes, int copy, cudaStream_t stream) {
            return Reduce::TransformReduce(storage, bytes, data(copy), &out(copy)->squares, n, cuda::std::plus<>{},
                                           Square{}, 0.0f, stream);
        },
        [=](void* storage, std::size_t& bytes, int copy, cudaStream_t stream) {
            return Reduce::Min(storage, bytes, data(copy), &out(copy)->least, n, stream);
        },
        [=](void* storage, std::size_t& bytes, int copy, cudaStream_t stream) {
            return Reduce::Max(storage, bytes, data(copy), &out(copy)->most, n, stream);
        },
        [=](void* storage, std::size_t& bytes, int copy, cudaStream_t stream) {
            return Reduce::TransformReduce(storage, bytes, data(copy), &out(copy)->positive, n, cuda::std::plus<>{},
                                           IsPositive{}, std::int64_t{0}, stream);
        },
    };
    return library_contender("cub", copies, calls, states, numbers);
}

} // namespace bench
