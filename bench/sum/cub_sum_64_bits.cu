// CUB's sums of the 64-bit element types.
#include "sum/cub_sum.cuh"

template bench::Contender bench::cub_sum(const bench::Input<std::int64_t>&, int);
template bench::Contender bench::cub_sum(const bench::Input<double>&, int);
