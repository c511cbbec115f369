// How warps and thread blocks share a held row (core/device/held_rows.cuh): part of its schedule.
#pragma once

#include <cstdint>
#include <optional>

#include <gridfold/fusion/plan.hpp>

#include "cuda/schedule.hpp"

namespace gf::cuda {

// As in sweep_sizes.hpp.
namespace tuned {
inline constexpr int held_words = 32; ///< of a thread's row: layer norm of 4,096 f32 in 64 words 0.84 → 0.79 of a copy
inline constexpr int most_held_words = 64; ///< … of a longer row: of 16K f32 in 256 threads, not 512, 884 → 592 us
inline constexpr int threads_of_held = 1024;      ///< resident, wanted: softmax of 64 f32 0.74 → 0.80 of a copy
inline constexpr int most_shared_bytes = 200'000; ///< of a multiprocessor with 227 KiB, the rest is for states
inline constexpr int most_warps_of_row = 32;      ///< a thread block's
} // namespace tuned

/// How warps share the slabs of a held row.
struct Shares {
    int slab_warps = 1;
    int warps = 1;   ///< of the row, in each thread block
    int cluster = 1; ///< thread blocks
    bool cooperate = false;
    bool fit_twice = false; ///< two thread blocks fit a multiprocessor
};

/// The thread blocks of a cooperative grid that each multiprocessor must run at a time.
std::int64_t resident_of_grid(std::int64_t blocks, const RowSharing& sharing);

/// The shares of a row, or of whole arrays, unless these are better swept several times. `is_unaligned`: rows begin
/// where no pack does.
std::optional<Shares> shares_of_row(const RowFacts& rows, bool is_unaligned, const Sweep& sweep, std::int64_t words,
                                    int most_slab_warps, const RowSharing& sharing);

} // namespace gf::cuda
