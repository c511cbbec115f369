// Which elements a thread adds up before its block does: one struct a rung. Over the threads of a grid of blocks(n)
// blocks, thread_sum meets each of n elements once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include <cuda_runtime.h>

namespace ladder {

/// Threads of a block, a power of two.
inline constexpr int threads = 256;

/// The most partial sums that a pass leaves: scratch has room for them.
inline constexpr std::int64_t most_blocks = 65536;

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

/// A grid that takes all elements, however many there are; what one block can fold is left to one.
struct AnyNumber {
    static constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
    static constexpr std::int64_t grid = 1024;

    static std::int64_t blocks(std::int64_t n) { return n <= grid ? 1 : std::min(grid, ceil_div(n, threads)); }
};

/// Each thread has a chunk of neighbours: the threads of a warp read far apart.
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

/// The threads of the grid take turns: a warp reads neighbours.
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

/// Two elements a thread, so that no thread idles from the first step on.
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

/// Two elements at a time, as often as it takes: the tree's cost is spread over many elements.
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
