// CUB's sums of the 32-bit element types.
#include "sum/cub_sum.cuh"

template bench::Contender bench::cub_sum(const bench::Input<std::int32_t>&, int);
template bench::Contender bench::cub_sum(const bench::Input<float>&, int);
