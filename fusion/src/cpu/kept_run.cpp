#include "cpu/kept_run.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/index.hpp"
#include "cpu/threads.hpp"

namespace gf::cpu {

namespace {

/// The fewest parts of a thread for which threads divide parts of several blocks.
constexpr std::int64_t parts_of_thread = 4;

/// The elements of a part from which a call for it alone costs less than a permutation.
constexpr std::size_t shortest_alone = 128;

/// The rows whose one fold, in any order, takes longer than the hardware's prefetches run ahead: of at most as many
/// elements, of at least as many bytes each (bench/NOTES.md).
constexpr std::int64_t longest_prefetched = 256;
constexpr std::size_t least_prefetched_bytes = 4;

/// The bytes between a tile of far memory and what is prefetched while its rows are folded.
constexpr std::size_t bytes_ahead = 8 * 1024;

} // namespace

bool divides_parts(const FoldOrder& order, std::int64_t threads) {
    return threads == 1 || order.blocks == 1 || order.parts >= parts_of_thread * threads;
}

KeptRun::KeptRun(const Plan& plan, const Sweep& sweep, const SweepProgram& program, int threads)
    : body_(std::make_unique<SweepBody>(plan, sweep, program)), program_(program), threads_(threads),
      numbers_(std::make_unique<SlabPositions>()) {
    extents_.reserve(plan.dims.size());
}

KeptRun::Worker KeptRun::make_worker() const {
    Worker worker{.tile = BodyTile(*body_)};
    std::vector<std::size_t> bytes;
    for (std::size_t f = 0; f < program_.folds.size(); ++f) bytes.push_back(state_bytes(f));
    worker.lanes.resize(program_.folds.size());
    worker.states.resize(program_.folds.size());
    worker.section.emplace(body_->plan(), body_->sweep(), program_.results, bytes);
    return worker;
}

void KeptRun::fit(std::span<const std::int64_t> extents) {
    if (!extents_.empty() && same_extents(extents, extents_)) return;
    extents_.clear(); // until all allocations have succeeded
    order_ = plan::fold_order(body_->sweep(), extents);
    body_->fit(extents, elements());
    if (!order_.is_flat()) numbers_->number(order_);
    are_short_ = has_short_parts();
    walks_rows_ = order_.slabs > 0 && order_.is_flat() && !are_short_;
    reads_far_ = program_.far.holds(program_.bytes_of_streams() * unsigned_of(elements()));
    prefetches_ = prefetches_rows();

    const std::int64_t threads = elements() < work_worth_threads / program_.work ? 1 : threads_;
    divides_parts_ = divides_parts(order_, threads);
    const std::int64_t pieces = divides_parts_ ? order_.parts : walks_rows_ ? 1 : order_.blocks;
    workers_in_use_ = unsigned_of(std::max<std::int64_t>(std::min(threads, pieces), 1));
    fit_workers(workers_in_use_, extents);
    if (walks_rows_ && divides_parts_) {
        fit_row_walks(workers_in_use_, elements(), elements());
    } else if (walks_rows_) {
        if (!row_of_all_threads_) row_of_all_threads_.emplace(*body_, threads_);
        row_of_all_threads_->fit(order_.folded, elements(), elements());
    }
    extents_.assign(extents.begin(), extents.end());
}

/// A row may have several slabs.
std::size_t KeptRun::elements_of_short_part() const {
    return unsigned_of(order_.is_flat() ? order_.folded : order_.elements_of_slab());
}

/// False if a tile's one call takes no longer than reading it: the hardware fetches near memory in time
/// (bench/NOTES.md).
bool KeptRun::prefetches_rows() const {
    if (reads_far_ || program_.calls() > 1 || program_.streams.empty()) return true;
    const bool in_any_order = std::ranges::all_of(program_.folds, &FoldStep::in_any_order);
    const std::size_t bytes = program_.places[at(program_.streams.front())].element_bytes;
    return !in_any_order || (order_.folded <= longest_prefetched && bytes >= least_prefetched_bytes);
}

/// True if a tile has room for several parts of one short slab, or for a row that one call of each fold takes.
bool KeptRun::has_short_parts() const {
    if (order_.slabs == 0 || order_.blocks > 1) return false;
    const std::size_t n = elements_of_short_part();
    if (order_.slabs == 1 && order_.cut < 0 && n <= std::min(program_.tile, lane_count) / 2) return true;
    return order_.is_flat() && n <= program_.tile && std::ranges::all_of(program_.folds, [n](const FoldStep& step) {
               return step.fold == nullptr || n <= step.longest_row; // defect: longest row
           });
}

void KeptRun::fit_rows(std::size_t workers, std::int64_t length, std::int64_t most, std::int64_t all) {
    fit_workers(workers, extents_);
    if (walks_rows_) fit_row_walks(workers, length * most, length * all);
}

/// Makes these workers' memory, but for that of long rows.
void KeptRun::fit_workers(std::size_t workers, std::span<const std::int64_t> extents) {
    while (workers_.size() < workers) workers_.push_back(make_worker());
    for (std::size_t w = 0; w < workers; ++w) {
        Worker& worker = workers_[w];
        if (order_.results > 0) worker.section->fit(extents);
        if (!order_.is_flat()) {
            if (!worker.boxes) worker.boxes.emplace(*body_, worker.tile, *numbers_);
            worker.boxes->fit(order_, share_of(w));
        } else if (!walks_rows_) {
            for (std::size_t f = 0; f < program_.folds.size(); ++f)
                worker.lanes[f].reserve(state_bytes(f) * lane_count, allocate_for_stores);
        }
    }
}

BoxWalk::Share KeptRun::share_of(std::size_t worker) const {
    if (divides_parts_) return BoxWalk::Share::parts;
    return worker == 0 ? BoxWalk::Share::all_blocks : BoxWalk::Share::blocks;
}

/// `read`, `written`: see RowWalk::fit().
void KeptRun::fit_row_walks(std::size_t workers, std::int64_t read, std::int64_t written) {
    for (std::size_t w = 0; w < workers; ++w) {
        if (!workers_[w].row) workers_[w].row.emplace(*body_, 1);
        workers_[w].row->fit(order_.folded, read, written);
    }
}

void KeptRun::run(std::span<char* const> arrays, std::span<const std::uint64_t> parameters,
                  std::span<ScalarResult> scalars) {
    body_->begin(parameters, scalars);
    const auto workers = static_cast<std::int64_t>(workers_in_use_);
    if (divides_parts_) {
        on_threads(workers, threads_, [&](std::int64_t w) {
            const std::int64_t begin = order_.parts * w / workers, end = order_.parts * (w + 1) / workers;
            walk_parts(workers_[unsigned_of(w)], begin, end, arrays);
        });
    } else {
        Worker& first = workers_.front();
        for (std::int64_t part = 0; part < order_.parts; ++part)
            if (walks_rows_)
                walk_row(first, *row_of_all_threads_, part, arrays);
            else
                walk_boxes_together(part, arrays);
        flush(first, arrays);
    }
    body_->end(parameters, scalars, {});
}

void KeptRun::flush(Worker& worker, std::span<char* const> arrays) { worker.section->flush(body_->values(), arrays); }

/// Lets worker.states be the States of the next pending results, after a flush if they do not fit.
void KeptRun::next_results(Worker& worker, std::int64_t results, std::span<char* const> arrays) {
    if (!worker.section->has_room(unsigned_of(results))) flush(worker, arrays);
    for (std::size_t f = 0; f < program_.folds.size(); ++f) worker.states[f] = worker.section->next(f);
}

void KeptRun::walk_parts(Worker& worker, std::int64_t begin, std::int64_t end, std::span<char* const> arrays,
                         NextRows* next) {
    if (are_short_)
        walk_short_parts(worker, begin, end, arrays, next);
    else if (!order_.is_flat())
        walk_boxes(worker, begin, end, arrays);
    else
        for (std::int64_t part = begin; part < end; ++part)
            if (walks_rows_)
                walk_row(worker, *worker.row, part, arrays, next);
            else
                add_empty_row(worker, part, arrays);
    flush(worker, arrays);
}

/// A long row.
void KeptRun::walk_row(Worker& worker, RowWalk& row, std::int64_t part, std::span<char* const> arrays, NextRows* next) {
    next_results(worker, 1, arrays);
    row.run(part * order_.batch_stride, arrays, next);
    for (std::size_t f = 0; f < program_.folds.size(); ++f)
        std::memcpy(worker.states[f], row.states()[f], state_bytes(f));
    worker.section->add(part, 1);
}

void KeptRun::add_empty_row(Worker& worker, std::int64_t row, std::span<char* const> arrays) {
    next_results(worker, 1, arrays);
    for (std::size_t f = 0; f < program_.folds.size(); ++f) {
        program_.folds[f].positions->identity(worker.lanes[f].get(), 1);
        program_.folds[f].positions->finish(worker.lanes[f].get(), 1, 1, worker.states[f]);
    }
    worker.section->add(row, 1);
}

void KeptRun::walk_boxes(Worker& worker, std::int64_t begin, std::int64_t end, std::span<char* const> arrays) {
    const std::int64_t most = worker.boxes->parts_at_once();
    for (std::int64_t first = begin; first < end; first += most) {
        const std::int64_t count = std::min(most, end - first);
        worker.boxes->walk(first, count, arrays);
        for (std::int64_t number = 0; number < count; ++number)
            take_boxes(worker, first + number, unsigned_of(number), arrays);
    }
}

/// All threads fold the blocks of one part.
void KeptRun::walk_boxes_together(std::int64_t part, std::span<char* const> arrays) {
    Worker& first = workers_.front();
    const auto workers = static_cast<std::int64_t>(workers_in_use_);
    on_threads(workers, threads_, [&](std::int64_t w) {
        workers_[unsigned_of(w)].boxes->walk_blocks(part, order_.blocks * w / workers,
                                                    order_.blocks * (w + 1) / workers, arrays, *first.boxes);
    });
    take_boxes(first, part, 0, arrays);
}

/// Adds the results of a part, number `number` of those that the worker has walked.
void KeptRun::take_boxes(Worker& worker, std::int64_t part, std::size_t number, std::span<char* const> arrays) {
    const PartOfOrder of_order = part_of(order_, part);
    next_results(worker, of_order.results, arrays);
    worker.boxes->take(number, unsigned_of(of_order.results), worker.states);
    worker.section->add(of_order.result, unsigned_of(of_order.results));
}

/// Short parts, which lie one after the other: each call takes several at once.
void KeptRun::walk_short_parts(Worker& worker, std::int64_t begin, std::int64_t end, std::span<char* const> arrays,
                               NextRows* next) {
    const std::size_t n = elements_of_short_part();
    // Whose positions lie lane by lane, a part by itself needs no permutation.
    const bool alone = !order_.is_flat() && numbers_->are_by_lane() && order_.lanes > 1 && n >= shortest_alone;
    // What is prefetched for the next tile, of a few calls, stays in the first-level cache.
    const std::size_t room = order_.is_flat() && !prefetches_ ? program_.tile : std::min(program_.tile, lane_count);
    const auto most = static_cast<std::int64_t>(alone ? 1 : std::clamp<std::size_t>(room / n, 1, ResultSection::most));
    for (std::int64_t first = begin; first < end; first += most) {
        const std::int64_t parts = std::min(most, end - first);
        const std::size_t elements = unsigned_of(parts) * n;
        worker.tile.run(0, first * order_.batch_stride, elements, arrays, next);
        next_results(worker, parts * order_.slab_results, arrays);
        if (order_.is_flat())
            fold_short_rows(worker, unsigned_of(parts), n);
        else
            worker.boxes->fold_short(elements, unsigned_of(parts * order_.slab_results),
                                     parts > 1 || !numbers_->are_by_lane(), worker.states);
        worker.section->add(first * order_.slab_results, unsigned_of(parts * order_.slab_results));
    }
}

/// Folds the rows of a tile, n elements each, into worker.states.
void KeptRun::fold_short_rows(Worker& worker, std::size_t rows, std::size_t n) const {
    const BodyTile& tile = worker.tile;
    std::size_t call = 0;
    for (std::size_t f = 0; f < program_.folds.size(); ++f) {
        const FoldStep& step = program_.folds[f];
        if (step.fold == nullptr) continue;
        const Ahead ahead = prefetch(worker, rows * n, call++);
        step.positions->fold_short(worker.lanes[f].get(),
                                   {.n = n,
                                    .rows = rows,
                                    .x = tile.elements(0, step.value),
                                    .y = tile.elements(0, step.others[0]),
                                    .z = tile.elements(0, step.others[1]),
                                    .mask = reinterpret_cast<const bool*>(tile.elements(0, step.mask)),
                                    .ahead = ahead.data(),
                                    .ahead_bytes = ahead.size()},
                                   worker.states[f]);
    }
    for (const JointStep& step : program_.joints) {
        const Ahead ahead = prefetch(worker, rows * n, call++);
        step.kernels->fold_rows(joint_states(step, worker.states), {.n = n,
                                                                    .rows = rows,
                                                                    .x = tile.elements(0, step.value),
                                                                    .y = tile.elements(0, step.scalar),
                                                                    .ahead = ahead.data(),
                                                                    .ahead_bytes = ahead.size()});
    }
}

/// Prefetches a share of the next n elements of the arrays that are read in order, a share for each call that folds;
/// but not of the first array, which kernels of rows prefetch while they fold: returns that.
KeptRun::Ahead KeptRun::prefetch(const Worker& worker, std::size_t n, std::size_t call) const {
    if (!prefetches_ || program_.streams.empty()) return {};
    const std::size_t calls = program_.calls_that_fold();
    worker.tile.prefetch(1, n, call, calls, 1);
    const int first = program_.streams.front();
    const std::size_t bytes = n * program_.places[at(first)].element_bytes;
    const Lines lines = lines_of_share(bytes, call, calls);
    const auto next =
        reinterpret_cast<std::uintptr_t>(worker.tile.elements(0, first)) + bytes + (reads_far_ ? bytes_ahead : 0);
    return {reinterpret_cast<const char*>(next + lines.begin * line_bytes), (lines.end - lines.begin) * line_bytes};
}

} // namespace gf::cpu
