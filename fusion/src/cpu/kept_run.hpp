// One sweep whose folds keep dims, with the resources of its runs.
//
// The parts of the order (order.hpp) are folded one by one, slab by slab. Parts that lie in one slab share tiles, so
// that the body runs over several short rows at once. Many parts are divided among threads; the blocks of few are.
// Where no kept dim lies inside a folded one, a part is folded by the kernels of whole folds, so that a row has the
// bits that it has alone; otherwise every position of a slab has a State, and States of one result combine by lane.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/order.hpp>
#include <gridfold/fusion/plan.hpp>

#include "cpu/gather.hpp"
#include "cpu/memory.hpp"
#include "cpu/result_section.hpp"
#include "cpu/sweep_program.hpp"

namespace gf::cpu {

class KeptRun {
public:
    /// For runs on up to `threads` threads. The plan, the sweep and the program must outlive it.
    KeptRun(const Plan& plan, const Sweep& sweep, const SweepProgram& program, int threads);

    /// Sets the extents of the next runs. Allocates only memory beyond that of earlier calls. If it throws, it can be
    /// called again.
    void fit(std::span<const std::int64_t> extents);
    /// Runs the sweep: reads scalars of earlier sweeps and writes the yielded ones. Allocates nothing. The caller has
    /// set its FloatingMode.
    void run(std::span<char* const> arrays, std::span<const std::uint64_t> parameters, std::span<ScalarResult> scalars);

private:
    /// The working memory of one thread.
    struct Worker {
        Bytes scratch;                    ///< temporaries
        std::vector<char*> where;         ///< by place: the current tile's elements
        std::vector<Bytes> lanes;         ///< by fold: the lanes, or positions, of the current block
        std::vector<Bytes> ordered;       ///< by fold: positions, result after result
        std::vector<GrowingBytes> blocks; ///< by fold: the States of a part's blocks, block after block
        std::vector<char*> block_state;   ///< by fold: where the current block's States go, one for each result
        std::optional<ResultSection> section;
    };

    Worker make_worker() const;
    void fill_splats();
    void flush(Worker& worker, std::span<char* const> arrays);
    void next_results(Worker& worker, std::int64_t results, std::span<char* const> arrays);
    void walk_parts(Worker& worker, std::int64_t begin, std::int64_t end, std::span<char* const> arrays);
    void walk_short_parts(Worker& worker, std::int64_t begin, std::int64_t end, std::span<char* const> arrays);
    void walk_part_together(const PartOfOrder& part, std::span<char* const> arrays);
    void choose_block(Worker& worker, std::vector<GrowingBytes>& states, const PartOfOrder& part,
                      std::int64_t block) const;
    void walk_block(Worker& worker, const PartOfOrder& part, std::int64_t block, std::span<char* const> arrays);
    void run_body(Worker& worker, std::int64_t element, std::size_t n, std::span<char* const> arrays) const;
    void begin_block(Worker& worker, const PartOfOrder& part, std::int64_t block) const;
    void fold(Worker& worker, const SlabOfOrder& slab, std::int64_t turn, std::size_t first, std::size_t n,
              std::size_t in_tile) const;
    void finish_block(Worker& worker, const PartOfOrder& part, std::int64_t block) const;
    void combine_positions(std::size_t f, char* positions, char* ordered, const PartOfOrder& part, char* states) const;
    void combine_blocks(Worker& worker, std::vector<GrowingBytes>& states, const PartOfOrder& part) const;
    void combine_rows(std::size_t f, char* states, std::size_t rows, std::size_t results) const;
    std::size_t used_lanes(std::size_t fold) const;
    std::size_t state_bytes(std::size_t fold) const { return program_.folds[fold].kernels->state_bytes; }

    const Plan& plan_;
    const Sweep& sweep_;
    const SweepProgram& program_;
    int threads_;
    std::vector<std::int64_t> extents_; ///< of the last fit(); empty before the first, and after a failed one
    FoldOrder order_;
    bool divides_parts_ = true; ///< threads divide parts; else the blocks of each part
    std::size_t workers_in_use_ = 0;
    bool by_lane_ = false;            ///< a slab holds all results' elements of lane 0, then of lane 1, and so on
    bool is_by_result_ = false;       ///< a slab holds all lanes of result 0, then of result 1, and so on
    std::vector<std::int64_t> lane_;  ///< by position
    std::vector<std::int64_t> place_; ///< by position: its place where all lanes of a result follow each other
    Table<ArrayId, Strides> strides_; ///< of the gathered arrays
    Table<DimId, std::int64_t> dim_extent_, dim_inner_;
    std::vector<int> array_places_; ///< the places in use that are in arrays
    Bytes splats_;
    std::vector<Worker> workers_;
    std::vector<std::optional<std::uint64_t>> filled_; ///< by splat: its current value
    std::vector<std::uint64_t> values_;                ///< the bytes of prologue and epilogue values
};

} // namespace gf::cpu
