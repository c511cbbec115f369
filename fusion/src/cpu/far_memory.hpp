// Arrays that no cache holds, on processors whose cores wait long for memory: outputs are stored around the caches
// (RowWalk), what the next rows of a chain read is prefetched while these are computed (ChainRun), and short rows
// prefetch what follows (KeptRun). No bit of a result depends on it.
#pragma once

#include <cstddef>

#include "host_kernels/kernels.hpp"
#include "host_kernels/streaming.hpp"

namespace gf::cpu {

/// Arrays of fewer bytes together stay in a cache, from which the hardware prefetches in time (bench/NOTES.md).
inline constexpr std::size_t least_uncached_bytes = 32 * 1024 * 1024;

struct FarMemory {
    StreamKernel store = nullptr; ///< null: memory is near
    std::size_t least_bytes = 0;  ///< of all arrays together that a sweep reads, or writes

    bool holds(std::size_t bytes) const { return store != nullptr && bytes >= least_bytes; }
};

/// Of Intel's processors, for 32 MiB and more that a sweep, or a chain, reads or writes (bench/NOTES.md; measured on
/// servers); or, as the environment variable GRIDFOLD_FAR_MEMORY says, for none or for all. Throws InvalidOption for
/// another value of it.
FarMemory far_memory(InstructionSet set);

} // namespace gf::cpu
