// The workloads of the CPU benchmark, the types of their columns, and the form of every contender's answer.
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
    cubes,          ///< the sum of the cubes
    five,           ///< sum, sum of squares, min, max, the number of positive elements
    dozen,          ///< ../dozen.hpp
    zscore,         ///< (x − mean) / standard deviation, an array
    log1p_zscore,   ///< the same of log1p(x), x clamped
    range,          ///< the largest element less the smallest, by a user's own reduction (../own_range.hpp)
    built_in_range, ///< the same by built-in reductions
    many,           ///< one sum a row of row_elements; their sum, the sum of every other, the least and the greatest
};

/// The rows of `many`; the last row may be shorter.
constexpr std::size_t row_elements = 100;
constexpr std::size_t row_count(std::size_t n) { return (n + row_elements - 1) / row_elements; }
constexpr std::size_t row_size(std::size_t row, std::size_t n) {
    return row + 1 < row_count(n) ? row_elements : n - row * row_elements;
}

/// True for workloads that write an array.
constexpr bool has_array(Workload workload) {
    return workload == Workload::zscore || workload == Workload::log1p_zscore;
}
/// The bounds to which log1p_zscore clamps.
constexpr float clamp_low = -0.5F, clamp_high = 0.75F;

/// The element type of a column. Sums are measured for each, other workloads for f32.
enum class Type { i8, i32, i64, f16, f32, f64 };

std::string_view to_text(Workload workload);
std::string_view to_text(Type type);
std::size_t size_of(Type type);

/// The statistics of a workload, in the order of the enumerator's comment; the rest, and all of z-scores, are 0.
using Numbers = std::array<double, 12>;

/// The answer of `many`, from the sums of all rows.
template <class Sums> Numbers numbers_of_sums(const Sums& sums) {
    double all = 0, every_other = 0, least = sums[0], most = sums[0];
    for (std::size_t row = 0; row < sums.size(); ++row) {
        const double sum = sums[row];
        all += sum;
        every_other += row % 2 == 0 ? sum : 0;
        least = sum < least ? sum : least;
        most = sum > most ? sum : most;
    }
    return {all, every_other, least, most};
}

/// An element as an arithmetic type of C++.
template <class T> T number(T element) { return element; }
inline float number(gf::f16 element) { return static_cast<float>(element); }

/// A column of n elements, none of them 0, and for z-scores room for its result. The absolute values of integers are at
/// most 2,048, of floating-point numbers at most 1.
struct Task {
    Workload workload;
    Type type;
    const void* x;
    std::size_t n;
    float* z;
};

/// Does the task once.
using Call = std::function<Numbers()>;

// The contenders. These functions prepare them, outside of the timed calls.
Call gridfold(const Task& task);
Call loop(const Task& task);
Call omp_simd(const Task& task);
/// For workloads of several statistics only.
Call omp_fused(const Task& task);
#if GRIDFOLD_HAS_EIGEN
Call eigen(const Task& task);
#endif
/// Loops that only read the column; the fastest is the ceiling. Their answers are zeros.
std::vector<Call> read_loops(const Task& task);

/// Calls f with a pointer to the task's column.
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

/// The call of a contender that is a struct of static functions: some of sum, cubes, five, dozen, zscore, log1p_zscore,
/// range and row_sums.
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
    case Workload::log1p_zscore:
        if constexpr (requires { Contender::log1p_zscore(x, n, z); })
            return [x, n, z] {
                Contender::log1p_zscore(x, n, z);
                return Numbers{};
            };
        break;
    case Workload::range:
    case Workload::built_in_range:
        if constexpr (requires { Contender::range(x, n); }) return [x, n] { return Numbers{Contender::range(x, n)}; };
        break;
    case Workload::many:
        if constexpr (requires { Contender::row_sums(x, n, z); })
            return [x, n, sums = std::vector<float>(row_count(n))]() mutable {
                Contender::row_sums(x, n, sums.data());
                return numbers_of_sums(sums);
            };
        break;
    }
    return {};
}

} // namespace bench::cpu
