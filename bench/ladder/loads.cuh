// A thread's sum before its block's fold: one struct for each rung. In a grid of blocks(n) blocks, the calls of
// thread_sum read each of n elements once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include <cuda_runtime.h>

namespace ladder {

/// Threads of a block, a power of two.
inline constexpr int threads = 256;

/// The most partial sums of a pass, for which scratch has room.
inline constexpr std::int64_t most_blocks = 65536;

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

/// A grid for any number of elements; one block if that can fold all.
struct AnyNumber {
    static constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
    static constexpr std::int64_t grid = 1024;

    static std::int64_t blocks(std::int64_t n) { return n <= grid ? 1 : std::min(grid, ceil_div(n, threads)); }
};

/// Each thread reads a contiguous chunk: the addresses of a warp are far apart.
struct Contiguous : AnyNumber {
    static __device__ float thread_sum(const float* in, std::int64_t n) {
        const std::int64_t all = std::int64_t(gridDim.x) * blockDim.x;
        const std::int64_t chunk = n / all + (n % all != 0);
        const std::int64_t begin = (std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x) * chunk;
        const std::int64_t end = begin + chunk < n ? begin + chunk : n;
        float sum = 0;
        for (std::int64_t i = begin; i < end; ++i) sum += in[i];
        return sum;
    }
};

/// Grid-stride: a warp reads neighbouring elements.
struct Interleaved : AnyNumber {
    static __device__ float thread_sum(const float* in, std::int64_t n) {
        const std::int64_t all = std::int64_t(gridDim.x) * blockDim.x;
        float sum = 0;
        for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += all) sum += in[i];
        return sum;
    }
};

/// One element a thread.
struct OneElement {
    static constexpr std::int64_t largest = most_blocks * threads;

    static std::int64_t blocks(std::int64_t n) { return std::max<std::int64_t>(1, ceil_div(n, threads)); }

    static __device__ float thread_sum(const float* in, std::int64_t n) {
        const std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
        return i < n ? in[i] : 0.0f;
    }
};

/// Two elements a thread, so that no thread is idle in the first step.
struct FirstAdd {
    static constexpr std::int64_t largest = most_blocks * threads * 2;

    static std::int64_t blocks(std::int64_t n) { return std::max<std::int64_t>(1, ceil_div(n, threads * 2)); }

    static __device__ float thread_sum(const float* in, std::int64_t n) {
        const std::int64_t i = std::int64_t(blockIdx.x) * (blockDim.x * 2) + threadIdx.x;
        float sum = i < n ? in[i] : 0.0f;
        if (i + blockDim.x < n) sum += in[i + blockDim.x];
        return sum;
    }
};

/// Two elements at a time in a loop: the tree's cost is amortised over many elements.
struct MultipleAdds : AnyNumber {
    static std::int64_t blocks(std::int64_t n) { return n <= grid ? 1 : std::min(grid, ceil_div(n, threads * 2)); }

    static __device__ float thread_sum(const float* in, std::int64_t n) {
        const std::int64_t all = std::int64_t(gridDim.x) * (blockDim.x * 2);
        float sum = 0;
        for (std::int64_t i = std::int64_t(blockIdx.x) * (blockDim.x * 2) + threadIdx.x; i < n; i += all) {
            sum += in[i];
            if (i + blockDim.x < n) sum += in[i + blockDim.x];
        }
        return sum;
    }
};

} // namespace ladder
