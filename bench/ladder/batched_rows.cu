// One block a row: its threads read the columns in turns, and shuffles fold their values.
#include "ladder/batched_rows.hpp"

#include <limits>
#include <type_traits>

#include "ladder/folds.cuh"
#include "ladder/launch.cuh"
#include "ladder/loads.cuh"

namespace ladder {
namespace {

struct Sum {
    template <class T> using Result = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
    template <class R> static constexpr R identity = R(0);
    template <class R> __device__ R operator()(R a, R b) const { return a + b; }
};

struct Max {
    template <class T> using Result = T;
    template <class R>
    static constexpr R identity =
        std::numeric_limits<R>::has_infinity ? -std::numeric_limits<R>::infinity() : std::numeric_limits<R>::lowest();
    template <class R> __device__ R operator()(R a, R b) const {
        const bool b_is_nan = b != b;
        return a < b || b_is_nan ? b : a;
    }
};

template <class Function, class T>
__global__ void __launch_bounds__(threads)
    fold_row(const T* in, std::int64_t columns, typename Function::template Result<T>* out) {
    using Result = typename Function::template Result<T>;
    constexpr Result identity = Function::template identity<Result>;
    __shared__ Result shared[threads / 32];
    const T* row = in + std::int64_t(blockIdx.x) * columns;
    Result value = identity;
    for (std::int64_t i = threadIdx.x; i < columns; i += blockDim.x) value = Function()(value, Result(row[i]));
    value = block_fold_by_shuffles(value, shared, Function(), identity);
    if (threadIdx.x == 0) out[blockIdx.x] = value;
}

template <class Function, class T>
void enqueue(cudaStream_t stream, const void* in, std::int64_t rows, std::int64_t columns, void* out) {
    using Result = typename Function::template Result<T>;
    if (rows == 0) return;
    launch(fold_row<Function, T>, rows, threads, stream, static_cast<const T*>(in), columns, static_cast<Result*>(out));
}

template <class Function, class T> constexpr RowFold row_fold(const char* function, const char* type) {
    return {function, type, sizeof(T), sizeof(typename Function::template Result<T>), enqueue<Function, T>};
}

const RowFold table[] = {
    row_fold<Sum, float>("sum", "f32"), row_fold<Sum, std::int32_t>("sum", "i32"), row_fold<Sum, double>("sum", "f64"),
    row_fold<Max, float>("max", "f32"), row_fold<Max, std::int32_t>("max", "i32"), row_fold<Max, double>("max", "f64"),
};

} // namespace

std::span<const RowFold> row_folds() { return table; }

} // namespace ladder
