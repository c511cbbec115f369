// A kernel that reads every byte once with almost no other work.
#pragma once

#include <cstdint>

namespace bench {

/// XORs all 16-byte words, with `unroll` loads of a thread in flight. It would write a result that does not occur, so
/// that the compiler keeps every load. For any grid with at most 512 threads a block.
template <int unroll>
__global__ void __launch_bounds__(512) read_words(const uint4* data, std::int64_t words, std::uint32_t* sink) {
    const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
    std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    std::uint32_t all = 0;
    for (; i + (unroll - 1) * stride < words; i += unroll * stride) {
        uint4 w[unroll];
#pragma unroll
        for (int u = 0; u < unroll; ++u) w[u] = __ldg(data + i + u * stride);
#pragma unroll
        for (int u = 0; u < unroll; ++u) all ^= w[u].x ^ w[u].y ^ w[u].z ^ w[u].w;
    }
    for (; i < words; i += stride) {
        const uint4 w = __ldg(data + i);
        all ^= w.x ^ w.y ^ w.z ^ w.w;
    }
    if (all == 0xdeadbeefu) *sink = all;
}

} // namespace bench
