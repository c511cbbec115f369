// CUB's sum of cubes: the cube is its transform.
#include <cub/device/device_reduce.cuh>

#include "harness/library.hpp"
#include "sum/contenders.hpp"

namespace bench {

namespace {

struct Cube {
    template <class T> __device__ T operator()(T x) const { return x * x * x; }
};

} // namespace

template <class T> Contender cub_cubes(const Input<T>& x, int copies) {
    using Sum = typename Element<T>::Sum;
    const auto sums = device_array<Sum>(copies);
    const LibraryCall call = [x, sums](void* storage, std::size_t& bytes, int copy, cudaStream_t stream) {
        return cub::DeviceReduce::TransformReduce(storage, bytes, static_cast<const T*>(x.copy(copy)),
                                                  sums.get() + copy, x.elements(), cuda::std::plus<>{}, Cube{}, Sum{0},
                                                  stream);
    };
    return library_contender<Sum>("cub", copies, {call}, sums,
                                  [](Sum sum) { return std::vector{static_cast<double>(sum)}; });
}

template Contender cub_cubes(const Input<float>&, int);
template Contender cub_cubes(const Input<std::int32_t>&, int);

} // namespace bench
