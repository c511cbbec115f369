// Folds each row of a row-major matrix by one block, with the function and the element type as template parameters: the
// classic extension of a ladder of sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cuda_runtime_api.h>

namespace ladder {

/// One function for one element type.
struct RowFold {
    const char* function; ///< sum or max
    const char* type;     ///< f32, i32 or f64
    std::size_t element_bytes;
    std::size_t result_bytes; ///< sums of i32 are i64; other results have the element's type
    /// Writes the fold of each of `rows` rows (at most 2^31 - 1) of `columns` elements to out[row]: 0 for the sum of an
    /// empty row, the least value (-inf) for its maximum. NaN propagates. Pointers are to device memory, aligned to an
    /// element and a result. Throws bench::CudaError.
    void (*enqueue)(cudaStream_t, const void* in, std::int64_t rows, std::int64_t columns, void* out);
};

std::span<const RowFold> row_folds();

} // namespace ladder
