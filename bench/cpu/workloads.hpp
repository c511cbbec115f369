// What is measured on the CPU: the workloads, the types of their columns, and the form in which every contender
// answers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include <gridfold/core/half.hpp>

namespace bench::cpu {

enum class Workload {
    sum,
    cubes,  ///< the sum of the cubes
    five,   ///< sum, sum of squares, min, max, how many are positive
    dozen,  ///< ../dozen.hpp
    zscore, ///< (x − mean) / standard deviation, an array
};

/// Of a column. Sums are measured of each, everything else of f32.
enum class Type { i8, i32, i64, f16, f32, f64 };

std::string_view to_text(Workload workload);
std::string_view to_text(Type type);
std::size_t size_of(Type type);

/// The statistics of a workload, in the order of its name's comment. The rest, and all of zscore's, are 0.
using Numbers = std::array<double, 12>;

/// An element as a number of the language.
template <class T> T number(T element) { return element; }
inline float number(gf::f16 element) { return static_cast<float>(element); }

/// A column of n elements, not 0, and for zscore room for its result. Integers are at most 2,048 from 0, floating-point
/// numbers at most 1.
struct Task {
    Workload workload;
    Type type;
    const void* x;
    std::size_t n;
    float* z;
};

/// Does the task once.
using Call = std::function<Numbers()>;

// The contenders. Each is prepared here, outside of what is timed.
Call gridfold(const Task& task);
Call loop(const Task& task);
Call omp_simd(const Task& task);
/// For workloads of several statistics only.
Call omp_fused(const Task& task);
#if GRIDFOLD_HAS_EIGEN
Call eigen(const Task& task);
#endif
/// Ways to do nothing but read the column; the fastest is the ceiling. They answer with zeros.
std::vector<Call> read_loops(const Task& task);

/// Calls f with the task's column as a pointer to its own type.
template <class F> Call with_column(const Task& task, F f) {
    switch (task.type) {
    case Type::i8: return f(static_cast<const std::int8_t*>(task.x));
    case Type::i32: return f(static_cast<const std::int32_t*>(task.x));
    case Type::i64: return f(static_cast<const std::int64_t*>(task.x));
    case Type::f16: return f(static_cast<const gf::f16*>(task.x));
    case Type::f32: return f(static_cast<const float*>(task.x));
    case Type::f64: return f(static_cast<const double*>(task.x));
    }
    return {};
}

/// The call of a contender that is a struct of static functions: sum, cubes, five, dozen and zscore, or some of them.
template <class Contender> Call call_of(const Task& task) {
    const auto* x = static_cast<const float*>(task.x);
    float* const z = task.z;
    const std::size_t n = task.n;
    switch (task.workload) {
    case Workload::sum:
        if constexpr (requires { Contender::sum(x, n); })
            return with_column(task, [n](const auto* column) -> Call {
                return [column, n] { return Numbers{Contender::sum(column, n)}; };
            });
        break;
    case Workload::cubes:
        if constexpr (requires { Contender::cubes(x, n); }) return [x, n] { return Numbers{Contender::cubes(x, n)}; };
        break;
    case Workload::five: return [x, n] { return Contender::five(x, n); };
    case Workload::dozen: return [x, n] { return Contender::dozen(x, n); };
    case Workload::zscore:
        return [x, n, z] {
            Contender::zscore(x, n, z);
            return Numbers{};
        };
    }
    return {};
}

} // namespace bench::cpu
