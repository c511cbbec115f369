// One sweep with everything that its runs need: strides, scratch memory, lanes, states.
//
// The order of folding is the canonical one (order.hpp), whatever the number of threads: a thread takes consecutive
// blocks, some at a time (a band, whose lanes fit the second-level cache), and walks over up to max_rows of
// their slabs at once, each row reading memory in order.
#pragma once

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

/// May this process start threads? Not after fork(): OpenMP runtimes hang in the child.
bool may_start_threads();

class SweepRun {
public:
    /// For runs on up to `threads` threads. The plan, the sweep and the program must outlive it.
    SweepRun(const Plan& plan, const Sweep& sweep, const SweepProgram& program, int threads);

    /// The next runs are over these extents. Allocates only what none before needed; where that fails, a further fit()
    /// finds things as they were.
    void fit(std::span<const std::int64_t> extents);
    /// Runs the sweep: reads scalars of earlier sweeps, writes those that it yields. Allocates nothing. The caller has
    /// set its FloatingMode.
    void run(std::span<char* const> arrays, std::span<const std::uint64_t> parameters, std::span<ScalarResult> scalars);

private:
    /// Where a place of the current tile is: its first row, and the bytes from row to row.
    struct Where {
        char* at = nullptr;
        std::size_t row_bytes = 0;
    };

    /// What one thread works in.
    struct Part {
        Bytes scratch;            ///< temporaries
        std::vector<Where> where; ///< by place
        std::vector<char*> block; ///< by fold: the lanes of the block that is folded
        GrowingBytes lanes;       ///< of the folds that keep the order: fold after fold, each block of the band
        Bytes any_order_lanes;    ///< of the others, fold after fold
    };

    /// Lanes [first, first + n) of `rows` slabs of one block, as many blocks apart as there are.
    struct Tile {
        std::int64_t element;   ///< the first of its first row
        std::int64_t first_row; ///< the number of its first row in the block
        std::size_t first, n, rows;
    };

    struct FoldMemory {
        /// Bytes a lane before this fold's lanes in Part::lanes, or bytes before its lanes in Part::any_order_lanes.
        std::size_t offset = 0;
        std::size_t count = 0; ///< partial states: of the blocks, or of the parts
        GrowingBytes states;
    };

    Part make_part() const;
    void fill_splats();
    void walk(std::size_t part, std::span<char* const> arrays);
    void walk_slab(Part& part, std::span<char* const> arrays);
    void walk_band(Part& part, std::int64_t first_block, std::int64_t end_block, std::span<char* const> arrays);
    void run_slabs(Part& part, std::int64_t slab, std::int64_t first_row, std::size_t rows, std::size_t lanes,
                   std::span<char* const> arrays);
    void choose_block(Part& part, std::int64_t block_in_band) const;
    std::size_t lanes_before_line(std::span<char* const> arrays) const;
    void place(Part& part, const Tile& tile, std::span<char* const> arrays) const;
    void run_body(const Part& part, const Tile& tile, std::span<char* const> arrays) const;
    void prefetch(const Part& part, const Tile& tile, std::size_t call) const;
    void fold(const Part& part, const Tile& tile) const;
    /// A power of two; the other lanes of a fold stay empty.
    std::size_t used_lanes(std::size_t fold) const;
    char* lanes(const Part& part, std::size_t fold, std::int64_t block_in_band) const;

    const Plan& plan_;
    const Sweep& sweep_;
    const SweepProgram& program_;
    int threads_;                       ///< of a team, whatever part of them has work
    std::vector<std::int64_t> extents_; ///< that fit; none before the first, and where memory was lacking
    std::size_t any_order_bytes_ = 0;   ///< of Part::any_order_lanes
    std::int64_t elements_ = 1, blocks_ = 1, band_ = 1;
    Table<ArrayId, Strides> strides_;                   ///< of those that are gathered
    Table<DimId, std::int64_t> dim_extent_, dim_inner_; ///< of those in the domain
    std::vector<int> array_places_, temporary_places_;  ///< those that are used
    Bytes splats_;
    std::vector<Part> parts_; ///< at least as many as have work
    std::size_t part_count_ = 0;
    std::vector<FoldMemory> folds_;
    std::vector<void*> states_;
    std::vector<std::optional<std::uint64_t>> filled_; ///< by splat: the value that it holds
    std::vector<std::uint64_t> values_;                ///< of the prologue and the epilogue: their bytes
};

} // namespace gf::cpu
