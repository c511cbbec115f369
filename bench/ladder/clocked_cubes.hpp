// The sum of cubes of i32 by one thread, one block, 32 blocks and many: the classic first lesson on parallelism, timed
// by the clocks of the kernel itself.
#pragma once

#include <cstdint>
#include <span>

#include <cuda_runtime_api.h>

namespace ladder {

/// A block's start and end in nanoseconds of the GPU's global timer, which all blocks share. The driver chooses its
/// resolution: 32 ns on some cards, 1,024 ns on others.
struct BlockTime {
    std::uint64_t begin, end;
};

/// The division of the elements among blocks and threads.
struct CubesShape {
    const char* name;
    const char* published; ///< the published time for 1 Mi elements, or ""
    int blocks;
    int threads; ///< threads of a block, a power of two
};

std::span<const CubesShape> cubes_shapes();

/// Writes the sum of the n cubes, computed modulo 2^64, to *out, and the blocks' times to times[shape.blocks], both in
/// device memory. Throws bench::CudaError.
void enqueue_cubes(const CubesShape& shape, cudaStream_t stream, const std::int32_t* in, std::int64_t n,
                   std::uint64_t* out, BlockTime* times);

/// From the first block's begin to the last block's end, in microseconds, from a copy of `times` on the host.
double kernel_us(std::span<const BlockTime> times);

} // namespace ladder
