// Fourteen calls of CUB for sixteen statistics.
#include <cub/device/device_reduce.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "harness/library.hpp"
#include "statistics/sixteen.hpp"

namespace bench {

namespace {

/// Mean and sum of squared differences from it, combined by Chan's rule.
struct Moments {
    double count, mean, squares;
};

struct OfOne {
    __device__ Moments operator()(float x) const { return {1, x, 0}; }
};

struct Join {
    __host__ __device__ Moments operator()(const Moments& s, const Moments& t) const {
        if (s.count == 0) return t;
        if (t.count == 0) return s;
        const double count = s.count + t.count, distance = t.mean - s.mean, share = t.count / count;
        return {count, s.mean + distance * share, s.squares + t.squares + distance * distance * s.count * share};
    }
};

struct IsPositive {
    __device__ std::int64_t operator()(float x) const { return x > 0; }
};

struct IsMoreThanThree {
    __device__ std::int64_t operator()(std::uint8_t x) const { return x > 3; }
};

/// a[i] where d[i] > 3, else 0.
struct Masked {
    const float* a;
    const std::uint8_t* d;
    __device__ float operator()(std::int64_t i) const { return d[i] > 3 ? a[i] : 0.0f; }
};

struct Sixteen {
    Moments a_moments;
    std::int64_t b_positive, c_sum, c_argmax, d_count;
    float a_sum, a_min, a_max, b_sum, b_min, b_max, masked;
    std::int32_t c_min, c_max;
    std::uint8_t d_max;
};

std::vector<double> numbers(const Sixteen& s) {
    return {s.a_sum,
            s.a_moments.mean,
            s.a_moments.squares / s.a_moments.count,
            s.a_min,
            s.a_max,
            s.b_sum,
            s.b_min,
            s.b_max,
            double(s.b_positive),
            double(s.c_sum),
            double(s.c_min),
            double(s.c_max),
            double(s.c_argmax),
            double(s.d_count),
            double(s.d_max),
            s.masked};
}

} // namespace

Contender sixteen_cub(const Table& table, int copies) {
    using Reduce = cub::DeviceReduce;
    const auto states = device_array<Sixteen>(copies);
    const auto out = [states](int copy) { return states.get() + copy; };
    const std::int64_t n = table.a.elements();
    std::vector<LibraryCall> calls;

    const auto sum = [&](const auto& column, auto member) {
        calls.push_back([=](void* storage, std::size_t& bytes, int copy, cudaStream_t stream) {
            return Reduce::Sum(storage, bytes, column.copy(copy), &(out(copy)->*member), n, stream);
        });
    };
    const auto min = [&](const auto& column, auto member) {
        calls.push_back([=](void* storage, std::size_t& bytes, int copy, cudaStream_t stream) {
            return Reduce::Min(storage, bytes, column.copy(copy), &(out(copy)->*member), n, stream);
        });
    };
    const auto max = [&](const auto& column, auto member) {
        calls.push_back([=](void* storage, std::size_t& bytes, int copy, cudaStream_t stream) {
            return Reduce::Max(storage, bytes, column.copy(copy), &(out(copy)->*member), n, stream);
        });
    };
    const auto count = [&](const auto& column, auto is_counted, auto member) {
        calls.push_back([=](void* storage, std::size_t& bytes, int copy, cudaStream_t stream) {
            return Reduce::TransformReduce(storage, bytes, column.copy(copy), &(out(copy)->*member), n,
                                           cuda::std::plus<>{}, is_counted, std::int64_t{0}, stream);
        });
    };

    sum(table.a, &Sixteen::a_sum);
    calls.push_back([=, a = table.a](void* storage, std::size_t& bytes, int copy, cudaStream_t stream) {
        return Reduce::TransformReduce(storage, bytes, a.copy(copy), &out(copy)->a_moments, n, Join{}, OfOne{},
                                       Moments{0, 0, 0}, stream);
    });
    min(table.a, &Sixteen::a_min);
    max(table.a, &Sixteen::a_max);
    sum(table.b, &Sixteen::b_sum);
    min(table.b, &Sixteen::b_min);
    max(table.b, &Sixteen::b_max);
    count(table.b, IsPositive{}, &Sixteen::b_positive);
    sum(table.c, &Sixteen::c_sum);
    min(table.c, &Sixteen::c_min);
    calls.push_back([=, c = table.c](void* storage, std::size_t& bytes, int copy, cudaStream_t stream) {
        return Reduce::ArgMax(storage, bytes, c.copy(copy), &out(copy)->c_max, &out(copy)->c_argmax, n, stream);
    });
    count(table.d, IsMoreThanThree{}, &Sixteen::d_count);
    max(table.d, &Sixteen::d_max);
    calls.push_back([=, a = table.a, d = table.d](void* storage, std::size_t& bytes, int copy, cudaStream_t stream) {
        return Reduce::TransformReduce(storage, bytes, thrust::counting_iterator<std::int64_t>(0), &out(copy)->masked,
                                       n, cuda::std::plus<>{}, Masked{a.copy(copy), d.copy(copy)}, 0.0f, stream);
    });
    return library_contender("cub", copies, calls, states, numbers);
}

} // namespace bench
