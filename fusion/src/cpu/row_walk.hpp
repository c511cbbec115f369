// Folds rows in the order of whole folds (order.hpp), for any number of threads: the elements of a domain are one row,
// or rows that follow each other.
//
// A thread takes consecutive blocks in bands, whose lanes fit the second-level cache, and processes up to max_rows of
// their slabs at once, each in order of memory.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "cpu/memory.hpp"
#include "cpu/next_rows.hpp"
#include "cpu/streamed_outputs.hpp"
#include "cpu/sweep_body.hpp"
#include "cpu/sweep_program.hpp"
#include "cpu/tile_text.hpp"

namespace gf::cpu {

class RowWalk {
public:
    /// On up to `threads` threads. The body must outlive it.
    RowWalk(const SweepBody& body, int threads);

    /// Sets the elements of a row, those that are read before any is read again, and those that all runs write.
    /// Allocates only memory beyond that of earlier calls. If it throws, it can be called again.
    void fit(std::int64_t row, std::int64_t read, std::int64_t written);
    /// Computes and folds a row, whose first element has number `first` in the domain. Allocates nothing, unless a loop
    /// is compiled. `next`: rows to prefetch meanwhile, of one thread, by a step for each element of each step that is
    /// interpreted, and of each output.
    void run(std::int64_t first, std::span<char* const> arrays, NextRows* next = nullptr);
    /// By fold: the State of the row.
    std::span<void* const> states() const { return states_; }

private:
    /// The working memory of one thread.
    struct Part {
        Bytes scratch;            ///< temporaries
        std::vector<Where> where; ///< by place
        std::vector<char*> block; ///< by fold: the lanes of the current block
        GrowingBytes lanes;       ///< the lanes of ordered folds: fold after fold, each for all blocks of the band
        Bytes any_order_lanes;    ///< the lanes of the other folds, fold after fold
        StreamedOutputs streamed;
    };

    /// Lanes [first, first + n) of `rows` slabs of one block; consecutive slabs of a block are blocks_ slabs apart.
    struct Tile {
        std::int64_t element;   ///< the first element of its first row, from the row's first
        std::int64_t first_row; ///< the number of its first row in the block
        std::size_t first, n, rows;
        bool whole_block = false; ///< the tile has all slabs of the block, none of them partial
    };

    struct FoldMemory {
        /// The offset of this fold's lanes: bytes a lane in Part::lanes, bytes in Part::any_order_lanes.
        std::size_t offset = 0;
        std::size_t count = 0; ///< the number of partial states, one for each block or part
        GrowingBytes states;
    };

    Part make_part() const;
    void choose_tiles(std::int64_t parts);
    void walk(std::size_t part, std::span<char* const> arrays);
    void walk_in_memory_order(Part& part, std::size_t number, std::span<char* const> arrays);
    void walk_slab(Part& part, std::span<char* const> arrays);
    void walk_band(Part& part, std::int64_t first_block, std::int64_t end_block, std::span<char* const> arrays);
    void walk_block(Part& part, std::int64_t block, std::span<char* const> arrays);
    static PartOfBlock part_of_block(const Tile& tile);
    void run_tile(Part& part, const Tile& tile, std::span<char* const> arrays);
    void run_slabs(Part& part, std::int64_t slab, std::int64_t first_row, std::size_t rows, std::size_t lanes,
                   std::span<char* const> arrays);
    void choose_block(Part& part, std::int64_t block_in_band) const;
    std::size_t lanes_before_line(std::span<char* const> arrays) const;
    void place(Part& part, const Tile& tile, std::span<char* const> arrays) const;
    void run_body(const Part& part, const Tile& tile, std::span<char* const> arrays) const;
    void prefetch(const Part& part, const Tile& tile, std::size_t call) const;
    void fold(const Part& part, const Tile& tile) const;
    /// The lanes of a tile of `rows` rows.
    std::size_t tile_length(std::size_t rows) const { return tile_ >> std::countr_zero(std::bit_ceil(rows)); }
    /// True if a block's first slab needs no identities in its lanes.
    bool starts_lanes(const FoldStep& fold) const { return fold.starts_lanes || function_ != nullptr; }
    /// True if a tile of a whole block leaves one lane.
    bool folds_blocks(const FoldStep& fold) const { return fold.fold_block != nullptr && function_ == nullptr; }
    /// The number of lanes in use, a power of two; a fold's other lanes stay empty.
    std::size_t used_lanes(std::size_t fold) const;
    char* lanes(const Part& part, std::size_t fold, std::int64_t block_in_band) const;

    const SweepBody& body_;
    const SweepProgram& program_;
    int threads_;                     ///< threads of a team, including those without work
    std::size_t any_order_bytes_ = 0; ///< bytes of Part::any_order_lanes
    std::int64_t first_ = 0;          ///< the number in the domain of the row's first element
    bool is_far_ = false;             ///< no cache holds what all runs write
    bool streams_ = false;            ///< the run stores outputs around the caches
    NextRows* next_ = nullptr;        ///< what the run prefetches
    std::int64_t elements_ = 1, blocks_ = 1, band_ = 1;
    TileFunction function_ = nullptr; ///< the compiled loop; null: steps are interpreted
    std::size_t tile_ = 0;            ///< the tile of the program for these extents
    bool prefetches_ = false;         ///< each tile prefetches a later one
    bool at_once_ = false;            ///< whole blocks are folded at once; then band_ is 1
    std::vector<Part> parts_;         ///< by thread; the first part_count_ have work
    std::size_t part_count_ = 0;
    std::vector<FoldMemory> folds_;
    std::vector<void*> states_;
};

} // namespace gf::cpu
