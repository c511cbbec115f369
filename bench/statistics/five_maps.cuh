// The five statistics for CUB: functions of elements, and states that combine.
#pragma once

#include <cuda/std/limits>

#include "statistics/five.hpp"

namespace bench {

struct Square {
    __host__ __device__ float operator()(float x) const { return x * x; }
};

struct IsPositive {
    __host__ __device__ std::int64_t operator()(float x) const { return x > 0; }
};

struct OfOne {
    __host__ __device__ Five operator()(float x) const { return {x, x * x, x, x, x > 0}; }
};

struct OfFour {
    __host__ __device__ Five operator()(float4 v) const {
        return {(v.x + v.y) + (v.z + v.w), (v.x * v.x + v.y * v.y) + (v.z * v.z + v.w * v.w),
                fminf(fminf(v.x, v.y), fminf(v.z, v.w)), fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)),
                (v.x > 0) + (v.y > 0) + (v.z > 0) + (v.w > 0)};
    }
};

struct Combine {
    __host__ __device__ Five operator()(const Five& a, const Five& b) const {
        return {a.sum + b.sum, a.squares + b.squares, fminf(a.least, b.least), fmaxf(a.most, b.most),
                a.positive + b.positive};
    }
};

inline Five five_of_nothing() {
    constexpr float infinity = cuda::std::numeric_limits<float>::infinity();
    return {0, 0, infinity, -infinity, 0};
}

} // namespace bench
