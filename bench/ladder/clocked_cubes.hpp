// The sum of cubes of i32 by one thread, one block, 32 blocks and many: the classic first lesson on parallelism, timed
// by the clocks of the kernel itself.
#pragma once

#include <cstdint>
#include <span>

#include <cuda_runtime_api.h>

namespace ladder {

/// When a block began and ended, in nanoseconds of the GPU's global timer, one clock for all blocks. Its resolution is
/// the driver's choice: 32 ns on some cards, 1,024 ns on others.
struct BlockTime {
    std::uint64_t begin, end;
};

/// How the elements are shared out.
struct CubesShape {
    const char* name;
    const char* published; ///< of 1 Mi elements, or ""
    int blocks;
    int threads; ///< of a block, a power of two
};

std::span<const CubesShape> cubes_shapes();

/// Puts the sum of the n cubes, which are computed in 64 bits, modulo 2^64, into *out, and the blocks' times into
/// times[shape.blocks]; both are device memory. Throws bench::CudaError.
void enqueue_cubes(const CubesShape& shape, cudaStream_t stream, const std::int32_t* in, std::int64_t n,
                   std::uint64_t* out, BlockTime* times);

/// From the first block's begin to the last block's end, in microseconds, from a copy of `times` on the host.
double kernel_us(std::span<const BlockTime> times);

} // namespace ladder
