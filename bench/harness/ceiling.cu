// The shapes of the ceilings' kernels.
#include "harness/ceiling.hpp"

#include <algorithm>

#include "harness/cuda.hpp"
#include "harness/read_kernel.cuh"

namespace bench {

namespace {

struct ReadShape {
    const char* name;
    void (*kernel)(const uint4*, std::int64_t, std::uint32_t*);
    std::int64_t blocks;
};

/// 512 threads a block; grids of a few blocks to many blocks a multiprocessor.
const ReadShape read_shapes[] = {
    {"512x264 u4", read_words<4>, 264},   {"512x528 u4", read_words<4>, 528},   {"512x1056 u4", read_words<4>, 1056},
    {"512x2112 u4", read_words<4>, 2112}, {"512x528 u8", read_words<8>, 528},   {"512x1056 u8", read_words<8>, 1056},
    {"512x8448 u4", read_words<4>, 8448}, {"512x1056 u2", read_words<2>, 1056}, {"512x4224 u2", read_words<2>, 4224},
};

/// Each thread of a block copies `unroll` words, a block's width apart.
template <int unroll>
__global__ void __launch_bounds__(256) copy_words(const uint4* from, uint4* to, std::int64_t words) {
    const std::int64_t first = std::int64_t{blockIdx.x} * (256 * unroll) + threadIdx.x;
    uint4 w[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u)
        if (first + u * 256 < words) w[u] = __ldg(from + first + u * 256);
#pragma unroll
    for (int u = 0; u < unroll; ++u)
        if (first + u * 256 < words) to[first + u * 256] = w[u];
}

template <int unroll> void enqueue_copy(cudaStream_t stream, const void* from, void* to, std::int64_t bytes) {
    const std::int64_t words = bytes / 16, a_block = 256 * unroll;
    copy_words<unroll><<<unsigned((words + a_block - 1) / a_block), 256, 0, stream>>>(static_cast<const uint4*>(from),
                                                                                      static_cast<uint4*>(to), words);
    check(cudaGetLastError());
}

/// The same for what it reads; it writes a share of `each` words of every array.
template <int unroll>
__global__ void __launch_bounds__(256)
    read_and_write_words(const uint4* from, std::int64_t words, uint4* to, std::int64_t arrays, std::int64_t each) {
    const std::int64_t first = std::int64_t{blockIdx.x} * (256 * unroll) + threadIdx.x;
    uint4 w[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u)
        if (first + u * 256 < words) w[u] = __ldg(from + first + u * 256);
    std::uint32_t all = 0;
#pragma unroll
    for (int u = 0; u < unroll; ++u)
        if (first + u * 256 < words) all ^= w[u].x ^ w[u].y ^ w[u].z ^ w[u].w;
    const std::int64_t begin = each * blockIdx.x / gridDim.x, end = each * (blockIdx.x + 1) / gridDim.x;
    for (std::int64_t a = 0; a < arrays; ++a)
        for (std::int64_t i = begin + threadIdx.x; i < end; i += 256) to[a * each + i] = uint4{all, all, all, all};
}

template <int unroll>
void enqueue_read_and_write(cudaStream_t stream, const void* from, std::int64_t bytes, void* to, std::int64_t arrays,
                            std::int64_t each) {
    const std::int64_t words = bytes / 16, a_block = 256 * unroll;
    read_and_write_words<unroll><<<unsigned((words + a_block - 1) / a_block), 256, 0, stream>>>(
        static_cast<const uint4*>(from), words, static_cast<uint4*>(to), arrays, each / 16);
    check(cudaGetLastError());
}

void enqueue_memcpy(cudaStream_t stream, const void* from, void* to, std::int64_t bytes) {
    check(cudaMemcpyAsync(to, from, std::size_t(bytes), cudaMemcpyDeviceToDevice, stream));
}

struct CopyShape {
    const char* name;
    void (*enqueue)(cudaStream_t, const void*, void*, std::int64_t);
};
struct ReadAndWriteShape {
    const char* name;
    void (*enqueue)(cudaStream_t, const void*, std::int64_t, void*, std::int64_t, std::int64_t);
};
const ReadAndWriteShape read_and_write_shapes[] = {{"256 threads, 2 words", enqueue_read_and_write<2>},
                                                   {"256 threads, 4 words", enqueue_read_and_write<4>},
                                                   {"256 threads, 8 words", enqueue_read_and_write<8>}};
const CopyShape copy_shapes[] = {{"cudaMemcpyAsync", enqueue_memcpy},
                                 {"256 threads, 1 word", enqueue_copy<1>},
                                 {"256 threads, 4 words", enqueue_copy<4>}};

} // namespace

std::vector<Contender> read_ceilings(const Address& from, std::int64_t bytes) {
    const auto sink = device_array<std::uint32_t>(1);
    const std::int64_t words = bytes / 16;
    std::vector<Contender> variants;
    for (const ReadShape& shape : read_shapes) {
        const auto blocks = unsigned(std::clamp<std::int64_t>((words + 511) / 512, 1, shape.blocks));
        variants.push_back({.name = "ceiling",
                            .enqueue =
                                [=, kernel = shape.kernel](cudaStream_t stream, int copy) {
                                    kernel<<<blocks, 512, 0, stream>>>(static_cast<const uint4*>(from(copy)), words,
                                                                       sink.get());
                                    check(cudaGetLastError());
                                },
                            .variant = shape.name});
    }
    return variants;
}

std::vector<Contender> read_and_write_ceilings(const Address& from, std::int64_t bytes,
                                               const std::function<void*(int)>& to, std::int64_t arrays,
                                               std::int64_t each) {
    std::vector<Contender> variants;
    for (const ReadAndWriteShape& shape : read_and_write_shapes)
        variants.push_back({.name = "ceiling",
                            .enqueue =
                                [=, enqueue = shape.enqueue](cudaStream_t stream, int copy) {
                                    enqueue(stream, from(copy), bytes, to(copy), arrays, each);
                                },
                            .variant = shape.name});
    return variants;
}

std::vector<Contender> copy_ceilings(const Address& from, const std::function<void*(int)>& to, std::int64_t bytes) {
    std::vector<Contender> variants;
    for (const CopyShape& shape : copy_shapes)
        variants.push_back(
            {.name = "copy_ceiling",
             .enqueue = [=, enqueue = shape.enqueue](cudaStream_t stream,
                                                     int copy) { enqueue(stream, from(copy), to(copy), bytes); },
             .variant = shape.name});
    return variants;
}

} // namespace bench
