// CUB's sums of the 16-bit element types.
#include "sum/cub_sum.cuh"

template bench::Contender bench::cub_sum(const bench::Input<std::int16_t>&, int);
template bench::Contender bench::cub_sum(const bench::Input<__half>&, int);
template bench::Contender bench::cub_sum(const bench::Input<__nv_bfloat16>&, int);
