// One sweep with the resources of its runs: strides, scratch memory, lanes, states.
//
// Folds are in the canonical order (order.hpp) for any number of threads. A thread takes consecutive blocks in bands,
// whose lanes fit the second-level cache, and processes up to max_rows of their slabs at once, each row in order of
// memory.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/plan.hpp>

#include "cpu/gather.hpp"
#include "cpu/memory.hpp"
#include "cpu/sweep_program.hpp"

namespace gf::cpu {

/// True if this process may start threads. Not after fork(): OpenMP runtimes hang in the child.
bool may_start_threads();

class SweepRun {
public:
    /// For runs on up to `threads` threads. The plan, the sweep and the program must outlive it.
    SweepRun(const Plan& plan, const Sweep& sweep, const SweepProgram& program, int threads);

    /// Sets the extents of the next runs. Allocates only memory beyond that of earlier calls. If it throws, it can be
    /// called again.
    void fit(std::span<const std::int64_t> extents);
    /// Runs the sweep: reads scalars of earlier sweeps and writes the yielded ones. Allocates nothing. The caller has
    /// set its FloatingMode.
    void run(std::span<char* const> arrays, std::span<const std::uint64_t> parameters, std::span<ScalarResult> scalars);

private:
    /// The address of a place in the current tile: its first row, and the bytes from row to row.
    struct Where {
        char* at = nullptr;
        std::size_t row_bytes = 0;
    };

    /// The working memory of one thread.
    struct Part {
        Bytes scratch;            ///< temporaries
        std::vector<Where> where; ///< by place
        std::vector<char*> block; ///< by fold: the lanes of the current block
        GrowingBytes lanes;       ///< the lanes of ordered folds: fold after fold, each for all blocks of the band
        Bytes any_order_lanes;    ///< the lanes of the other folds, fold after fold
    };

    /// Lanes [first, first + n) of `rows` slabs of one block; consecutive slabs of a block are blocks_ slabs apart.
    struct Tile {
        std::int64_t element;   ///< the first element of its first row
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
    void fill_splats();
    void walk(std::size_t part, std::span<char* const> arrays);
    void walk_slab(Part& part, std::span<char* const> arrays);
    void walk_band(Part& part, std::int64_t first_block, std::int64_t end_block, std::span<char* const> arrays);
    void walk_block(Part& part, std::int64_t block, std::span<char* const> arrays);
    void run_tile(Part& part, const Tile& tile, std::span<char* const> arrays);
    void run_slabs(Part& part, std::int64_t slab, std::int64_t first_row, std::size_t rows, std::size_t lanes,
                   std::span<char* const> arrays);
    void choose_block(Part& part, std::int64_t block_in_band) const;
    std::size_t lanes_before_line(std::span<char* const> arrays) const;
    void place(Part& part, const Tile& tile, std::span<char* const> arrays) const;
    void run_body(const Part& part, const Tile& tile, std::span<char* const> arrays) const;
    void prefetch(const Part& part, const Tile& tile, std::size_t call) const;
    void fold(const Part& part, const Tile& tile) const;
    /// The lanes of a tile of so many rows.
    std::size_t tile_length(std::size_t rows) const { return tile_ >> std::countr_zero(std::bit_ceil(rows)); }
    /// The number of lanes in use, a power of two; a fold's other lanes stay empty.
    std::size_t used_lanes(std::size_t fold) const;
    char* lanes(const Part& part, std::size_t fold, std::int64_t block_in_band) const;

    const Plan& plan_;
    const Sweep& sweep_;
    const SweepProgram& program_;
    int threads_;                       ///< threads of a team, including those without work
    std::vector<std::int64_t> extents_; ///< of the last fit(); empty before the first, and after a failed one
    std::size_t any_order_bytes_ = 0;   ///< bytes of Part::any_order_lanes
    std::int64_t elements_ = 1, blocks_ = 1, band_ = 1;
    std::size_t tile_ = 0;                              ///< the tile of the program for these extents
    bool prefetches_ = false;                           ///< each tile prefetches a later one
    bool at_once_ = false;                              ///< whole blocks are folded at once; then band_ is 1
    Table<ArrayId, Strides> strides_;                   ///< of the gathered arrays
    Table<DimId, std::int64_t> dim_extent_, dim_inner_; ///< of the dims in the domain
    std::vector<int> array_places_, temporary_places_;  ///< the places in use
    Bytes splats_;
    std::vector<Part> parts_; ///< by thread; the first part_count_ have work
    std::size_t part_count_ = 0;
    std::vector<FoldMemory> folds_;
    std::vector<void*> states_;
    std::vector<std::optional<std::uint64_t>> filled_; ///< by splat: its current value
    std::vector<std::uint64_t> values_;                ///< the bytes of prologue and epilogue values
};

} // namespace gf::cpu
