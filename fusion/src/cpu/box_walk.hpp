// Folds parts of boxes: kept dims lie inside folded ones, so that every position of a slab has a State, and States of
// one result combine by lane.
//
// A band is the positions of several blocks whose slabs follow each other in memory, in the second-level cache: of
// consecutive blocks of one part or, where the chunks of a kept dim lie side by side, of consecutive parts. Memory is
// read in max_rows streams, each as long as the band.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <gridfold/fusion/order.hpp>

#include "cpu/body_tile.hpp"
#include "cpu/memory.hpp"
#include "cpu/sweep_body.hpp"
#include "cpu/sweep_program.hpp"

namespace gf::cpu {

static_assert(lane_count == slab_elements);

/// The numbers of a slab's positions, and of those of the same slab in the parts after it.
class SlabPositions {
public:
    SlabPositions() : lane_(lane_count), result_(lane_count) {}

    /// Of an order that is not flat. Allocates nothing.
    void number(const FoldOrder& order);
    /// True if a slab holds all results' elements of lane 0, then of lane 1, and so on.
    bool are_by_lane() const { return by_lane_; }
    const std::int64_t* lane() const { return lane_.data(); } ///< by position
    /// By position; the results of consecutive parts follow each other.
    const std::int64_t* result() const { return result_.data(); }

private:
    FoldOrder numbered_; ///< that these are of, whatever the batch
    bool by_lane_ = false;
    std::vector<std::int64_t> lane_, result_;
};

/// The positions of one thread.
class BoxWalk {
public:
    /// The body, the tile and the positions' numbers must outlive it, where they are.
    BoxWalk(const SweepBody& body, BodyTile& tile, const SlabPositions& numbers);

    /// Whose parts the next walks fold: whole ones, or blocks of one that threads share, of which the thread with `all`
    /// takes the States.
    enum class Share : std::uint8_t { parts, blocks, all_blocks };

    /// Sets the order of the next walks. Allocates only memory beyond that of earlier calls. If it throws, it can be
    /// called again.
    void fit(const FoldOrder& order, Share share);

    /// The most parts of one walk.
    std::int64_t parts_at_once() const { return walks_parts_ ? band_ : 1; }
    /// Folds `count` parts from part `first` on.
    void walk(std::int64_t first, std::int64_t count, std::span<char* const> arrays);
    /// Folds blocks [begin, end) of one part, of which `to` takes the States. Several threads may call it for one `to`,
    /// and must have returned before its take().
    void walk_blocks(std::int64_t part, std::int64_t begin, std::int64_t end, std::span<char* const> arrays,
                     BoxWalk& to);
    /// Sets to[fold] to the States of the results of part `number` of those that were walked last. Once for each.
    void take(std::size_t number, std::size_t results, std::span<char* const> to);

    /// Folds a tile's parts of one short slab each, n positions in all, and sets to[fold] to the States of `results`
    /// results. `mixed`: the positions of a lane are not next to each other.
    void fold_short(std::size_t n, std::size_t results, bool mixed, std::span<char* const> to);

private:
    /// A block of a part, whose positions are in the band.
    struct Unit {
        PartOfOrder part;
        std::size_t number = 0; ///< of the part, among those of the walk
        std::int64_t block = 0;
    };

    void walk_band(std::span<const Unit> units, std::span<char* const> arrays);
    void finish_blocks(std::span<const Unit> units, const BoxWalk& to);
    void walk_slabs(std::size_t unit, const PartOfOrder& part, std::int64_t first, std::int64_t end,
                    std::span<char* const> arrays);
    void fold(std::size_t unit, std::span<const SlabOfOrder> slabs, std::size_t first, std::size_t n, bool prefetches);
    void finish(std::size_t fold, std::size_t unit, std::size_t results, bool mixed, char* to);
    char* positions(std::size_t fold, std::size_t unit) const;
    char* block_states(std::size_t fold, std::size_t part, std::int64_t block) const;
    std::size_t state_bytes(std::size_t fold) const { return program_.folds[fold].kernels->state_bytes; }

    const SweepProgram& program_;
    BodyTile& tile_;
    const SlabPositions& numbers_;
    FoldOrder order_;
    bool walks_parts_ = false;         ///< bands of parts; else of blocks
    std::int64_t band_ = 1;            ///< the most units of a band
    std::vector<Unit> units_;          ///< of the current band
    std::vector<GrowingBytes> lanes_;  ///< by fold: positions, unit after unit
    std::vector<Bytes> ordered_;       ///< by fold: positions, lane after lane
    std::vector<GrowingBytes> blocks_; ///< by fold: States, part after part of a walk, block after block
    std::vector<char*> of_unit_;       ///< by fold: the positions of the current unit
};

} // namespace gf::cpu
