// The classic ladder of GPU reductions as contenders: sums of f32, from one thread that adds everything up to blocks
// that finish by shuffles. The steps' order and ideas are those of chapter 12 of Nicholas Wilt's "The CUDA Handbook"
// and of Mark Harris' "Optimizing Parallel Reduction in CUDA"; the code is our own.
//
// Every step folds any n >= 0 of floats from any address that is a multiple of 4, in one fixed order of additions
// except `atomic`. It neither allocates nor synchronises, so it may be captured. Two calls that share scratch must be
// ordered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cuda_runtime_api.h>

namespace ladder {

/// The device memory that a step may use, aligned to 256 bytes. The first 256 bytes are zero before and after each
/// call; the others are unspecified.
inline constexpr std::size_t scratch_bytes = std::size_t{1} << 20;

struct Step {
    const char* name;
    /// The author's published time for 4 Mi elements, or "". Wilt's are for f32 (CUB took 49 us there); Harris' are for
    /// i32 on a G80.
    const char* published;
    /// Writes the sum of n elements to *out, a device float. Throws bench::CudaError.
    void (*enqueue)(cudaStream_t, const float*, std::int64_t n, float* out, void* scratch);
    /// The largest n to time: beyond it the step takes too long, or differs from the published one.
    std::int64_t largest;
};

/// Wilt's ladder, then Harris', each from the slowest to the fastest in the author's order.
std::span<const Step> steps();

} // namespace ladder
