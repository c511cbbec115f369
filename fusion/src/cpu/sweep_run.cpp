#include "cpu/sweep_run.hpp"

namespace gf::cpu {

SweepRun::SweepRun(const Plan& plan, const Sweep& sweep, const SweepProgram& program, int threads)
    : body_(std::make_unique<SweepBody>(plan, sweep, program)), walk_(*body_, threads), tiles_(*body_, threads) {
    extents_.reserve(plan.dims.size());
}

void SweepRun::fit(std::span<const std::int64_t> extents) {
    if (fits_ && same_extents(extents, extents_)) return;
    fits_ = false; // until all allocations have succeeded
    const std::int64_t elements =
        *element_count(body_->sweep().dims, extents); // the front end has checked that it fits
    body_->fit(extents, elements);
    walk_.fit(elements, elements, elements);
    tiles_.fit(extents, elements);
    extents_.assign(extents.begin(), extents.end());
    fits_ = true;
}

void SweepRun::run(std::span<char* const> arrays, std::span<const std::uint64_t> parameters,
                   std::span<ScalarResult> scalars) {
    body_->begin(parameters, scalars);
    if (tiles_.are_better())
        tiles_.run(arrays);
    else
        walk_.run(0, arrays);
    body_->end(parameters, scalars, walk_.states());
}

void SweepRun::fit_rows(std::size_t workers, std::int64_t length, std::int64_t most, std::int64_t all) {
    row_length_ = length;
    elements_of_rows_ = length * all;
    while (walk_of_worker_.size() < workers) walk_of_worker_.emplace_back(*body_, 1);
    for (RowWalk& walk : walk_of_worker_) walk.fit(length * most, length * most, elements_of_rows_);
}

void SweepRun::run_rows(std::size_t worker, std::int64_t begin, std::int64_t end, std::span<char* const> arrays,
                        NextRows* next) {
    RowWalk& walk = walk_of_worker_[worker];
    const std::int64_t elements = (end - begin) * row_length_;
    walk.fit(elements, elements, elements_of_rows_);
    walk.run(begin * row_length_, arrays, next);
}

} // namespace gf::cpu
