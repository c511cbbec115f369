// Every block stores its start and the time of its sum, and adds the sum to the result.
#include "ladder/clocked_cubes.hpp"

#include <algorithm>

#include "ladder/launch.cuh"

namespace ladder {
namespace {

constexpr int most_threads = 256;
using Word = unsigned long long; // the type that atomicAdd takes
static_assert(sizeof(Word) == sizeof(std::uint64_t));

__device__ std::uint64_t nanoseconds() {
    Word now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    return now;
}

__global__ void __launch_bounds__(most_threads)
    cubes(const std::int32_t* in, std::int64_t n, Word* out, BlockTime* times) {
    __shared__ Word shared[most_threads];
    const std::uint64_t begin = nanoseconds();
    const std::int64_t all = std::int64_t(gridDim.x) * blockDim.x;
    Word sum = 0;
    for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += all) {
        const Word x = Word(std::int64_t(in[i])); // unsigned: wraps
        sum += x * x * x;
    }
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < stride) shared[threadIdx.x] += shared[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x != 0) return;
    atomicAdd(out, shared[0]);
    times[blockIdx.x] = {begin, nanoseconds()};
}

const CubesShape table[] = {
    {"one_thread", "", 1, 1},
    {"one_block", "", 1, most_threads},
    {"32_blocks", "26 times as fast as one block", 32, most_threads},
    {"many_blocks", "", 1024, most_threads},
};

} // namespace

std::span<const CubesShape> cubes_shapes() { return table; }

void enqueue_cubes(const CubesShape& shape, cudaStream_t stream, const std::int32_t* in, std::int64_t n,
                   std::uint64_t* out, BlockTime* times) {
    bench::check(cudaMemsetAsync(out, 0, sizeof *out, stream));
    launch(cubes, shape.blocks, shape.threads, stream, in, n, reinterpret_cast<Word*>(out), times);
}

double kernel_us(std::span<const BlockTime> times) {
    const std::uint64_t begin = std::ranges::min(times, {}, &BlockTime::begin).begin;
    const std::uint64_t end = std::ranges::max(times, {}, &BlockTime::end).end;
    return double(end - begin) / 1e3;
}

} // namespace ladder
