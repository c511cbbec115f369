// Contender `libmvec`: glibc's vector functions, called by plain loops that gcc vectorises. Compiled with -O3
// -ffast-math once for each instruction set, which GRIDFOLD_TABLE names.
#include <cmath>

#include "functions.hpp"

namespace bench::functions {
namespace {

#define GRIDFOLD_LOOP_1(name)                                                 \
    {                                                                         \
        #name,                                                                \
            [](float* out, const float* a, const float*, std::size_t n) {     \
                for (std::size_t i = 0; i < n; ++i) out[i] = std::name(a[i]); \
            },                                                                \
            [](double* out, const double* a, const double*, std::size_t n) {  \
                for (std::size_t i = 0; i < n; ++i) out[i] = std::name(a[i]); \
            }                                                                 \
    }
#define GRIDFOLD_LOOP_2(name)                                                       \
    {                                                                               \
        #name,                                                                      \
            [](float* out, const float* a, const float* b, std::size_t n) {         \
                for (std::size_t i = 0; i < n; ++i) out[i] = std::name(a[i], b[i]); \
            },                                                                      \
            [](double* out, const double* a, const double* b, std::size_t n) {      \
                for (std::size_t i = 0; i < n; ++i) out[i] = std::name(a[i], b[i]); \
            }                                                                       \
    }

} // namespace

// glibc 2.36 (Debian 12) and later have all of these.
std::vector<Row> GRIDFOLD_TABLE() {
    return {GRIDFOLD_LOOP_1(exp),   GRIDFOLD_LOOP_1(exp2),  GRIDFOLD_LOOP_1(expm1), GRIDFOLD_LOOP_1(log),
            GRIDFOLD_LOOP_1(log2),  GRIDFOLD_LOOP_1(log10), GRIDFOLD_LOOP_1(log1p), GRIDFOLD_LOOP_2(pow),
            GRIDFOLD_LOOP_1(cbrt),  GRIDFOLD_LOOP_2(hypot), GRIDFOLD_LOOP_1(sin),   GRIDFOLD_LOOP_1(cos),
            GRIDFOLD_LOOP_1(tan),   GRIDFOLD_LOOP_1(asin),  GRIDFOLD_LOOP_1(acos),  GRIDFOLD_LOOP_1(atan),
            GRIDFOLD_LOOP_2(atan2), GRIDFOLD_LOOP_1(sinh),  GRIDFOLD_LOOP_1(cosh),  GRIDFOLD_LOOP_1(tanh),
            GRIDFOLD_LOOP_1(asinh), GRIDFOLD_LOOP_1(acosh), GRIDFOLD_LOOP_1(atanh), GRIDFOLD_LOOP_1(erf),
            GRIDFOLD_LOOP_1(erfc)};
}

} // namespace bench::functions
