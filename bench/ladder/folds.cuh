// Folds of a block's values: one struct for each rung. Every thread of a block, whose size is a power of two from 64 to
// 1,024, calls block_sum; thread 0 gets the sum. `shared` holds one float a thread. A block may call it again after a
// barrier.
#pragma once

#include <cuda_runtime.h>

namespace ladder {

/// Thread 0 adds up all values in shared memory.
struct ByOneThread {
    static __device__ float block_sum(float value, float* shared) {
        shared[threadIdx.x] = value;
        __syncthreads();
        if (threadIdx.x != 0) return 0;
        for (unsigned i = 1; i < blockDim.x; ++i) value += shared[i];
        return value;
    }
};

/// A tree with neighbours first: every second thread works, then every fourth, so that all warps diverge.
struct Divergent {
    static __device__ float block_sum(float value, float* shared) {
        const unsigned t = threadIdx.x;
        shared[t] = value;
        __syncthreads();
        for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
            if (t % (2 * stride) == 0) shared[t] += shared[t + stride];
            __syncthreads();
        }
        return shared[0];
    }
};

/// The same tree, computed by the first threads: warps do not diverge, but their addresses are in few banks.
struct BankConflicts {
    static __device__ float block_sum(float value, float* shared) {
        const unsigned t = threadIdx.x;
        shared[t] = value;
        __syncthreads();
        for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
            const unsigned i = 2 * stride * t;
            if (i < blockDim.x) shared[i] += shared[i + stride];
            __syncthreads();
        }
        return shared[0];
    }
};

/// A tree with the far half first: sequential addresses.
struct Tree {
    static __device__ float block_sum(float value, float* shared) {
        const unsigned t = threadIdx.x;
        shared[t] = value;
        __syncthreads();
        for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
            if (t < stride) shared[t] += shared[t + stride];
            __syncthreads();
        }
        return shared[0];
    }
};

/// The tree's last six levels, by the first warp, without block barriers. The published codes relied on warps in
/// lockstep; today threads of a warp are scheduled independently, so each level reads, waits, writes and waits. The
/// sums of lanes that have left the tree are not used.
inline __device__ float first_warp_sum(float* shared) {
    const unsigned lane = threadIdx.x;
    float value = shared[lane];
#pragma unroll
    for (unsigned stride = 32; stride > 0; stride /= 2) {
        value += shared[lane + stride];
        __syncwarp();
        shared[lane] = value;
        __syncwarp();
    }
    return value;
}

struct WarpSynchronous {
    static __device__ float block_sum(float value, float* shared) {
        const unsigned t = threadIdx.x;
        shared[t] = value;
        __syncthreads();
        for (unsigned stride = blockDim.x / 2; stride > 32; stride /= 2) {
            if (t < stride) shared[t] += shared[t + stride];
            __syncthreads();
        }
        return t < 32 ? first_warp_sum(shared) : 0.0f;
    }
};

/// WarpSynchronous for a block size known at compile time, without any loop.
template <int block> struct Unrolled {
    static __device__ float block_sum(float value, float* shared) {
        shared[threadIdx.x] = value;
        __syncthreads();
        level<512>(shared);
        level<256>(shared);
        level<128>(shared);
        level<64>(shared);
        return threadIdx.x < 32 ? first_warp_sum(shared) : 0.0f;
    }

private:
    template <int stride> static __device__ void level(float* shared) {
        if constexpr (block >= 2 * stride) {
            if (threadIdx.x < stride) shared[threadIdx.x] += shared[threadIdx.x + stride];
            __syncthreads();
        }
    }
};

/// Folds the lanes of a warp, then the warps' values; `shared` holds a value a warp. For any function with an identity.
template <class T, class Function>
__device__ T block_fold_by_shuffles(T value, T* shared, Function function, T identity) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (unsigned offset = 16; offset > 0; offset /= 2)
        value = function(value, __shfl_down_sync(0xffffffffu, value, offset));
    if (lane == 0) shared[warp] = value;
    __syncthreads();
    if (warp != 0) return identity;
    value = lane < blockDim.x / 32 ? shared[lane] : identity;
    for (unsigned offset = 16; offset > 0; offset /= 2)
        value = function(value, __shfl_down_sync(0xffffffffu, value, offset));
    return value;
}

/// Lanes exchange their values in registers.
struct Shuffles {
    static __device__ float block_sum(float value, float* shared) {
        return block_fold_by_shuffles(
            value, shared, [](float a, float b) { return a + b; }, 0.0f);
    }
};

} // namespace ladder
