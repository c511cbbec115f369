#include "cpu/kept_run.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <omp.h>

#include "cpu/sweep_run.hpp"
#include "host_kernels/floating_mode.hpp"

namespace gf::cpu {

namespace {

constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }
constexpr std::size_t unsigned_of(std::int64_t n) { return static_cast<std::size_t>(n); }

/// As for whole folds: one thread does less work than this, in elements times kernel calls an element.
constexpr std::int64_t work_worth_threads = 1 << 17;

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
    for (std::size_t p = 0; p < used.size(); ++p)
        if (used[p] && program.places[p].kind == Place::Kind::array) array_places_.push_back(static_cast<int>(p));
    lane_.resize(lane_count);
    place_.resize(lane_count);
    splats_ = allocate(program.splat_bytes * program.room());
    filled_.resize(program.splats.size());
}

KeptRun::Worker KeptRun::make_worker() const {
    Worker worker;
    worker.scratch = allocate(program_.temporary_bytes * program_.room());
    worker.where.resize(program_.places.size());
    for (std::size_t i = 0; i < program_.places.size(); ++i) {
        const Place& place = program_.places[i];
        if (place.kind == Place::Kind::scalar) worker.where[i] = splats_.get() + place.offset * program_.room();
        if (place.kind == Place::Kind::temporary)
            worker.where[i] = worker.scratch.get() + place.offset * program_.room();
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
    if (!order_.is_flat() && elements > 0) {
        by_lane_ = is_by_result_ = true;
        for (std::int64_t p = 0; p < order_.elements_of_slab(); ++p) {
            const auto [result, lane] = position_of(order_, p);
            lane_[unsigned_of(p)] = lane;
            place_[unsigned_of(p)] = result * order_.lanes + lane;
            is_by_result_ = is_by_result_ && place_[unsigned_of(p)] == p;
            by_lane_ = by_lane_ && lane * order_.slab_results + result == p;
        }
    }

    const std::int64_t work = elements * static_cast<std::int64_t>(program_.calls());
    const std::int64_t threads = work < work_worth_threads ? 1 : threads_;
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
            for (std::size_t f = 0; f < program_.folds.size(); ++f)
                program_.folds[f].positions->identity(worker.block_state[f], 1);
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

/// Parts of one short slab, which lie one after the other: the body runs over several at once.
void KeptRun::walk_short_parts(Worker& worker, std::int64_t begin, std::int64_t end, std::span<char* const> arrays) {
    const std::size_t n = unsigned_of(order_.elements_of_slab());
    const auto most = static_cast<std::int64_t>(program_.tile / n);
    for (std::int64_t first = begin; first < end; first += most) {
        const std::int64_t parts = std::min(most, end - first), element = first * order_.batch_stride;
        run_body(worker, element, unsigned_of(parts) * n, arrays);
        for (std::int64_t p = 0; p < parts; ++p) {
            const PartOfOrder part = part_of(order_, first + p);
            next_results(worker, part.results, arrays);
            begin_block(worker, part, 0);
            fold(worker, slab_of(order_, part, 0), 0, 0, n, unsigned_of(p) * n);
            finish_block(worker, part, 0);
            worker.section->add(part.result, unsigned_of(part.results));
        }
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
    begin_block(worker, part, block);
    std::int64_t turn = 0;
    for (std::int64_t s = block; s < order_.slabs; s += order_.blocks, ++turn) {
        const SlabOfOrder slab = slab_of(order_, part, s);
        const std::size_t elements = unsigned_of(slab.elements);
        for (std::size_t first = 0; first < elements; first += program_.tile) {
            const std::size_t n = std::min(program_.tile, elements - first);
            run_body(worker, slab.element + static_cast<std::int64_t>(first), n, arrays);
            fold(worker, slab, turn, first, n, 0);
        }
    }
    finish_block(worker, part, block);
}

/// Computes n elements, at most a tile, from `element` on.
void KeptRun::run_body(Worker& worker, std::int64_t element, std::size_t n, std::span<char* const> arrays) const {
    for (const int p : array_places_) {
        const Place& place = program_.places[at(p)];
        worker.where[at(p)] = arrays[place.array.index()] + unsigned_of(element) * place.element_bytes;
    }
    for (const BodyStep& step : program_.body) {
        char* const out = worker.where[at(step.out)];
        const auto in = [&](std::size_t i) { return worker.where[at(step.operands[i])]; };
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

void KeptRun::begin_block(Worker& worker, const PartOfOrder& part, std::int64_t block) const {
    const bool has_whole_slab = (block + 1) * slab_elements <= order_.folded;
    for (std::size_t f = 0; f < program_.folds.size(); ++f) {
        const FoldStep& fold = program_.folds[f];
        const bool starts_every_lane = fold.starts_lanes && has_whole_slab && !fold.in_any_order;
        if (order_.is_flat() && starts_every_lane) continue;
        if (order_.is_flat())
            fold.kernels->identity(worker.lanes[f].get(), used_lanes(f));
        else
            fold.positions->identity(worker.lanes[f].get(), unsigned_of(part.chunk * order_.inner));
    }
}

/// Folds elements [first, first + n) of a slab, number `turn` of its block; they lie `in_tile` elements after the
/// tile's first.
void KeptRun::fold(Worker& worker, const SlabOfOrder& slab, std::int64_t turn, std::size_t first, std::size_t n,
                   std::size_t in_tile) const {
    for (std::size_t f = 0; f < program_.folds.size(); ++f) {
        const FoldStep& step = program_.folds[f];
        const auto elements = [&](int p) -> char* {
            char* const base = worker.where[at(p)];
            return base == nullptr ? base : base + in_tile * program_.places[at(p)].element_bytes;
        };
        const auto* const mask = reinterpret_cast<const bool*>(elements(step.mask));
        char* const lanes = worker.lanes[f].get();
        if (order_.is_flat())
            step.fold(lanes, {.first = first,
                              .n = n,
                              .rows = 1,
                              .x = elements(step.value),
                              .y = elements(step.factor),
                              .mask = mask,
                              .index = slab.index + static_cast<std::int64_t>(first),
                              .first_row = turn});
        else
            step.positions->fold(
                lanes + first * state_bytes(f),
                {.n = n, .x = elements(step.value), .mask = mask, .lane = lane_.data() + first, .index = slab.index});
    }
}

/// Combines the lanes of a block into worker.block_state.
void KeptRun::finish_block(Worker& worker, const PartOfOrder& part, std::int64_t block) const {
    for (std::size_t f = 0; f < program_.folds.size(); ++f) {
        const FoldStep& fold = program_.folds[f];
        char *const lanes = worker.lanes[f].get(), *const state = worker.block_state[f];
        if (!order_.is_flat()) {
            combine_positions(f, lanes, worker.ordered[f].get(), part, state);
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

/// Combines the States of a slab's positions, by lane, into one for each result. Destroys them.
void KeptRun::combine_positions(std::size_t f, char* positions, char* ordered, const PartOfOrder& part,
                                char* states) const {
    const std::size_t bytes = state_bytes(f), results = unsigned_of(part.results), lanes = unsigned_of(order_.lanes);
    if (by_lane_ || lanes == 1) {
        combine_rows(f, positions, lanes, results);
        std::memcpy(states, positions, results * bytes);
        return;
    }
    if (!is_by_result_)
        for (std::size_t p = 0; p < results * lanes; ++p)
            std::memcpy(ordered + unsigned_of(place_[p]) * bytes, positions + p * bytes, bytes);
    char* const by_result = is_by_result_ ? positions : ordered;
    for (std::size_t r = 0; r < results; ++r) {
        program_.folds[f].kernels->pairwise(by_result + r * lanes * bytes, lanes);
        std::memcpy(states + r * bytes, by_result + r * lanes * bytes, bytes);
    }
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
