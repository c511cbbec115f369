// The kernels that combine a load with a fold, and the table of the steps.
#include "ladder/steps.hpp"

#include <algorithm>

#include "ladder/folds.cuh"
#include "ladder/launch.cuh"
#include "ladder/loads.cuh"

namespace ladder {
namespace {

/// The layout of scratch. The counter, which must be zero between calls, has its own 256 bytes.
struct Scratch {
    alignas(256) unsigned counter;
    alignas(256) float chunk_sums[most_blocks];
    float partials[most_blocks + most_blocks / 128]; // of all passes in order
};
static_assert(sizeof(Scratch) <= scratch_bytes);

__global__ void one_thread(const float* in, std::int64_t n, float* out) {
    float sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += in[i];
    *out = sum;
}

/// Writes the sum of each block's elements to out[block].
template <class Load, class Fold>
__global__ void __launch_bounds__(threads) pass(const float* in, std::int64_t n, float* out) {
    __shared__ float shared[threads];
    const float sum = Fold::block_sum(Load::thread_sum(in, n), shared);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

/// One launch: the block that arrives last folds the blocks' sums. The result does not depend on which block that is.
template <class Load, class Fold>
__global__ void __launch_bounds__(threads)
    last_block_finishes(const float* in, std::int64_t n, float* out, float* partials, unsigned* counter) {
    __shared__ float shared[threads];
    __shared__ bool last;
    const float sum = Fold::block_sum(Load::thread_sum(in, n), shared);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum;
        __threadfence();                                           // the sum is visible before the count
        last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1; // the last one wraps it to zero
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    float rest = 0;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) rest += __ldcg(partials + i);
    rest = Fold::block_sum(rest, shared);
    if (threadIdx.x == 0) *out = rest;
}

__global__ void __launch_bounds__(threads) add_each(const float* in, std::int64_t n, float* out) {
    const std::int64_t all = std::int64_t(gridDim.x) * blockDim.x;
    for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += all) atomicAdd(out, in[i]);
}

void serial(cudaStream_t stream, const float* in, std::int64_t n, float* out, void*) {
    launch(one_thread, 1, 1, stream, in, n, out);
}

/// Repeated passes until one value is left.
template <class Load, class Fold>
void passes(cudaStream_t stream, const float* in, std::int64_t n, float* out, float* partials) {
    for (std::int64_t blocks = Load::blocks(n); blocks > 1; blocks = Load::blocks(n)) {
        launch(pass<Load, Fold>, blocks, threads, stream, in, n, partials);
        in = partials;
        n = blocks;
        partials += blocks;
    }
    launch(pass<Load, Fold>, 1, threads, stream, in, n, out);
}

/// If partial sums do not fit, folds chunk after chunk, then the chunks' sums: up to 2^40 elements.
template <class Load, class Fold>
void in_passes(cudaStream_t stream, const float* in, std::int64_t n, float* out, void* scratch) {
    Scratch& s = *static_cast<Scratch*>(scratch);
    if (n <= Load::largest) return passes<Load, Fold>(stream, in, n, out, s.partials);
    const std::int64_t chunks = ceil_div(n, Load::largest);
    for (std::int64_t c = 0; c < chunks; ++c) {
        const std::int64_t begin = c * Load::largest;
        passes<Load, Fold>(stream, in + begin, std::min(Load::largest, n - begin), s.chunk_sums + c, s.partials);
    }
    passes<Load, Fold>(stream, s.chunk_sums, chunks, out, s.partials);
}

template <class Load, class Fold>
void in_one_pass(cudaStream_t stream, const float* in, std::int64_t n, float* out, void* scratch) {
    Scratch& s = *static_cast<Scratch*>(scratch);
    launch(last_block_finishes<Load, Fold>, Load::blocks(n), threads, stream, in, n, out, s.partials, &s.counter);
}

void by_atomics(cudaStream_t stream, const float* in, std::int64_t n, float* out, void*) {
    bench::check(cudaMemsetAsync(out, 0, sizeof *out, stream));
    launch(add_each, OneElement::blocks(std::min(n, OneElement::largest)), threads, stream, in, n, out);
}

using Full = Unrolled<threads>;

constexpr std::int64_t slow = std::int64_t{1} << 22, any = std::int64_t{1} << 34;

// clang-format off
const Step table[] = {
    {"serial",                "100,307 us", serial,                                   slow},
    {"two_pass_contiguous",   "92 us",      in_passes<Contiguous, ByOneThread>,       any},
    {"two_pass_interleaved",  "78 us",      in_passes<Interleaved, ByOneThread>,      any},
    {"shared_tree",           "46 us",      in_passes<Interleaved, Tree>,             any},
    {"warp_synchronous",      "40 us",      in_passes<Interleaved, WarpSynchronous>,  any},
    {"unrolled",              "38 us",      in_passes<Interleaved, Full>,             any},
    {"single_pass",           "39 us",      in_one_pass<Interleaved, Full>,           any},
    {"atomic",                "2,553 us",   by_atomics,                               4 * slow},
    {"warp_shuffle",          "",           in_passes<Interleaved, Shuffles>,         any},
    {"harris_1_divergent",    "8,054 us",   in_passes<OneElement, Divergent>,         OneElement::largest},
    {"harris_2_bank_conflicts", "3,456 us", in_passes<OneElement, BankConflicts>,     OneElement::largest},
    {"harris_3_sequential",   "1,722 us",   in_passes<OneElement, Tree>,              OneElement::largest},
    {"harris_4_first_add",    "965 us",   in_passes<FirstAdd, Tree>,                FirstAdd::largest},
    {"harris_5_unrolled_last_warp", "536 us", in_passes<FirstAdd, WarpSynchronous>, FirstAdd::largest},
    {"harris_6_unrolled",     "381 us",   in_passes<FirstAdd, Full>,                FirstAdd::largest},
    {"harris_7_multiple_adds", "268 us",  in_passes<MultipleAdds, Full>,            any},
};
// clang-format on

} // namespace

std::span<const Step> steps() { return table; }

} // namespace ladder
