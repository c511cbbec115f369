// z-score by hand, and the kernel that checks every z-score.
#include <cub/device/device_reduce.cuh>

#include "harness/library.hpp"
#include "zscore/zscore.hpp"

namespace bench {

namespace {

struct Sums {
    double values, squares;
};

struct OfFour {
    __device__ Sums operator()(float4 v) const {
        const double x = v.x, y = v.y, z = v.z, w = v.w;
        return {(x + y) + (z + w), (x * x + y * y) + (z * z + w * w)};
    }
};

struct Combine {
    __host__ __device__ Sums operator()(const Sums& s, const Sums& t) const {
        return {s.values + t.values, s.squares + t.squares};
    }
};

constexpr int threads = 256;

unsigned blocks_for(std::int64_t n) { return static_cast<unsigned>((n + threads - 1) / threads); }

/// One vector a thread.
__global__ void __launch_bounds__(threads)
    standardise(const float4* x, float4* y, std::int64_t vectors, const Sums* sums) {
    const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
    if (i >= vectors) return;
    const double n = 4.0 * static_cast<double>(vectors), exact_mean = sums->values / n;
    const auto mean = static_cast<float>(exact_mean);
    const float scale = rsqrtf(static_cast<float>(sums->squares / n - exact_mean * exact_mean));
    const float4 v = x[i];
    y[i] = {(v.x - mean) * scale, (v.y - mean) * scale, (v.z - mean) * scale, (v.w - mean) * scale};
}

__global__ void count_wrong(const float* x, const float* y, std::int64_t n, double mean, double stddev,
                            unsigned long long* wrong) {
    const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
    if (i < n && !(fabs(y[i] - (x[i] - mean) / stddev) <= 1e-4)) atomicAdd(wrong, 1ull);
}

} // namespace

Contender zscore_cub_and_kernel(const Input<float>& x, const Input<float>& y, int copies) {
    const auto sums = device_array<Sums>(copies);
    const std::int64_t vectors = x.elements() / 4;
    const auto vectors_of = [](const Input<float>& column, int copy) {
        return reinterpret_cast<float4*>(column.copy(copy));
    };
    const std::vector<LibraryCall> calls{
        [=](void* storage, std::size_t& bytes, int copy, cudaStream_t stream) {
            return cub::DeviceReduce::TransformReduce(storage, bytes, static_cast<const float4*>(vectors_of(x, copy)),
                                                      sums.get() + copy, vectors, Combine{}, OfFour{}, Sums{0, 0},
                                                      stream);
        },
        [=](void* storage, std::size_t&, int copy, cudaStream_t stream) {
            if (!storage) return cudaSuccess;
            standardise<<<blocks_for(vectors), threads, 0, stream>>>(vectors_of(x, copy), vectors_of(y, copy), vectors,
                                                                     sums.get() + copy);
            return cudaGetLastError();
        },
    };
    return library_contender("cub_and_kernel", copies, calls, sums, [](const Sums&) { return std::vector<double>{}; });
}

double count_wrong_and_spoil(const Input<float>& x, const Input<float>& y, int copy, double mean, double stddev) {
    const auto wrong = device_array<unsigned long long>(1);
    count_wrong<<<blocks_for(x.elements()), threads>>>(x.copy(copy), y.copy(copy), x.elements(), mean, stddev,
                                                       wrong.get());
    check(cudaGetLastError());
    unsigned long long count = 0;
    check(cudaMemcpy(&count, wrong.get(), sizeof count, cudaMemcpyDeviceToHost));
    check(cudaMemset(y.copy(copy), 0xff, static_cast<std::size_t>(y.bytes()))); // NaN
    check(cudaDeviceSynchronize());
    return static_cast<double>(count);
}

} // namespace bench
