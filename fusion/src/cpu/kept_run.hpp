// One sweep whose folds keep dims, with the resources of its runs.
//
// The parts of the order (order.hpp) are folded one after the other, or several in a band (box_walk.hpp); parts that
// lie in one slab share tiles, so that the body runs over several short rows at once. Many parts are divided among
// threads; the blocks of few are. Where no kept dim lies inside a folded one, a part is a row, folded as a whole array
// is, so that it has the bits that it has alone; otherwise every position of a slab has a State, and States of one
// result combine by lane.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/order.hpp>
#include <gridfold/fusion/plan.hpp>

#include "cpu/body_tile.hpp"
#include "cpu/box_walk.hpp"
#include "cpu/memory.hpp"
#include "cpu/result_section.hpp"
#include "cpu/row_walk.hpp"
#include "cpu/sweep_body.hpp"
#include "cpu/sweep_program.hpp"

namespace gf::cpu {

/// True if `threads` threads divide the parts; else they divide the blocks of each part.
bool divides_parts(const FoldOrder& order, std::int64_t threads);

class KeptRun {
public:
    /// For runs on up to `threads` threads. The plan, the sweep and the program must outlive it.
    KeptRun(const Plan& plan, const Sweep& sweep, const SweepProgram& program, int threads);

    /// Sets the extents of the next runs. Allocates only memory beyond that of earlier calls. If it throws, it can be
    /// called again.
    void fit(std::span<const std::int64_t> extents);
    /// Sets the strides of the next runs' arrays, by Plan::arrays, after fit(). Allocates nothing.
    void take_strides(std::span<const Strides> bound) { body_->take_strides(extents_, bound); }
    /// Runs the sweep: reads scalars of earlier sweeps and writes the yielded ones. Allocates nothing. The caller has
    /// set its FloatingMode.
    void run(std::span<char* const> arrays, std::span<const std::uint64_t> parameters, std::span<ScalarResult> scalars);

    /// For chains (chain_run.hpp), in place of run(): begin(), and run_rows() of all rows. After a fit() with elements,
    /// of a sweep that folds rows.
    bool can_run_rows() const { return true; }
    /// Lets `workers` threads call run_rows() of `all` rows, of `length` elements; `most` are read before any is read
    /// again. Allocates only memory beyond that of earlier calls.
    void fit_rows(std::size_t workers, std::int64_t length, std::int64_t most, std::int64_t all);
    const SweepProgram& program() const { return program_; }
    void begin(std::span<const std::uint64_t> parameters, std::span<ScalarResult> scalars) {
        body_->begin(parameters, scalars);
    }
    /// Runs rows [begin, end) with the memory of one worker: reads what is stored of them, and stores their results.
    /// `next`: see RowWalk::run().
    void run_rows(std::size_t worker, std::int64_t begin, std::int64_t end, std::span<char* const> arrays,
                  NextRows* next) {
        walk_parts(workers_[worker], begin, end, arrays, next);
    }

private:
    /// The working memory of one thread.
    struct Worker {
        BodyTile tile;
        std::vector<GrowingBytes> lanes{}; ///< by fold: memory for kernels of rows
        std::vector<char*> states{};       ///< by fold: where States go, one for each of the next results
        std::optional<RowWalk> row{};      ///< for the rows of this thread
        std::optional<BoxWalk> boxes{};    ///< for the boxes of this thread
        std::optional<ResultSection> section{};
    };

    using Ahead = std::span<const char>; ///< memory for a kernel to prefetch (ShortRows)

    Worker make_worker() const;
    void fit_workers(std::size_t workers, std::span<const std::int64_t> extents);
    BoxWalk::Share share_of(std::size_t worker) const;
    void fit_row_walks(std::size_t workers, std::int64_t read, std::int64_t written);
    std::int64_t elements() const { return order_.slabs == 0 ? 0 : order_.batch * order_.batch_stride; }
    bool prefetches_rows() const;
    bool has_short_parts() const;
    std::size_t elements_of_short_part() const;
    void flush(Worker& worker, std::span<char* const> arrays);
    void next_results(Worker& worker, std::int64_t results, std::span<char* const> arrays);
    void walk_parts(Worker& worker, std::int64_t begin, std::int64_t end, std::span<char* const> arrays,
                    NextRows* next = nullptr);
    void walk_short_parts(Worker& worker, std::int64_t begin, std::int64_t end, std::span<char* const> arrays,
                          NextRows* next);
    void fold_short_rows(Worker& worker, std::size_t rows, std::size_t n) const;
    Ahead prefetch(const Worker& worker, std::size_t n, std::size_t call) const;
    void walk_row(Worker& worker, RowWalk& row, std::int64_t part, std::span<char* const> arrays,
                  NextRows* next = nullptr);
    void add_empty_row(Worker& worker, std::int64_t row, std::span<char* const> arrays);
    void walk_boxes(Worker& worker, std::int64_t begin, std::int64_t end, std::span<char* const> arrays);
    void walk_boxes_together(std::int64_t part, std::span<char* const> arrays);
    void take_boxes(Worker& worker, std::int64_t part, std::size_t number, std::span<char* const> arrays);
    std::size_t state_bytes(std::size_t fold) const { return program_.folds[fold].kernels->state_bytes; }

    std::unique_ptr<SweepBody> body_; ///< the walks of rows refer to it
    const SweepProgram& program_;
    int threads_;
    std::vector<std::int64_t> extents_; ///< of the last fit(); empty before the first, and after a failed one
    FoldOrder order_;
    bool are_short_ = false;    ///< has_short_parts()
    bool reads_far_ = false;    ///< no cache holds what is read
    bool prefetches_ = true;    ///< each tile of short rows prefetches the next
    bool walks_rows_ = false;   ///< each part is a row, and not short
    bool divides_parts_ = true; ///< threads divide parts; else the blocks of each part
    std::size_t workers_in_use_ = 0;
    std::unique_ptr<SlabPositions> numbers_; ///< walks of boxes refer to them
    std::deque<Worker> workers_;             ///< their boxes refer to their tiles
    std::optional<RowWalk> row_of_all_threads_;
};

} // namespace gf::cpu
