// CUB's sums of the 8-bit element types.
#include "sum/cub_sum.cuh"

template bench::Contender bench::cub_sum(const bench::Input<std::int8_t>&, int);
template bench::Contender bench::cub_sum(const bench::Input<std::uint8_t>&, int);
