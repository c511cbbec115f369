// The body of cub_sum; its instances are spread over several files, because each takes a while to compile.
#pragma once

#include <type_traits>

#include <cub/device/device_reduce.cuh>

#include "harness/library.hpp"
#include "sum/contenders.hpp"

namespace bench {

struct Widen {
    template <class T> __device__ float operator()(T x) const { return static_cast<float>(x); }
};

template <class T> Contender cub_sum(const Input<T>& x, int copies) {
    using Sum = typename Element<T>::Sum;
    const auto sums = device_array<Sum>(copies);
    const LibraryCall call = [x, sums](void* storage, std::size_t& bytes, int copy, cudaStream_t stream) {
        const T* const data = x.copy(copy);
        Sum* const sum = sums.get() + copy;
        if constexpr (std::is_arithmetic_v<T>)
            return cub::DeviceReduce::Sum(storage, bytes, data, sum, x.elements(), stream);
        else
            return cub::DeviceReduce::TransformReduce(storage, bytes, data, sum, x.elements(), cuda::std::plus<>{},
                                                      Widen{}, Sum{0}, stream);
    };
    return library_contender<Sum>("cub", copies, {call}, sums,
                                  [](Sum sum) { return std::vector{static_cast<double>(sum)}; });
}

} // namespace bench
