// A CUB user's version that reads the column once: a struct as the state.
#include <cub/device/device_reduce.cuh>

#include "harness/library.hpp"
#include "statistics/five_maps.cuh"

namespace bench {

namespace {

/// Reads the column as elements of type T.
template <class T, class Transform>
Contender variant(const char* name, Transform transform, const Input<float>& x, int copies) {
    const auto states = device_array<Five>(copies);
    const std::int64_t n = x.bytes() / std::int64_t{sizeof(T)};
    const LibraryCall call = [=](void* storage, std::size_t& bytes, int copy, cudaStream_t stream) {
        return cub::DeviceReduce::TransformReduce(storage, bytes, reinterpret_cast<const T*>(x.copy(copy)),
                                                  states.get() + copy, n, Combine{}, transform, five_of_nothing(),
                                                  stream);
    };
    Contender contender = library_contender("cub_struct", copies, {call}, states, numbers);
    contender.variant = name;
    return contender;
}

} // namespace

std::vector<Contender> five_cub_struct(const Input<float>& x, int copies) {
    return {variant<float>("float", OfOne{}, x, copies), variant<float4>("float4", OfFour{}, x, copies)};
}

} // namespace bench
