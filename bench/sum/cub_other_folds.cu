// CUB's maximum, argmax, and dot product.
#include <cub/device/device_reduce.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "harness/library.hpp"
#include "sum/contenders.hpp"

namespace bench {

namespace {

struct Argmax {
    float value;
    std::int64_t index;
};

/// The products of the two packs number i.
template <class Pack> struct Products {
    const Pack *x, *y;

    __device__ float operator()(std::int64_t i) const {
        const Pack a = x[i], b = y[i];
        if constexpr (sizeof(Pack) == sizeof(float))
            return a * b;
        else
            return (a.x * b.x + a.y * b.y) + (a.z * b.z + a.w * b.w);
    }
};

template <class Pack>
Contender dot_variant(const char* name, const Input<float>& x, const Input<float>& y, int copies) {
    const auto sums = device_array<float>(copies);
    const std::int64_t packs = x.bytes() / std::int64_t{sizeof(Pack)};
    const LibraryCall call = [=](void* storage, std::size_t& bytes, int copy, cudaStream_t stream) {
        const Products<Pack> products{reinterpret_cast<const Pack*>(x.copy(copy)),
                                      reinterpret_cast<const Pack*>(y.copy(copy))};
        return cub::DeviceReduce::TransformReduce(storage, bytes, thrust::counting_iterator<std::int64_t>(0),
                                                  sums.get() + copy, packs, cuda::std::plus<>{}, products, 0.0f,
                                                  stream);
    };
    Contender contender =
        library_contender<float>("cub", copies, {call}, sums, [](float sum) { return std::vector<double>{sum}; });
    contender.variant = name;
    return contender;
}

} // namespace

Contender cub_max(const Input<float>& x, int copies) {
    const auto results = device_array<float>(copies);
    const LibraryCall call = [x, results](void* storage, std::size_t& bytes, int copy, cudaStream_t stream) {
        return cub::DeviceReduce::Max(storage, bytes, static_cast<const float*>(x.copy(copy)), results.get() + copy,
                                      x.elements(), stream);
    };
    return library_contender<float>("cub", copies, {call}, results,
                                    [](float most) { return std::vector<double>{most}; });
}

Contender cub_argmax(const Input<float>& x, int copies) {
    const auto results = device_array<Argmax>(copies);
    const LibraryCall call = [x, results](void* storage, std::size_t& bytes, int copy, cudaStream_t stream) {
        Argmax* const to = results.get() + copy;
        return cub::DeviceReduce::ArgMax(storage, bytes, static_cast<const float*>(x.copy(copy)), &to->value,
                                         &to->index, x.elements(), stream);
    };
    return library_contender<Argmax>("cub", copies, {call}, results,
                                     [](const Argmax& found) { return std::vector{static_cast<double>(found.index)}; });
}

std::vector<Contender> cub_dot(const Input<float>& x, const Input<float>& y, int copies) {
    return {dot_variant<float>("float", x, y, copies), dot_variant<float4>("float4", x, y, copies)};
}

} // namespace bench
