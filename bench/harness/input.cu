// Fills and counts, for each element type.
#include "harness/input.hpp"

#include <type_traits>

#include "harness/cuda.hpp"

namespace bench {

namespace {

template <class T> constexpr int lowest = std::is_unsigned_v<T> ? 0 : lowest_digit;

constexpr int threads = 256;

unsigned blocks_for(std::int64_t n) {
    return static_cast<unsigned>(std::clamp<std::int64_t>((n + threads - 1) / threads, 1, 2048));
}

template <class T> __global__ void fill(T* data, std::int64_t n, std::uint64_t seed) {
    const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
        data[i] = static_cast<T>(digit_of(static_cast<std::uint64_t>(i), seed) + lowest<T>);
}

/// Counts digits; other values are not counted. A thread's counts fit 32 bits: it reads n / 2^19 elements.
template <class T>
__global__ void count_digits(const T* data, std::int64_t n, const std::uint8_t* mask, unsigned long long* counts) {
    __shared__ unsigned long long of_block[digit_kinds];
    if (threadIdx.x < digit_kinds) of_block[threadIdx.x] = 0;
    __syncthreads();
    unsigned own[digit_kinds] = {};
    const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
        if (mask && mask[i] <= 3) continue;
        const int digit = static_cast<int>(static_cast<float>(data[i])) - lowest<T>;
#pragma unroll
        for (int k = 0; k < digit_kinds; ++k) own[k] += digit == k;
    }
#pragma unroll
    for (int k = 0; k < digit_kinds; ++k)
        if (own[k]) atomicAdd(of_block + k, static_cast<unsigned long long>(own[k]));
    __syncthreads();
    if (threadIdx.x < digit_kinds) atomicAdd(counts + threadIdx.x, of_block[threadIdx.x]);
}

} // namespace

template <class T>
Input<T>::Input(std::int64_t elements, int copies, int seed, int shift)
    : elements_(elements), copies_(copies), seed_(seed), shift_(shift) {
    constexpr std::int64_t granule = 256 / sizeof(T);
    pitch_ = (elements + shift + granule - 1) / granule * granule;
    memory_ = device_array<T>(pitch_ * copies);
    for (int c = 0; c < copies; ++c)
        fill<<<blocks_for(elements), threads>>>(copy(c), elements, static_cast<std::uint64_t>(seed));
    check(cudaGetLastError());
    check(cudaDeviceSynchronize());
}

template <class T> Digits Input<T>::count(const std::uint8_t* mask) const {
    const auto counts = device_array<unsigned long long>(digit_kinds);
    count_digits<<<blocks_for(elements_), threads>>>(copy(0), elements_, mask, counts.get());
    check(cudaGetLastError());
    Digits digits{.lowest = lowest<T>};
    static_assert(sizeof digits.counts == digit_kinds * sizeof(unsigned long long));
    check(cudaMemcpy(digits.counts.data(), counts.get(), sizeof digits.counts, cudaMemcpyDeviceToHost));
    return digits;
}

template <class T> void Input<T>::put(const std::vector<std::pair<std::int64_t, T>>& values) {
    for (const auto& [i, value] : values) check(cudaMemcpy(copy(0) + i, &value, sizeof value, cudaMemcpyHostToDevice));
    for (int c = 1; c < copies_; ++c)
        check(cudaMemcpy(copy(c), copy(0), static_cast<std::size_t>(bytes()), cudaMemcpyDeviceToDevice));
    check(cudaDeviceSynchronize());
}

template <class T> std::int64_t Input<T>::first(double value) const {
    std::int64_t i = 0;
    while (digit_of(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(seed_)) + lowest<T> != value) ++i;
    return i;
}

template class Input<std::int8_t>;
template class Input<std::uint8_t>;
template class Input<std::int16_t>;
template class Input<std::int32_t>;
template class Input<std::int64_t>;
template class Input<__half>;
template class Input<__nv_bfloat16>;
template class Input<float>;
template class Input<double>;

} // namespace bench
