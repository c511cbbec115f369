// What a user of CUB writes to read the column once: a struct as the state.
#include <cub/device/device_reduce.cuh>
#include <cuda/std/limits>

#include "harness/library.hpp"
#include "statistics/five.hpp"

namespace bench {

namespace {

struct Combine {
    __host__ __device__ Five operator()(const Five& a, const Five& b) const {
        return {a.sum + b.sum, a.squares + b.squares, fminf(a.least, b.least), fmaxf(a.most, b.most),
                a.positive + b.positive};
    }
};

struct OfOne {
    __device__ Five operator()(float x) const { return {x, x * x, x, x, x > 0}; }
};

struct OfFour {
    __device__ Five operator()(float4 v) const {
        return {(v.x + v.y) + (v.z + v.w), (v.x * v.x + v.y * v.y) + (v.z * v.z + v.w * v.w),
                fminf(fminf(v.x, v.y), fminf(v.z, v.w)), fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)),
                (v.x > 0) + (v.y > 0) + (v.z > 0) + (v.w > 0)};
    }
};

/// Reads the column as elements of type T.
template <class T, class Transform>
Contender variant(const char* name, Transform transform, const Input<float>& x, int copies) {
    constexpr float infinity = cuda::std::numeric_limits<float>::infinity();
    const auto states = device_array<Five>(copies);
    const std::int64_t n = x.bytes() / std::int64_t{sizeof(T)};
    const LibraryCall call = [=](void* storage, std::size_t& bytes, int copy, cudaStream_t stream) {
        return cub::DeviceReduce::TransformReduce(storage, bytes, reinterpret_cast<const T*>(x.copy(copy)),
                                                  states.get() + copy, n, Combine{}, transform,
                                                  Five{0, 0, infinity, -infinity, 0}, stream);
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
