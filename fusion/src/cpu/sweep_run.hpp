// One sweep that folds everything, or nothing, with the resources of its runs. What folds nothing is walked in tiles
// where an array's memory runs across the domain's rows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cpu/row_walk.hpp"
#include "cpu/sweep_body.hpp"
#include "cpu/tile_walk.hpp"

namespace gf::cpu {

class SweepRun {
public:
    /// For runs on up to `threads` threads. The plan, the sweep and the program must outlive it.
    SweepRun(const Plan& plan, const Sweep& sweep, const SweepProgram& program, int threads);

    /// Sets the extents of the next runs. Allocates only memory beyond that of earlier calls. If it throws, it can be
    /// called again.
    void fit(std::span<const std::int64_t> extents);
    /// Sets the strides of the next runs' arrays, by Plan::arrays, after fit(). Allocates nothing.
    void take_strides(std::span<const Strides> bound) {
        body_->take_strides(extents_, bound);
        tiles_.choose(extents_);
    }
    /// Runs the sweep: reads scalars of earlier sweeps and writes the yielded ones. Allocates nothing. The caller has
    /// set its FloatingMode.
    void run(std::span<char* const> arrays, std::span<const std::uint64_t> parameters, std::span<ScalarResult> scalars);

    /// For chains (chain_run.hpp), in place of run() of a sweep that folds nothing: begin(), and run_rows() of all
    /// rows. After take_strides().
    bool can_run_rows() const { return !tiles_.are_better(); }
    /// Lets `workers` threads call run_rows() of up to `most` rows of `all`, of `length` elements. Allocates only
    /// memory beyond that of earlier calls.
    void fit_rows(std::size_t workers, std::int64_t length, std::int64_t most, std::int64_t all);
    const SweepProgram& program() const { return body_->program(); }
    void begin(std::span<const std::uint64_t> parameters, std::span<ScalarResult> scalars) {
        body_->begin(parameters, scalars);
    }
    /// Runs rows [begin, end) with the memory of one worker. `next`: see RowWalk::run().
    void run_rows(std::size_t worker, std::int64_t begin, std::int64_t end, std::span<char* const> arrays,
                  NextRows* next);

private:
    std::unique_ptr<SweepBody> body_; ///< the walks refer to it
    RowWalk walk_;
    std::int64_t row_length_ = 0, elements_of_rows_ = 0; ///< of a row and of all rows, for run_rows()
    std::vector<RowWalk> walk_of_worker_;                ///< for run_rows()
    TileWalk tiles_;
    std::vector<std::int64_t> extents_; ///< of the last fit(); empty before the first, and after a failed one
    bool fits_ = false;
};

} // namespace gf::cpu
