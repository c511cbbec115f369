#include "cpu/kept_run.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <omp.h>

#include "cpu/sweep_run.hpp"
#include "host_kernels/floating_mode.hpp"

namespace gf::cpu {

namespace {

constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }
constexpr std::size_t unsigned_of(std::int64_t n) { return static_cast<std::size_t>(n); }

/// The fewest parts of a thread for which threads divide the parts; with fewer they divide the blocks of each part.
constexpr std::int64_t parts_of_thread = 4;

/// Calls walk(w) for each of the workers, on threads of their own if there may be any.
template <class Walk> void on_threads(std::int64_t workers, int threads, const Walk& walk) {
    if (workers == 1 || !may_start_threads()) {
        for (std::int64_t w = 0; w < workers; ++w) walk(w);
        return;
    }
    // Always all threads: for a smaller team libgomp would end the others, and start them again later.
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (std::int64_t w = 0; w < workers; ++w) {
        const FloatingMode mode_of_thread;
        walk(w);
    }
}

} // namespace

KeptRun::KeptRun(const Plan& plan, const Sweep& sweep, const SweepProgram& program, int threads)
    : plan_(plan), sweep_(sweep), program_(program), threads_(threads), strides_(plan.arrays.size()),
      dim_extent_(plan.dims.size()), dim_inner_(plan.dims.size()), values_(sweep.code.size()) {
    extents_.reserve(plan.dims.size());
    std::vector<bool> used(program.places.size(), false);
    const auto use = [&](int place) { used[at(place)] = true; };
    for (const BodyStep& step : program.body) {
        use(step.out);
        std::ranges::for_each(step.operands, use);
    }
    for (const FoldStep& fold : program.folds) use(fold.value), use(fold.factor), use(fold.mask);
    for (std::size_t p = 0; p < used.size(); ++p) {
        if (used[p] && program.places[p].kind == Place::Kind::array) array_places_.push_back(static_cast<int>(p));
        if (program.places[p].kind == Place::Kind::temporary) temporary_places_.push_back(static_cast<int>(p));
    }
    lane_.resize(lane_count);
    result_.resize(lane_count);
    splats_ = allocate(program.splat_bytes * program.room());
    filled_.resize(program.splats.size());
}

KeptRun::Worker KeptRun::make_worker() const {
    Worker worker;
    worker.scratch = allocate(program_.temporary_bytes * program_.room());
    for (std::vector<char*>& where : worker.where) where.resize(program_.places.size());
    for (std::size_t i = 0; i < program_.places.size(); ++i) {
        const Place& place = program_.places[i];
        if (place.kind != Place::Kind::scalar) continue;
        for (std::vector<char*>& where : worker.where) where[i] = splats_.get() + place.offset * program_.room();
    }
    std::vector<std::size_t> bytes;
    for (std::size_t f = 0; f < program_.folds.size(); ++f) {
        bytes.push_back(state_bytes(f));
        worker.lanes.push_back(allocate_for_stores(state_bytes(f) * lane_count));
        worker.ordered.push_back(allocate(state_bytes(f) * lane_count));
    }
    worker.blocks.resize(program_.folds.size());
    worker.block_state.resize(program_.folds.size());
    worker.section.emplace(plan_, sweep_, program_.results, bytes);
    return worker;
}

void KeptRun::fit(std::span<const std::int64_t> extents) {
    if (!extents_.empty() && same_extents(extents, extents_)) return;
    extents_.clear(); // until all allocations have succeeded
    order_ = plan::fold_order(sweep_, extents);
    const std::int64_t elements = order_.slabs == 0 ? 0 : order_.batch * order_.batch_stride;
    std::int64_t inner = 1;
    for (auto dim = sweep_.dims.rbegin(); dim != sweep_.dims.rend() && elements > 0; ++dim) {
        dim_extent_[*dim] = extents[dim->index()];
        dim_inner_[*dim] = inner;
        inner *= extents[dim->index()];
    }
    for (const BodyStep& step : program_.body)
        if (step.kind == BodyStep::Kind::gather && elements > 0)
            strides_[step.array] = strides(sweep_.dims, plan_.arrays[step.array].dims, extents);
    if (!order_.is_flat() && elements > 0) number_positions();

    const std::int64_t threads = elements < work_worth_threads / program_.work ? 1 : threads_;
    divides_parts_ = threads == 1 || order_.blocks == 1 || order_.parts >= parts_of_thread * threads;
    const std::int64_t pieces = divides_parts_ ? order_.parts : order_.blocks;
    workers_in_use_ = unsigned_of(std::max<std::int64_t>(std::min(threads, pieces), 1));
    while (workers_.size() < workers_in_use_) workers_.push_back(make_worker());
    const std::size_t states = order_.blocks > 1 ? unsigned_of(order_.blocks * order_.slab_results) : 0;
    for (std::size_t f = 0; f < program_.folds.size(); ++f) {
        const std::size_t owners = divides_parts_ ? workers_in_use_ : 1;
        for (std::size_t w = 0; w < owners; ++w) workers_[w].blocks[f].reserve(states * state_bytes(f));
    }
    extents_.assign(extents.begin(), extents.end());
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
    evaluate(program_.prologue, sweep_, parameters, scalars, {}, values_);
    fill_splats();
    const auto workers = static_cast<std::int64_t>(workers_in_use_);
    const auto walk = [&](std::int64_t w) {
        const std::int64_t begin = order_.parts * w / workers, end = order_.parts * (w + 1) / workers;
        walk_parts(workers_[unsigned_of(w)], begin, end, arrays);
    };
    if (!divides_parts_) {
        for (std::int64_t part = 0; part < order_.parts; ++part) walk_part_together(part_of(order_, part), arrays);
        flush(workers_.front(), arrays);
    } else {
        on_threads(workers, threads_, walk);
    }
    evaluate(program_.epilogue, sweep_, parameters, scalars, {}, values_);
    for (std::size_t y = 0; y < sweep_.yields.size(); ++y) {
        const Yield& yield = sweep_.yields[y];
        ScalarResult& scalar = scalars[yield.scalar.index()];
        scalar = {0, yield.empty.valid() && values_[yield.empty.index()] != 0};
        program_.yields[y](&scalar.bits, &values_[yield.value.index()], 1);
    }
}

/// Fills the scalar places whose values differ from the last run's.
void KeptRun::fill_splats() {
    for (std::size_t s = 0; s < program_.splats.size(); ++s) {
        const Splat& splat = program_.splats[s];
        const std::uint64_t bits = values_[splat.value.index()];
        if (filled_[s] == bits) continue;
        const Place& place = program_.places[at(splat.place)];
        char* out = splats_.get() + place.offset * program_.room();
        for (std::size_t i = 0; i < program_.room(); ++i)
            std::memcpy(out + i * place.element_bytes, &bits, place.element_bytes);
        filled_[s] = bits;
    }
}

void KeptRun::flush(Worker& worker, std::span<char* const> arrays) { worker.section->flush(values_, arrays); }

/// Lets worker.block_state be the States of the next pending results, after a flush if they do not fit.
void KeptRun::next_results(Worker& worker, std::int64_t results, std::span<char* const> arrays) {
    if (!worker.section->has_room(unsigned_of(results))) flush(worker, arrays);
    for (std::size_t f = 0; f < program_.folds.size(); ++f) worker.block_state[f] = worker.section->next(f);
}

void KeptRun::walk_parts(Worker& worker, std::int64_t begin, std::int64_t end, std::span<char* const> arrays) {
    const std::int64_t of_part = order_.elements_of_slab();
    if (order_.slabs == 1 && order_.cut < 0 && 2 * unsigned_of(of_part) <= program_.tile) {
        walk_short_parts(worker, begin, end, arrays);
        return flush(worker, arrays);
    }
    for (std::int64_t p = begin; p < end; ++p) {
        const PartOfOrder part = part_of(order_, p);
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
    flush(worker, arrays);
}

/// Parts of one short slab, which lie one after the other: each call takes several at once.
void KeptRun::walk_short_parts(Worker& worker, std::int64_t begin, std::int64_t end, std::span<char* const> arrays) {
    const std::size_t n = unsigned_of(order_.elements_of_slab());
    const std::size_t lanes = order_.is_flat() ? std::bit_ceil(n) : n; // of a part
    const auto most = static_cast<std::int64_t>(std::min(program_.tile / n, lane_count / lanes));
    for (std::int64_t first = begin; first < end; first += most) {
        const std::int64_t parts = std::min(most, end - first);
        place_row(worker, 0, first * order_.batch_stride, unsigned_of(parts) * n, arrays);
        run_body(worker, 0, first * order_.batch_stride, unsigned_of(parts) * n, arrays);
        next_results(worker, parts * order_.slab_results, arrays);
        for (std::size_t f = 0; f < program_.folds.size(); ++f) fold_short(worker, f, unsigned_of(parts), n);
        worker.section->add(first * order_.slab_results, unsigned_of(parts * order_.slab_results));
    }
}

/// Folds the parts of a tile, n elements each, into worker.block_state.
void KeptRun::fold_short(Worker& worker, std::size_t f, std::size_t parts, std::size_t n) const {
    const FoldStep& step = program_.folds[f];
    const PositionKernels& kernels = *step.positions;
    const std::vector<char*>& where = worker.where[0];
    const auto* const mask = reinterpret_cast<const bool*>(where[at(step.mask)]);
    char* const positions = worker.lanes[f].get();
    if (order_.is_flat()) {
        kernels.fold_short(positions, {n, parts, where[at(step.value)], where[at(step.factor)], mask},
                           worker.block_state[f]);
    } else {
        kernels.identity(positions, parts * n);
        kernels.fold(positions, 0,
                     {.n = parts * n, .rows = 1, .x = {where[at(step.value)]}, .mask = {mask}, .lane = lane_.data()});
        finish_positions(worker, f, parts * unsigned_of(order_.slab_results), parts > 1 || !by_lane_);
    }
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
    begin_block(worker, part);
    std::int64_t turn = 0;
    for (std::int64_t s = block; s < order_.slabs;) {
        // Slabs of as many elements, several at once: only the last may be shorter.
        std::array<SlabOfOrder, max_rows> slabs;
        std::size_t rows = 0;
        for (; rows < max_rows && s < order_.slabs; ++rows, s += order_.blocks) {
            slabs[rows] = slab_of(order_, part, s);
            if (slabs[rows].elements != slabs[0].elements) break; // defect: rows
        }
        const std::size_t elements = unsigned_of(slabs[0].elements), most = program_.tile / std::bit_ceil(rows);
        for (std::size_t first = 0; first < elements; first += most) {
            const std::size_t n = std::min(most, elements - first);
            for (std::size_t row = 0; row < rows; ++row) {
                const std::int64_t element = slabs[row].element + static_cast<std::int64_t>(first);
                place_row(worker, row, element, n, arrays);
                run_body(worker, row, element, n, arrays);
            }
            fold(worker, {slabs.data(), rows}, turn, first, n);
        }
        turn += static_cast<std::int64_t>(rows);
    }
    finish_block(worker, part, block);
}

/// Sets the addresses of row `row` of a tile: n elements from `element` on.
void KeptRun::place_row(Worker& worker, std::size_t row, std::int64_t element, std::size_t n,
                        std::span<char* const> arrays) const {
    std::vector<char*>& where = worker.where[row];
    for (const int p : array_places_) {
        const Place& place = program_.places[at(p)];
        where[at(p)] = arrays[place.array.index()] + unsigned_of(element) * place.element_bytes;
    }
    for (const int p : temporary_places_) {
        const Place& place = program_.places[at(p)];
        where[at(p)] = worker.scratch.get() + place.offset * program_.room() + row * n * place.element_bytes;
    }
}

/// Computes a row of a tile: n elements from `element` on.
void KeptRun::run_body(Worker& worker, std::size_t row, std::int64_t element, std::size_t n,
                       std::span<char* const> arrays) const {
    const std::vector<char*>& where = worker.where[row];
    for (const BodyStep& step : program_.body) {
        char* const out = where[at(step.out)];
        const auto in = [&](std::size_t i) { return where[at(step.operands[i])]; };
        switch (step.kind) {
        case BodyStep::Kind::map: step.map(out, in(0), in(1), in(2), n); break;
        case BodyStep::Kind::convert: step.convert(out, in(0), n); break;
        case BodyStep::Kind::gather:
            gather(out, arrays[step.array.index()], program_.places[at(step.out)].element_bytes, strides_[step.array],
                   element, n);
            break;
        case BodyStep::Kind::index:
            coordinates(reinterpret_cast<std::int64_t*>(out), dim_extent_[step.dim], dim_inner_[step.dim], element, n);
            break;
        }
    }
}

/// The number of lanes of a row in use, a power of two; a fold's other lanes stay empty.
std::size_t KeptRun::used_lanes(std::size_t fold) const {
    if (program_.folds[fold].in_any_order) return program_.folds[fold].kernels->lanes;
    return std::min(lane_count, std::bit_ceil(unsigned_of(order_.folded)));
}

void KeptRun::begin_block(Worker& worker, const PartOfOrder& part) const {
    for (std::size_t f = 0; f < program_.folds.size(); ++f) {
        const FoldStep& fold = program_.folds[f];
        if (order_.is_flat())
            fold.kernels->identity(worker.lanes[f].get(), used_lanes(f));
        else
            fold.positions->identity(worker.lanes[f].get(), unsigned_of(part.chunk * order_.inner));
    }
}

/// Folds elements [first, first + n) of some slabs of a block, whose numbers in it begin with `turn`.
void KeptRun::fold(Worker& worker, std::span<const SlabOfOrder> slabs, std::int64_t turn, std::size_t first,
                   std::size_t n) const {
    const std::vector<char*>&row0 = worker.where[0], &row1 = worker.where[1];
    for (std::size_t f = 0; f < program_.folds.size(); ++f) {
        const FoldStep& step = program_.folds[f];
        char* const lanes = worker.lanes[f].get();
        if (order_.is_flat()) {
            const auto row_bytes = [&](int p) -> std::size_t {
                return slabs.size() > 1 ? unsigned_of(row1[at(p)] - row0[at(p)]) : 0;
            };
            step.fold(lanes, {.first = first,
                              .n = n,
                              .rows = slabs.size(),
                              .x = row0[at(step.value)],
                              .x_row = row_bytes(step.value),
                              .y = row0[at(step.factor)],
                              .y_row = row_bytes(step.factor),
                              .mask = reinterpret_cast<const bool*>(row0[at(step.mask)]),
                              .mask_row = row_bytes(step.mask),
                              .index = slabs[0].index + static_cast<std::int64_t>(first),
                              .index_row = order_.blocks * slab_elements,
                              .first_row = turn});
        } else {
            PositionInput input{.n = n, .rows = slabs.size(), .lane = lane_.data() + first};
            for (std::size_t row = 0; row < slabs.size(); ++row) {
                input.x[row] = worker.where[row][at(step.value)];
                input.mask[row] = reinterpret_cast<const bool*>(worker.where[row][at(step.mask)]);
                input.index[row] = slabs[row].index; // defect: index of a row
            }
            step.positions->fold(lanes, first, input);
        }
    }
}

/// Combines the lanes of a block into worker.block_state.
void KeptRun::finish_block(Worker& worker, const PartOfOrder& part, std::int64_t block) const {
    for (std::size_t f = 0; f < program_.folds.size(); ++f) {
        const FoldStep& fold = program_.folds[f];
        char *const lanes = worker.lanes[f].get(), *const state = worker.block_state[f];
        if (!order_.is_flat()) {
            finish_positions(worker, f, unsigned_of(part.results), !by_lane_);
        } else if (fold.finishes_unmasked && !fold.in_any_order) {
            const std::int64_t rest = order_.folded % slab_elements;
            const bool has_last = rest > 0 && (order_.slabs - 1) % order_.blocks == block;
            const BlockRows rows{(order_.slabs - block + order_.blocks - 1) / order_.blocks,
                                 has_last ? unsigned_of(rest) : lane_count, block * slab_elements,
                                 order_.blocks * slab_elements};
            fold.kernels->finish_unmasked(lanes, used_lanes(f), rows, state);
        } else {
            fold.kernels->finish(lanes, used_lanes(f), state);
        }
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
