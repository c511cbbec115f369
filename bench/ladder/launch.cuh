// Launching the ladder's kernels.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

#include "harness/cuda.hpp"

namespace ladder {

/// Starts kernel(arguments…) with `blocks` blocks of `threads` threads in stream order.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), std::int64_t blocks, int threads, cudaStream_t stream,
            Arguments... arguments) {
    cudaLaunchConfig_t shape{};
    shape.gridDim = dim3(unsigned(blocks));
    shape.blockDim = dim3(unsigned(threads));
    shape.stream = stream;
    bench::check(cudaLaunchKernelEx(&shape, kernel, arguments...));
}

} // namespace ladder
