// The functions that add each workload to a suite.
#pragma once

#include "harness/suite.hpp"

namespace bench {

void add_sums(Suite& suite);        ///< sum, cubes, ragged_sum, misaligned_sum
void add_other_folds(Suite& suite); ///< max, argmax, dot, range, built_in_range
void add_ladder(Suite& suite);      ///< the classic ladder of sums, and cubes by growing numbers of threads
void add_five(Suite& suite);        ///< five statistics of a column
void add_folds(Suite& suite);       ///< dozen, dozen_arg, and 1 … 64 folds of a column
void add_sixteen(Suite& suite);     ///< sixteen statistics of four columns
void add_many(Suite& suite);        ///< five statistics of many short columns
void add_rows(Suite& suite);        ///< one function of each row of a matrix
void add_dims(Suite& suite);        ///< folds over some dims: rows, columns, channels
void add_chains(Suite& suite);      ///< softmax and norms of rows
void add_zscore(Suite& suite);      ///< an array result
void add_functions(Suite& suite);   ///< elementary functions of a column
void add_round_trip(Suite& suite);  ///< the time of a small call on the host
void add_compile(Suite& suite);     ///< the time of gf::compile

inline void add_workloads(Suite& suite) {
    add_sums(suite);
    add_other_folds(suite);
    add_ladder(suite);
    add_five(suite);
    add_folds(suite);
    add_sixteen(suite);
    add_many(suite);
    add_rows(suite);
    add_dims(suite);
    add_chains(suite);
    add_zscore(suite);
    add_functions(suite);
    add_round_trip(suite);
    add_compile(suite);
}

/// For a fresh process: compiles once, and prints the microseconds of compiling and those until the first result.
void compile_once();
inline constexpr const char* compile_once_flag = "--compile_once";

} // namespace bench
