#include "cpu/row_walk.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

#include <gridfold/fusion/order.hpp>

#include "cpu/index.hpp"
#include "cpu/threads.hpp"
#include "cpu/tile_code.hpp"

namespace gf::cpu {

namespace {

/// The bytes of a band's lanes, which share the second-level cache with the streams.
constexpr std::size_t band_budget_bytes = 512 * 1024;

using Clock = std::chrono::steady_clock;

/// Of a compiled loop: the most slabs of a block that a call takes, and the elements of a call where no fold has
/// an order, so that their numbers fit 32 bits; or, of streamed outputs, so that they stay in the first-level cache
/// (with an order they may not: a block's slabs come first).
constexpr std::int64_t rows_of_loop = 8, most_of_call = 1 << 20, most_streamed = 4096;

/// The most elements of a tile, whether of steps or of a compiled loop.
constexpr std::size_t largest_tile = unsigned_of(rows_of_loop) * lane_count + max_rows * line_bytes;

} // namespace

RowWalk::RowWalk(const SweepBody& body, int threads) : body_(body), program_(body.program()), threads_(threads) {
    std::size_t lane_offset = 0;
    for (const FoldStep& fold : program_.folds) {
        std::size_t& offset = fold.in_any_order ? any_order_bytes_ : lane_offset;
        folds_.emplace_back().offset = offset;
        const std::size_t bytes = fold.kernels->lanes * fold.kernels->state_bytes;
        offset += fold.in_any_order ? (bytes + line_bytes - 1) / line_bytes * line_bytes : fold.kernels->state_bytes;
    }
    states_.resize(folds_.size());
}

RowWalk::Part RowWalk::make_part() const {
    Part part;
    part.scratch = allocate(program_.temporary_bytes * program_.room());
    part.any_order_lanes = allocate_for_stores(any_order_bytes_);
    part.where.resize(program_.places.size());
    part.block.resize(program_.folds.size());
    for (std::size_t i = 0; i < program_.places.size(); ++i) {
        const Place& place = program_.places[i];
        if (place.kind == Place::Kind::scalar) part.where[i].at = body_.scalar_at(place);
        if (place.kind == Place::Kind::temporary)
            part.where[i].at = part.scratch.get() + place.offset * program_.room();
    }
    return part;
}

void RowWalk::fit(std::int64_t row, std::int64_t read, std::int64_t written) {
    part_count_ = 0; // until all allocations have succeeded
    elements_ = row;
    is_far_ = has_far_outputs(program_, written);
    // A sweep that folds nothing has no order: every slab is a block, and memory is read from end to end.
    blocks_ = program_.folds.empty() ? std::max<std::int64_t>(slab_count(elements_), 1) : block_count(elements_);

    prefetches_ = program_.prefetches && unsigned_of(read) * program_.bytes_of_streams() >= least_uncached_bytes;

    const std::int64_t parts =
        elements_ < work_worth_threads / program_.work ? 1 : std::min<std::int64_t>(threads_, blocks_);
    function_ = nullptr;
    choose_tiles(parts);

    for (std::size_t f = 0; f < folds_.size(); ++f) {
        folds_[f].count = unsigned_of(program_.folds[f].in_any_order ? parts : blocks_);
        folds_[f].states.reserve(folds_[f].count * program_.folds[f].kernels->state_bytes);
        states_[f] = folds_[f].states.get();
    }
    while (parts_.size() < unsigned_of(parts)) parts_.push_back(make_part());
    for (std::size_t p = 0; p < unsigned_of(parts); ++p)
        parts_[p].lanes.reserve(program_.lane_bytes * lane_count * unsigned_of(band_), allocate_for_stores);
    for (std::size_t p = 0; is_far_ && p < unsigned_of(parts); ++p) parts_[p].streamed.reserve(program_, largest_tile);
    part_count_ = unsigned_of(parts);
}

/// Chooses the tiles of steps, or of a compiled loop. Its bands are no longer, since it takes more rows at once: memory
/// of lanes was reserved for the bands of steps.
void RowWalk::choose_tiles(std::int64_t parts) {
    const std::size_t block_bytes = program_.lane_bytes * lane_count;
    if (function_ != nullptr)
        tile_ = unsigned_of(rows_of_loop) * lane_count;
    else
        tile_ = prefetches_ ? program_.prefetched_tile : program_.tile;
    if (elements_ == 0)
        band_ = 1;
    else
        band_ = block_bytes == 0 ? blocks_
                                 : static_cast<std::int64_t>(std::max<std::size_t>(band_budget_bytes / block_bytes, 1));
    band_ = std::min(band_, (blocks_ + parts - 1) / parts);
    const std::int64_t rows = (slab_count(elements_) + blocks_ - 1) / blocks_;
    const std::int64_t most_rows = function_ != nullptr && block_bytes > 0 ? rows_of_loop : program_.rows_at_once;
    at_once_ = elements_ > 0 && rows <= most_rows && tile_length(unsigned_of(rows)) >= shortest_run;
    if (at_once_) band_ = 1;
}

void RowWalk::run(std::int64_t first, std::span<char* const> arrays, NextRows* next) {
    first_ = first;
    next_ = next;
    streams_ = is_far_ && !has_output_in_place(program_, arrays);
    const bool may_compile = program_.code != nullptr && elements_ > slab_elements;
    if (may_compile && function_ == nullptr) {
        function_ = program_.code->for_run(body_.plan(), body_.sweep());
        if (function_ != nullptr) choose_tiles(static_cast<std::int64_t>(part_count_));
    }
    const bool is_timed = may_compile && function_ == nullptr;
    const auto begin = is_timed ? Clock::now() : Clock::time_point();
    on_threads(static_cast<std::int64_t>(part_count_), threads_, [&](std::int64_t part) {
        walk(unsigned_of(part), arrays);
        if (streams_) fence_streams();
    });
    if (is_timed) program_.code->add(Clock::now() - begin);
    for (std::size_t f = 0; f < folds_.size(); ++f)
        if (folds_[f].count > 1) program_.folds[f].kernels->pairwise(states_[f], folds_[f].count);
}

std::size_t RowWalk::used_lanes(std::size_t fold) const {
    if (program_.folds[fold].in_any_order) return program_.folds[fold].kernels->lanes;
    return std::min(lane_count, std::bit_ceil(unsigned_of(elements_)));
}

char* RowWalk::lanes(const Part& part, std::size_t fold, std::int64_t block_in_band) const {
    const FoldMemory& memory = folds_[fold];
    if (program_.folds[fold].in_any_order) return part.any_order_lanes.get() + memory.offset;
    return part.lanes.get() + (memory.offset * unsigned_of(band_) +
                               program_.folds[fold].kernels->state_bytes * unsigned_of(block_in_band)) *
                                  lane_count;
}

void RowWalk::walk(std::size_t number, std::span<char* const> arrays) {
    Part& part = parts_[number];
    if (elements_ > 0 && elements_ <= slab_elements) return walk_slab(part, arrays);
    const auto parts = static_cast<std::int64_t>(part_count_), p = static_cast<std::int64_t>(number);
    const std::int64_t begin = blocks_ * p / parts, end = blocks_ * (p + 1) / parts; // defect: band
    for (std::size_t f = 0; f < folds_.size(); ++f)
        if (program_.folds[f].in_any_order) program_.folds[f].kernels->identity(lanes(part, f, 0), used_lanes(f));
    const std::int64_t rest = elements_ % slab_elements;
    if (function_ != nullptr && program_.lane_bytes == 0)
        walk_in_memory_order(part, number, arrays);
    else
        for (std::int64_t first = begin; first < end; first += band_)
            if (at_once_ && (rest == 0 || slab_count(elements_) % blocks_ != (first + 1) % blocks_)) // defect: at once
                walk_block(part, first, arrays);
            else
                walk_band(part, first, std::min(first + band_, end), arrays);
    for (std::size_t f = 0; f < folds_.size(); ++f) {
        const FoldStep& fold = program_.folds[f];
        if (fold.in_any_order)
            fold.kernels->finish(lanes(part, f, 0), used_lanes(f),
                                 folds_[f].states.get() + fold.kernels->state_bytes * number);
    }
}

/// walk() where no fold has an order: a compiled loop takes the part's slabs as they follow each other.
void RowWalk::walk_in_memory_order(Part& part, std::size_t number, std::span<char* const> arrays) {
    const auto parts = static_cast<std::int64_t>(part_count_), p = static_cast<std::int64_t>(number);
    const std::int64_t slabs = slab_count(elements_);
    const std::int64_t end = std::min(slabs * (p + 1) / parts * slab_elements, elements_);
    choose_block(part, 0);
    const std::int64_t most = streams_ ? most_streamed : most_of_call;
    for (std::int64_t first = slabs * p / parts * slab_elements; first < end; first += most)
        run_tile(part, {first, 0, 0, unsigned_of(std::min(most, end - first)), 1}, arrays);
}

/// walk() for a domain of one slab, without the search for bands: most of many problems are this small.
void RowWalk::walk_slab(Part& part, std::span<char* const> arrays) {
    const std::size_t n = unsigned_of(elements_);
    choose_block(part, 0);
    for (std::size_t f = 0; f < folds_.size(); ++f) {
        const FoldStep& fold = program_.folds[f];
        const bool starts_every_lane = starts_lanes(fold) && n == lane_count && !fold.in_any_order;
        if (!starts_every_lane) fold.kernels->identity(part.block[f], used_lanes(f));
    }
    run_slabs(part, 0, 0, 1, n, arrays);
    for (std::size_t f = 0; f < folds_.size(); ++f) {
        const FoldStep& fold = program_.folds[f];
        if (fold.finishes_unmasked && !fold.in_any_order)
            fold.kernels->finish_unmasked(part.block[f], used_lanes(f), {1, n, 0, slab_elements}, states_[f]);
        else
            fold.kernels->finish(part.block[f], used_lanes(f), states_[f]);
    }
}

/// walk_band() for one block whose slabs are all whole and folded at once: with fold_block, each tile becomes one lane.
void RowWalk::walk_block(Part& part, std::int64_t block, std::span<char* const> arrays) {
    const std::int64_t rows = (slab_count(elements_) - block + blocks_ - 1) / blocks_;
    const std::size_t n = std::min(tile_length(unsigned_of(rows)), lane_count);
    choose_block(part, 0);
    for (std::size_t f = 0; f < folds_.size(); ++f) {
        const FoldStep& fold = program_.folds[f];
        if (!fold.in_any_order && !folds_blocks(fold) && !starts_lanes(fold))
            fold.kernels->identity(part.block[f], lane_count);
    }
    for (std::size_t first = 0; first < lane_count; first += n)
        run_tile(part, {block * slab_elements + static_cast<std::int64_t>(first), 0, first, n, unsigned_of(rows), true},
                 arrays);
    const BlockRows of_block{rows, lane_count, block * slab_elements, blocks_ * slab_elements};
    for (std::size_t f = 0; f < folds_.size(); ++f) {
        const FoldStep& fold = program_.folds[f];
        if (fold.in_any_order) continue;
        const std::size_t left = function_ != nullptr ? lane_count / program_.code->lanes_of_tree()
                                 : folds_blocks(fold) ? lane_count / n
                                                      : lane_count;
        char* const state = folds_[f].states.get() + fold.kernels->state_bytes * unsigned_of(block);
        if (fold.finishes_unmasked)
            fold.kernels->finish_unmasked(part.block[f], left, of_block, state);
        else
            fold.kernels->finish(part.block[f], left, state);
    }
}

void RowWalk::walk_band(Part& part, std::int64_t first_block, std::int64_t end_block, std::span<char* const> arrays) {
    const std::int64_t slabs = slab_count(elements_), full_slabs = elements_ / slab_elements;
    for (std::size_t f = 0; f < folds_.size(); ++f) {
        const FoldStep& fold = program_.folds[f];
        for (std::int64_t b = first_block; b < end_block && !fold.in_any_order; ++b) {
            const bool starts_every_lane = starts_lanes(fold) && b < full_slabs;
            if (!starts_every_lane) fold.kernels->identity(lanes(part, f, b - first_block), used_lanes(f));
        }
    }

    const std::size_t rest = unsigned_of(elements_ % slab_elements);
    const std::int64_t group = (function_ != nullptr ? rows_of_loop : std::int64_t{max_rows}) * blocks_;
    for (std::int64_t start = 0; start < slabs; start += group) {
        for (std::int64_t b = first_block; b < end_block; ++b) {
            const std::int64_t slab = start + b, end = std::min(start + group, full_slabs);
            const std::int64_t rows = slab < end ? (end - slab + blocks_ - 1) / blocks_ : 0; // defect: rows
            choose_block(part, b - first_block);
            if (rows > 0) run_slabs(part, slab, slab / blocks_, unsigned_of(rows), lane_count, arrays);
            // The last slab may be partial.
            if (rest > 0 && full_slabs >= slab && full_slabs < start + group && full_slabs % blocks_ == b)
                run_slabs(part, full_slabs, full_slabs / blocks_, 1, rest, arrays);
        }
    }

    for (std::int64_t b = first_block; b < end_block; ++b) {
        const bool has_last = rest > 0 && full_slabs % blocks_ == b; // defect: short slab
        const BlockRows rows{(slabs - b + blocks_ - 1) / blocks_, has_last ? rest : lane_count, b * slab_elements,
                             blocks_ * slab_elements};
        for (std::size_t f = 0; f < folds_.size(); ++f) {
            const FoldStep& fold = program_.folds[f];
            if (fold.in_any_order) continue;
            char* const of_block = lanes(part, f, b - first_block);
            char* const state = folds_[f].states.get() + fold.kernels->state_bytes * unsigned_of(b);
            if (fold.finishes_unmasked && rows.rows > 0)
                fold.kernels->finish_unmasked(of_block, used_lanes(f), rows, state);
            else
                fold.kernels->finish(of_block, used_lanes(f), state);
        }
    }
}

/// The next elements are folded into this block's lanes.
void RowWalk::choose_block(Part& part, std::int64_t block_in_band) const {
    for (std::size_t f = 0; f < folds_.size(); ++f) part.block[f] = lanes(part, f, block_in_band);
}

/// Runs the body over `lanes` lanes of `rows` slabs of the chosen block, slab, slab + blocks, …, and folds.
/// `first_row`: the number of `slab` in its block.
void RowWalk::run_slabs(Part& part, std::int64_t slab, std::int64_t first_row, std::size_t rows, std::size_t lanes,
                        std::span<char* const> arrays) {
    const std::size_t n = tile_length(rows);
    const std::size_t before_line = lanes > n ? lanes_before_line(arrays) : 0; // one tile begins where it begins
    for (std::size_t first = 0, end = 0; first < lanes; first = end) {
        end = std::min(first + n + (first == 0 ? before_line : 0), lanes);
        const std::int64_t element = slab * slab_elements + static_cast<std::int64_t>(first);
        run_tile(part, {element, first_row, first, end - first, rows}, arrays);
    }
}

PartOfBlock RowWalk::part_of_block(const Tile& tile) {
    if (tile.whole_block) return PartOfBlock::whole;
    return tile.first_row == 0 ? PartOfBlock::first : PartOfBlock::later; // defect: starts
}

void RowWalk::run_tile(Part& part, const Tile& tile, std::span<char* const> arrays) {
    place(part, tile, arrays);
    if (streams_) part.streamed.redirect(program_, tile.n, part.where);
    if (function_ != nullptr) {
        function_(part.where.data(), body_.values().data(), part.block.data(), static_cast<std::int64_t>(tile.first),
                  static_cast<std::int64_t>(tile.n), static_cast<std::int64_t>(tile.rows), part_of_block(tile));
    } else {
        run_body(part, tile, arrays);
        fold(part, tile);
    }
    if (next_ != nullptr) next_->step(tile.n * tile.rows * program_.outputs.size());
    if (streams_)
        part.streamed.store(program_, {first_ + tile.element, blocks_ * slab_elements, tile.n, tile.rows}, part.where,
                            arrays);
}

/// The elements before a cache line in the first stream, at the beginning of a slab. All tiles of a slab except the
/// first begin at a line, because vectors across two lines take twice the time.
std::size_t RowWalk::lanes_before_line(std::span<char* const> arrays) const {
    if (program_.streams.empty()) return 0;
    const Place& stream = program_.places[at(program_.streams.front())];
    static_assert(lane_count % line_bytes == 0);
    const auto address =
        reinterpret_cast<std::uintptr_t>(arrays[stream.array.index()]) + unsigned_of(first_) * stream.element_bytes;
    return (line_bytes - address % line_bytes) % line_bytes / stream.element_bytes;
}

/// Sets the addresses of the tile's elements.
void RowWalk::place(Part& part, const Tile& tile, std::span<char* const> arrays) const {
    for (const int p : body_.array_places()) {
        const Place& place = program_.places[at(p)];
        part.where[at(p)] = {arrays[place.array.index()] + unsigned_of(first_ + tile.element) * place.element_bytes,
                             unsigned_of(blocks_) * lane_count * place.element_bytes};
    }
    for (const int p : body_.temporary_places())
        part.where[at(p)].row_bytes = tile.n * program_.places[at(p)].element_bytes;
}

void RowWalk::run_body(const Part& part, const Tile& tile, std::span<char* const> arrays) const {
    const std::int64_t row_elements = blocks_ * slab_elements;
    for (std::size_t call = 0; const BodyStep& step : program_.body) {
        if (prefetches_) prefetch(part, tile, call++);
        if (next_ != nullptr) next_->step(tile.n * tile.rows);
        const std::size_t rows = step.by_row ? tile.rows : 1;
        const std::size_t n = step.by_row ? tile.n : tile.n * tile.rows;
        Where out = part.where[at(step.out)];
        std::array<Where, max_arity> in;
        for (std::size_t i = 0; i < max_arity; ++i) in[i] = part.where[at(step.operands[i])];
        std::int64_t element = first_ + tile.element;
        for (std::size_t row = 0; row < rows; ++row) {
            body_.run(step, out.at, {in[0].at, in[1].at, in[2].at}, element, n, arrays);
            out.at += out.row_bytes;
            for (Where& operand : in) operand.at += operand.row_bytes;
            element += row_elements;
        }
    }
}

/// Prefetches a share of a later tile's elements, one share for each call. They are of the same slabs or, after a
/// slab's last tile, of what follows it; a prefetch past an array's end is harmless.
void RowWalk::prefetch(const Part& part, const Tile& tile, std::size_t call) const {
    const std::size_t calls = program_.calls();
    for (const int p : program_.streams) {
        const Where& where = part.where[at(p)];
        const std::size_t bytes = tile.n * program_.places[at(p)].element_bytes;
        const auto next = reinterpret_cast<std::uintptr_t>(where.at) + bytes * program_.tiles_ahead;
        const Lines lines = lines_of_share(bytes, call, calls);
        for (std::size_t line = lines.begin; line < lines.end; ++line)
            for (std::size_t row = 0; row < tile.rows; ++row)
                __builtin_prefetch(reinterpret_cast<const void*>(next + row * where.row_bytes + line * line_bytes));
    }
}

void RowWalk::fold(const Part& part, const Tile& tile) const {
    FoldInput input{.first = tile.first,
                    .n = tile.n,
                    .rows = tile.rows,
                    .index = tile.element,
                    .index_row = blocks_ * slab_elements,
                    .first_row = tile.first_row};
    std::size_t call = program_.body.size();
    for (std::size_t f = 0; f < folds_.size(); ++f) {
        const FoldStep& step = program_.folds[f];
        if (step.fold == nullptr) continue;
        if (prefetches_) prefetch(part, tile, call++);
        const Where &x = part.where[at(step.value)], &y = part.where[at(step.others[0])],
                    &z = part.where[at(step.others[1])], &mask = part.where[at(step.mask)];
        input.x = x.at;
        input.x_row = x.row_bytes;
        input.y = y.at;
        input.y_row = y.row_bytes;
        input.z = z.at;
        input.z_row = z.row_bytes;
        input.mask = reinterpret_cast<const bool*>(mask.at);
        input.mask_row = mask.row_bytes;
        (tile.whole_block && step.fold_block != nullptr ? step.fold_block : step.fold)(part.block[f], input);
    }
    for (const JointStep& step : program_.joints) {
        if (prefetches_) prefetch(part, tile, call++);
        const Where& x = part.where[at(step.value)];
        input.x = x.at;
        input.x_row = x.row_bytes;
        input.y = part.where[at(step.scalar)].at;
        step.kernels->fold(joint_states(step, part.block), input);
    }
}

} // namespace gf::cpu
