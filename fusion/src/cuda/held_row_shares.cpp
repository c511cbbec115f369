#include "cuda/held_row_shares.hpp"

#include <algorithm>
#include <bit>

#include <gridfold/fusion/order.hpp>

#include "cuda/sweep_sizes.hpp"
#include "plan/join_phases.hpp"

namespace gf::cuda {

// As in sweep_sizes.hpp.
namespace tuned {
constexpr int warps_of_held = 8;      ///< of a row whose threads hold at most held_words words
constexpr int warps_of_functions = 4; ///< … with functions: softmax of 8,192 bf16 in 8 276 → 323 us, of f32 517 → 514
constexpr int warps_of_shared_row = 4;          ///< of a thread block; softmax of 1M f32 in 8 932 → 1,005 us
constexpr int elements_of_two_phases = 24'000;  ///< of a multiprocessor, in whole arrays (bench/NOTES.md)
constexpr int elements_of_three_phases = 2'000; ///< … that three sweeps or more would read
constexpr int warps_of_whole = 16;              ///< … z-score of 2^22 B in 8 8.3 → 8.8 us, of 2^24 B 16.8 → 18.2
constexpr int bytes_of_block = 65536; ///< of a row; longer ones have clusters: softmax of 16K f32 by one 667 → 691 us
constexpr int bytes_beside_held = 3'500; ///< about, of 16 warps' states and what a thread block reserves
} // namespace tuned

std::int64_t resident_of_grid(std::int64_t blocks, const RowSharing& sharing) {
    return (blocks + sharing.multiprocessors - 1) / sharing.multiprocessors;
}

namespace {

/// The shares of a row in one thread block. It has `blocks` blocks; a thread would hold `words` if each had one warp.
Shares shares_of_block(std::int64_t blocks, std::int64_t words, int most_slab_warps, int most_warps) {
    Shares shares;
    // Warps share a slab until each thread holds few words of it; where the warps of a row combine blocks anyway, it
    // may hold more. Blocks of more than 512 threads have 64 registers a thread: they spill, so their threads would
    // rather hold more words.
    const int enough = blocks > 1 ? tuned::most_held_words : tuned::held_words;
    const auto is_worth = [&] {
        const std::int64_t held = words / shares.slab_warps;
        const std::int64_t doubled = 2 * shares.slab_warps * blocks; // warps of a row
        return held > enough && doubled <= tuned::most_warps_of_row &&
               (held > tuned::most_held_words || doubled <= most_warps);
    };
    while (shares.slab_warps < most_slab_warps && is_worth()) shares.slab_warps *= 2;
    shares.warps = int(shares.slab_warps * blocks);
    return shares;
}

/// The same in a cluster of at most `most` thread blocks.
Shares shares_of_cluster(std::int64_t blocks, std::int64_t words, int most_slab_warps, int most) {
    Shares shares;
    std::int64_t own = 1; // blocks of the row in a thread block
    const auto cluster = [&] { return (blocks + own - 1) / own; };
    while (cluster() > most) own *= 2;
    while (shares.slab_warps < most_slab_warps && words / shares.slab_warps > tuned::most_held_words &&
           2 * shares.slab_warps * own <= 2 * tuned::warps_of_held)
        shares.slab_warps *= 2;
    // Each thread block has four warps, or eight if few of them are left without a block of the row.
    const auto wasted = [&](std::int64_t each) { return (blocks + each - 1) / each * each - blocks; };
    const auto has_room = [&] {
        const std::int64_t doubled = 2 * shares.slab_warps * own;
        return doubled <= tuned::warps_of_held / 2 ||
               (doubled <= tuned::warps_of_held && 8 * wasted(2 * own) <= blocks);
    };
    while (cluster() > 1 && has_room()) own *= 2;
    shares.cluster = int(cluster());
    shares.warps = int(shares.slab_warps * own);
    return shares;
}

/// The same of a cooperative grid, whose thread blocks have one block each, and at most `warps` warps.
std::optional<Shares> shares_of_grid(std::int64_t blocks, int most_slab_warps, int warps, const RowSharing& sharing) {
    const auto room = std::bit_floor(std::uint64_t(sharing.warps / resident_of_grid(blocks, sharing)));
    if (room == 0) return {};
    const int slab_warps = std::min({most_slab_warps, warps, int(room)});
    return Shares{.slab_warps = slab_warps, .warps = slab_warps, .cluster = int(blocks), .cooperate = true};
}

} // namespace

std::optional<Shares> shares_of_row(const RowFacts& rows, bool is_unaligned, const Sweep& sweep, std::int64_t words,
                                    int most_slab_warps, const RowSharing& sharing) {
    const std::int64_t blocks = fold_order(rows.longest).blocks;
    const bool is_whole = kept_dims(sweep).empty(), may_cooperate = sharing.multiprocessors > 0 && blocks > 1;
    if (is_whole) {
        const int least = phase_count(sweep) > 2 ? tuned::elements_of_three_phases : tuned::elements_of_two_phases;
        if (!may_cooperate || rows.longest < std::int64_t{least} * sharing.multiprocessors) return {};
        return shares_of_grid(blocks, most_slab_warps, tuned::warps_of_whole, sharing);
    }
    const int most_warps = calls_functions(sweep) ? tuned::warps_of_functions : tuned::warps_of_held;
    Shares shares = shares_of_block(blocks, words, most_slab_warps, most_warps);
    if (sharing.cluster > 1 && blocks > 1 && 128 * words * blocks > tuned::bytes_of_block) {
        shares = shares_of_cluster(blocks, words, most_slab_warps, sharing.cluster);
        // A warp for each block, in one thread block, where a cluster would have warps without one for more than an
        // eighth of the blocks: layer norm of 50,257 bf16 with weights 837 → 762 us.
        const std::int64_t idle = shares.cluster * shares.warps / shares.slab_warps - blocks;
        if (is_unaligned && words <= tuned::most_held_words && 8 * idle > blocks &&
            2 * 32 * blocks <= tuned::threads_of_held &&
            2 * (128 * words * blocks + tuned::bytes_beside_held) <= sharing.shared_bytes)
            shares = Shares{.warps = int(blocks), .fit_twice = true};
    }
    const bool fits = shares.warps <= tuned::most_warps_of_row &&
                      128 * words * shares.warps / shares.slab_warps <= tuned::most_shared_bytes;
    if (fits || !may_cooperate) return shares;
    return shares_of_grid(blocks, most_slab_warps, tuned::warps_of_shared_row, sharing);
}

} // namespace gf::cuda
