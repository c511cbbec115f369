// Thrust in its fast configuration: a separate stream, synchronisation only for the result, and cached temporary
// memory.
#include <cstddef>
#include <map>
#include <memory>

#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/reduce.h>
#include <thrust/transform_reduce.h>

#include "harness/cuda.hpp"
#include "sum/contenders.hpp"

namespace bench {

namespace {

struct Cube {
    __device__ float operator()(float x) const { return x * x * x; }
};

/// Keeps freed memory by size, for reuse. One thread at a time.
class CachingAllocator {
public:
    using value_type = char;

    char* allocate(std::ptrdiff_t bytes) {
        const auto found = free_.find(bytes);
        std::shared_ptr<char[]> memory = found == free_.end() ? device_array<char>(bytes) : found->second;
        if (found != free_.end()) free_.erase(found);
        char* const address = memory.get();
        in_use_.emplace(address, std::move(memory));
        return address;
    }
    void deallocate(char* address, std::size_t bytes) {
        const auto found = in_use_.find(address);
        free_.emplace(static_cast<std::ptrdiff_t>(bytes), std::move(found->second));
        in_use_.erase(found);
    }

private:
    std::multimap<std::ptrdiff_t, std::shared_ptr<char[]>> free_;
    std::map<char*, std::shared_ptr<char[]>> in_use_;
};

/// `fold(policy, first, last)` returns the sum to the host.
template <class Fold> Contender thrust_contender(const Input<float>& x, Fold fold) {
    const auto allocator = std::make_shared<CachingAllocator>();
    const std::shared_ptr<CUstream_st> stream = make_stream();
    const auto sum = std::make_shared<float>();
    return {.name = "thrust",
            .call =
                [=] {
                    const float* const first = x.copy(0);
                    *sum = fold(thrust::cuda::par_nosync(*allocator).on(stream.get()), first, first + x.elements());
                },
            .results = [=](int) { return std::vector{static_cast<double>(*sum)}; }};
}

} // namespace

Contender thrust_sum(const Input<float>& x) {
    return thrust_contender(x, [](const auto& policy, const float* first, const float* last) {
        return thrust::reduce(policy, first, last);
    });
}

Contender thrust_cubes(const Input<float>& x) {
    return thrust_contender(x, [](const auto& policy, const float* first, const float* last) {
        return thrust::transform_reduce(policy, first, last, Cube{}, 0.0f, thrust::plus<float>{});
    });
}

} // namespace bench
