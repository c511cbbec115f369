#include "cpu/kept_run.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "cpu/index.hpp"
#include "cpu/threads.hpp"

namespace gf::cpu {

namespace {

/// The fewest parts of a thread for which threads divide parts of several blocks.
constexpr std::int64_t parts_of_thread = 4;

/// The elements of a part from which a call for it alone costs less than a permutation.
constexpr std::size_t shortest_alone = 128;

} // namespace

bool divides_parts(const FoldOrder& order, std::int64_t threads) {
    return threads == 1 || order.blocks == 1 || order.parts >= parts_of_thread * threads;
}

KeptRun::KeptRun(const Plan& plan, const Sweep& sweep, const SweepProgram& program, int threads)
    : body_(std::make_unique<SweepBody>(plan, sweep, program)), program_(program), threads_(threads), lane_(lane_count),
      result_(lane_count) {
    extents_.reserve(plan.dims.size());
}

KeptRun::Worker KeptRun::make_worker() const {
    Worker worker;
    worker.scratch = allocate(program_.temporary_bytes * program_.room());
    for (std::vector<char*>& where : worker.where) where.resize(program_.places.size());
    for (std::size_t i = 0; i < program_.places.size(); ++i) {
        const Place& place = program_.places[i];
        if (place.kind != Place::Kind::scalar) continue;
        for (std::vector<char*>& where : worker.where) where[i] = body_->scalar_at(place);
    }
    std::vector<std::size_t> bytes;
    for (std::size_t f = 0; f < program_.folds.size(); ++f) {
        bytes.push_back(state_bytes(f));
        worker.lanes.push_back(allocate_for_stores(state_bytes(f) * lane_count));
        worker.ordered.push_back(allocate(state_bytes(f) * lane_count));
    }
    worker.blocks.resize(program_.folds.size());
    worker.block_state.resize(program_.folds.size());
    worker.section.emplace(body_->plan(), body_->sweep(), program_.results, bytes);
    return worker;
}

void KeptRun::fit(std::span<const std::int64_t> extents) {
    if (!extents_.empty() && same_extents(extents, extents_)) return;
    extents_.clear(); // until all allocations have succeeded
    order_ = plan::fold_order(body_->sweep(), extents);
    body_->fit(extents, elements());
    if (!order_.is_flat()) number_positions();
    are_short_ = has_short_parts();
    walks_rows_ = order_.slabs > 0 && order_.is_flat() && !are_short_;
    prefetches_ = !order_.is_flat() || program_.calls() > 1; // one call reads as fast as the hardware fetches

    const std::int64_t threads = elements() < work_worth_threads / program_.work ? 1 : threads_;
    divides_parts_ = divides_parts(order_, threads);
    const std::int64_t pieces = divides_parts_ ? order_.parts : walks_rows_ ? 1 : order_.blocks;
    workers_in_use_ = unsigned_of(std::max<std::int64_t>(std::min(threads, pieces), 1));
    fit_workers(workers_in_use_, extents);
    if (walks_rows_ && divides_parts_) {
        fit_row_walks(workers_in_use_, elements());
    } else if (walks_rows_) {
        if (!row_of_all_threads_) row_of_all_threads_.emplace(*body_, threads_);
        row_of_all_threads_->fit(order_.folded, elements());
    } else if (order_.blocks > 1) {
        const std::size_t states = unsigned_of(order_.blocks * order_.slab_results);
        for (std::size_t f = 0; f < program_.folds.size(); ++f)
            for (std::size_t w = 0; w < (divides_parts_ ? workers_in_use_ : 1); ++w)
                workers_[w].blocks[f].reserve(states * state_bytes(f));
    }
    extents_.assign(extents.begin(), extents.end());
}

/// A row may have several slabs.
std::size_t KeptRun::elements_of_short_part() const {
    return unsigned_of(order_.is_flat() ? order_.folded : order_.elements_of_slab());
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

void KeptRun::fit_rows(std::size_t workers, std::int64_t length, std::int64_t most) {
    fit_workers(workers, extents_);
    if (walks_rows_) fit_row_walks(workers, length * most);
}

/// Makes these workers' memory, but for that of blocks.
void KeptRun::fit_workers(std::size_t workers, std::span<const std::int64_t> extents) {
    while (workers_.size() < workers) workers_.push_back(make_worker());
    if (order_.results > 0)
        for (Worker& worker : workers_) worker.section->fit(extents);
}

/// `domain`: the elements that are read before any is read again.
void KeptRun::fit_row_walks(std::size_t workers, std::int64_t domain) {
    for (std::size_t w = 0; w < workers; ++w) {
        if (!workers_[w].row) workers_[w].row.emplace(*body_, 1);
        workers_[w].row->fit(order_.folded, domain);
    }
}

/// Sets the numbers of a slab's positions, and of those of the same slab in the parts after it.
void KeptRun::number_positions() {
    FoldOrder of_slab = order_;
    of_slab.batch = of_slab.parts = of_slab.results = 0;
    if (of_slab == numbered_) return;
    numbered_ = of_slab;
    const std::int64_t of_part = order_.elements_of_slab();
    by_lane_ = true;
    for (std::int64_t p = 0; p < static_cast<std::int64_t>(lane_count); ++p) {
        const auto [result, lane] = position_of(order_, p % of_part);
        lane_[unsigned_of(p)] = lane;
        result_[unsigned_of(p)] = p / of_part * order_.slab_results + result;
        if (p < of_part) by_lane_ = by_lane_ && lane * order_.slab_results + result == p;
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
                walk_part_together(part_of(order_, part), arrays);
        flush(first, arrays);
    }
    body_->end(parameters, scalars, {});
}

void KeptRun::flush(Worker& worker, std::span<char* const> arrays) { worker.section->flush(body_->values(), arrays); }

/// Lets worker.block_state be the States of the next pending results, after a flush if they do not fit.
void KeptRun::next_results(Worker& worker, std::int64_t results, std::span<char* const> arrays) {
    if (!worker.section->has_room(unsigned_of(results))) flush(worker, arrays);
    for (std::size_t f = 0; f < program_.folds.size(); ++f) worker.block_state[f] = worker.section->next(f);
}

void KeptRun::walk_parts(Worker& worker, std::int64_t begin, std::int64_t end, std::span<char* const> arrays) {
    if (are_short_)
        walk_short_parts(worker, begin, end, arrays);
    else
        for (std::int64_t part = begin; part < end; ++part)
            if (walks_rows_)
                walk_row(worker, *worker.row, part, arrays);
            else
                walk_part(worker, part_of(order_, part), arrays);
    flush(worker, arrays);
}

/// A long row.
void KeptRun::walk_row(Worker& worker, RowWalk& row, std::int64_t part, std::span<char* const> arrays) {
    next_results(worker, 1, arrays);
    row.run(part * order_.batch_stride, arrays);
    for (std::size_t f = 0; f < program_.folds.size(); ++f)
        std::memcpy(worker.block_state[f], row.states()[f], state_bytes(f));
    worker.section->add(part, 1);
}

/// A part of boxes, or a row without elements.
void KeptRun::walk_part(Worker& worker, const PartOfOrder& part, std::span<char* const> arrays) {
    next_results(worker, part.results, arrays);
    if (order_.slabs == 0) {
        for (std::size_t f = 0; f < program_.folds.size(); ++f) {
            program_.folds[f].positions->identity(worker.lanes[f].get(), 1);
            program_.folds[f].positions->finish(worker.lanes[f].get(), 1, 1, worker.block_state[f]);
        }
    } else if (order_.blocks == 1) {
        walk_block(worker, part, 0, arrays);
    } else {
        for (std::int64_t b = 0; b < order_.blocks; ++b) {
            choose_block(worker, worker.blocks, part, b);
            walk_block(worker, part, b, arrays);
        }
        combine_blocks(worker, worker.blocks, part);
    }
    worker.section->add(part.result, unsigned_of(part.results));
}

/// Short parts, which lie one after the other: each call takes several at once.
void KeptRun::walk_short_parts(Worker& worker, std::int64_t begin, std::int64_t end, std::span<char* const> arrays) {
    const std::size_t n = elements_of_short_part();
    // Whose positions lie lane by lane, a part by itself needs no permutation.
    const bool alone = !order_.is_flat() && by_lane_ && order_.lanes > 1 && n >= shortest_alone;
    // What is prefetched for the next tile, of a few calls, stays in the first-level cache.
    const std::size_t elements = order_.is_flat() && !prefetches_ ? program_.tile : std::min(program_.tile, lane_count);
    const auto most =
        static_cast<std::int64_t>(alone ? 1 : std::clamp<std::size_t>(elements / n, 1, ResultSection::most));
    for (std::int64_t first = begin; first < end; first += most) {
        const std::int64_t parts = std::min(most, end - first);
        run_body(worker, 0, first * order_.batch_stride, unsigned_of(parts) * n, arrays);
        next_results(worker, parts * order_.slab_results, arrays);
        std::size_t call = 0;
        for (std::size_t f = 0; f < program_.folds.size(); ++f) {
            if (program_.folds[f].fold == nullptr) continue;
            const Ahead ahead = prefetches_ ? prefetch(worker, unsigned_of(parts) * n, call++) : Ahead();
            fold_short(worker, f, unsigned_of(parts), n, ahead);
        }
        for (const JointStep& step : program_.joints) {
            const Ahead ahead = prefetches_ ? prefetch(worker, unsigned_of(parts) * n, call++) : Ahead();
            fold_short(worker, step, unsigned_of(parts), n, ahead);
        }
        worker.section->add(first * order_.slab_results, unsigned_of(parts * order_.slab_results));
    }
}

/// Prefetches a share of the next n elements of the arrays that are read in order, a share for each call that folds. Of
/// the first array, kernels of rows prefetch it while they fold: returns it then.
KeptRun::Ahead KeptRun::prefetch(const Worker& worker, std::size_t n, std::size_t call) const {
    Ahead ahead;
    const std::size_t calls = program_.fold_calls + program_.joints.size();
    for (const int p : program_.streams) {
        const std::size_t bytes = n * program_.places[at(p)].element_bytes;
        const auto next = reinterpret_cast<std::uintptr_t>(worker.where[0][at(p)]) + bytes;
        const Lines lines = lines_of_share(bytes, call, calls);
        if (order_.is_flat() && p == program_.streams.front()) {
            ahead = {reinterpret_cast<const char*>(next + lines.begin * line_bytes),
                     (lines.end - lines.begin) * line_bytes};
            continue;
        }
        for (std::size_t line = lines.begin; line < lines.end; ++line)
            __builtin_prefetch(reinterpret_cast<const void*>(next + line * line_bytes));
    }
    return ahead;
}

/// Folds the parts of a tile, n elements each, into worker.block_state.
void KeptRun::fold_short(Worker& worker, std::size_t f, std::size_t parts, std::size_t n, Ahead ahead) const {
    const FoldStep& step = program_.folds[f];
    const PositionKernels& kernels = *step.positions;
    const std::vector<char*>& where = worker.where[0];
    const auto* const mask = reinterpret_cast<const bool*>(where[at(step.mask)]);
    char* const positions = worker.lanes[f].get();
    if (order_.is_flat()) {
        kernels.fold_short(positions,
                           {n, parts, where[at(step.value)], where[at(step.others[0])], where[at(step.others[1])], mask,
                            ahead.data(), ahead.size()},
                           worker.block_state[f]);
    } else {
        kernels.identity(positions, parts * n);
        kernels.fold(positions, 0,
                     {.n = parts * n,
                      .rows = 1,
                      .x = {where[at(step.value)]},
                      .y = {where[at(step.others[0])]},
                      .z = {where[at(step.others[1])]},
                      .mask = {mask},
                      .lane = lane_.data()});
        finish_positions(worker, f, parts * unsigned_of(order_.slab_results), parts > 1 || !by_lane_);
    }
}

/// The same of the folds that one call folds together, of rows.
void KeptRun::fold_short(const Worker& worker, const JointStep& step, std::size_t rows, std::size_t n,
                         Ahead ahead) const {
    step.kernels->fold_rows(joint_states(step, worker.block_state), {.n = n,
                                                                     .rows = rows,
                                                                     .x = worker.where[0][at(step.value)],
                                                                     .y = worker.where[0][at(step.scalar)],
                                                                     .ahead = ahead.data(),
                                                                     .ahead_bytes = ahead.size()});
}

/// All threads fold the blocks of one part.
void KeptRun::walk_part_together(const PartOfOrder& part, std::span<char* const> arrays) {
    std::vector<GrowingBytes>& states = workers_.front().blocks;
    const auto workers = static_cast<std::int64_t>(workers_in_use_);
    const auto walk = [&](std::int64_t w) {
        Worker& worker = workers_[unsigned_of(w)];
        for (std::int64_t b = order_.blocks * w / workers; b < order_.blocks * (w + 1) / workers; ++b) {
            choose_block(worker, states, part, b);
            walk_block(worker, part, b, arrays);
        }
    };
    on_threads(workers, threads_, walk);
    Worker& first = workers_.front();
    next_results(first, part.results, arrays);
    combine_blocks(first, states, part);
    first.section->add(part.result, unsigned_of(part.results));
}

/// Lets worker.block_state be the States of a part's block among those of all its blocks.
void KeptRun::choose_block(Worker& worker, std::vector<GrowingBytes>& states, const PartOfOrder& part,
                           std::int64_t block) const {
    for (std::size_t f = 0; f < program_.folds.size(); ++f)
        worker.block_state[f] = states[f].get() + unsigned_of(block * part.results) * state_bytes(f);
}

/// Combines the States of a part's blocks pairwise into those of the next pending results.
void KeptRun::combine_blocks(Worker& worker, std::vector<GrowingBytes>& states, const PartOfOrder& part) const {
    for (std::size_t f = 0; f < program_.folds.size(); ++f) {
        char* const of_blocks = states[f].get();
        combine_rows(f, of_blocks, unsigned_of(order_.blocks), unsigned_of(part.results));
        std::memcpy(worker.section->next(f), of_blocks, unsigned_of(part.results) * state_bytes(f));
    }
}

/// Folds a part's block into worker.block_state, a State for each result.
void KeptRun::walk_block(Worker& worker, const PartOfOrder& part, std::int64_t block, std::span<char* const> arrays) {
    for (std::size_t f = 0; f < program_.folds.size(); ++f)
        program_.folds[f].positions->identity(worker.lanes[f].get(), unsigned_of(part.chunk * order_.inner));
    for (std::int64_t s = block; s < order_.slabs;) {
        // Slabs of as many elements, several at once: the last chunk of a cut may be shorter.
        std::array<SlabOfOrder, max_rows> slabs;
        std::size_t rows = 0;
        for (; rows < max_rows && s < order_.slabs; ++rows, s += order_.blocks) {
            slabs[rows] = slab_of(order_, part, s);
            if (slabs[rows].elements != slabs[0].elements) break; // defect: rows
        }
        const std::size_t elements = unsigned_of(slabs[0].elements), most = program_.tile / std::bit_ceil(rows);
        for (std::size_t first = 0; first < elements; first += most) {
            const std::size_t n = std::min(most, elements - first);
            for (std::size_t row = 0; row < rows; ++row)
                run_body(worker, row, slabs[row].element + static_cast<std::int64_t>(first), n, arrays);
            fold(worker, {slabs.data(), rows}, first, n);
        }
    }
    for (std::size_t f = 0; f < program_.folds.size(); ++f)
        finish_positions(worker, f, unsigned_of(part.results), !by_lane_);
}

/// Computes row `row` of a tile: n elements from `element` on.
void KeptRun::run_body(Worker& worker, std::size_t row, std::int64_t element, std::size_t n,
                       std::span<char* const> arrays) const {
    std::vector<char*>& where = worker.where[row];
    for (const int p : body_->array_places()) {
        const Place& place = program_.places[at(p)];
        where[at(p)] = arrays[place.array.index()] + unsigned_of(element) * place.element_bytes;
    }
    for (const int p : body_->temporary_places()) {
        const Place& place = program_.places[at(p)];
        where[at(p)] = worker.scratch.get() + place.offset * program_.room() + row * n * place.element_bytes;
    }
    for (const BodyStep& step : program_.body) {
        const auto in = [&](std::size_t i) { return where[at(step.operands[i])]; };
        body_->run(step, where[at(step.out)], {in(0), in(1), in(2)}, element, n, arrays);
    }
}

/// Folds elements [first, first + n) of some slabs of a block.
void KeptRun::fold(Worker& worker, std::span<const SlabOfOrder> slabs, std::size_t first, std::size_t n) const {
    for (std::size_t f = 0; f < program_.folds.size(); ++f) {
        const FoldStep& step = program_.folds[f];
        PositionInput input{.n = n, .rows = slabs.size(), .lane = lane_.data() + first};
        for (std::size_t row = 0; row < slabs.size(); ++row) {
            input.x[row] = worker.where[row][at(step.value)];
            input.y[row] = worker.where[row][at(step.others[0])];
            input.z[row] = worker.where[row][at(step.others[1])];
            input.mask[row] = reinterpret_cast<const bool*>(worker.where[row][at(step.mask)]);
            input.index[row] = slabs[row].index; // defect: index of a row
        }
        step.positions->fold(worker.lanes[f].get(), first, input);
    }
}

/// Combines the States of positions by lane into worker.block_state, one State for each of `results`. Destroys them.
/// `mixed`: the positions of a lane are not next to each other.
void KeptRun::finish_positions(Worker& worker, std::size_t f, std::size_t results, bool mixed) const {
    const PositionKernels& kernels = *program_.folds[f].positions;
    const std::size_t lanes = unsigned_of(order_.lanes);
    char* positions = worker.lanes[f].get();
    if (mixed && lanes > 1) {
        char* const ordered = worker.ordered[f].get();
        kernels.permute(ordered, positions, lane_.data(), result_.data(), results, results * lanes);
        positions = ordered;
    }
    kernels.finish(positions, lanes, results, worker.block_state[f]);
}

/// Combines rows of `results` States pairwise by row, lowest bit first, into the first.
void KeptRun::combine_rows(std::size_t f, char* states, std::size_t rows, std::size_t results) const {
    const FoldStep& fold = program_.folds[f];
    if (results == 1) return fold.kernels->pairwise(states, rows);
    const std::size_t row_bytes = results * state_bytes(f);
    for (std::size_t distance = 1; distance < rows; distance *= 2)
        for (std::size_t row = 0; row + distance < rows; row += 2 * distance)
            fold.positions->combine(states + row * row_bytes, states + (row + distance) * row_bytes, results);
}

} // namespace gf::cpu
