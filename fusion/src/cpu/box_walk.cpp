#include "cpu/box_walk.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "cpu/index.hpp"

namespace gf::cpu {

namespace {

/// The bytes of a band's positions, which share the second-level cache with the streams (bench/NOTES.md).
constexpr std::size_t band_budget_bytes = 256 * 1024;

} // namespace

void SlabPositions::number(const FoldOrder& order) {
    FoldOrder of_slab = order;
    of_slab.batch = of_slab.parts = of_slab.results = 0;
    if (of_slab == numbered_) return;
    numbered_ = of_slab;
    const std::int64_t of_part = order.elements_of_slab();
    by_lane_ = true;
    for (std::int64_t p = 0; p < static_cast<std::int64_t>(lane_count); ++p) {
        const auto [result, lane] = position_of(order, p % of_part);
        lane_[unsigned_of(p)] = lane;
        result_[unsigned_of(p)] = p / of_part * order.slab_results + result;
        if (p < of_part) by_lane_ = by_lane_ && lane * order.slab_results + result == p;
    }
}

BoxWalk::BoxWalk(const SweepBody& body, BodyTile& tile, const SlabPositions& numbers)
    : program_(body.program()), tile_(tile), numbers_(numbers), lanes_(program_.folds.size()),
      blocks_(program_.folds.size()), of_unit_(program_.folds.size()) {
    for (std::size_t f = 0; f < program_.folds.size(); ++f) ordered_.push_back(allocate(state_bytes(f) * lane_count));
}

void BoxWalk::fit(const FoldOrder& order, Share share) {
    order_ = order;
    // Chunks of a kept dim are parts that lie side by side, and the blocks of one are not.
    const bool has_chunks = order.cut >= 0 && !FoldOrder::is_folded(order.cut);
    walks_parts_ = has_chunks && share == Share::parts;
    std::size_t bytes = 0;
    for (std::size_t f = 0; f < program_.folds.size(); ++f) bytes += state_bytes(f) * lane_count;
    const std::int64_t most = walks_parts_ ? order.chunks() : has_chunks ? 1 : order.blocks;
    band_ = std::clamp<std::int64_t>(static_cast<std::int64_t>(band_budget_bytes / bytes), 1, most);
    const bool has_states = order.blocks > 1 && share != Share::blocks;
    const std::int64_t states = has_states ? parts_at_once() * order.blocks * order.slab_results : 0;
    units_.resize(unsigned_of(band_));
    for (std::size_t f = 0; f < program_.folds.size(); ++f) {
        lanes_[f].reserve(state_bytes(f) * lane_count * unsigned_of(band_), allocate_for_stores);
        blocks_[f].reserve(state_bytes(f) * unsigned_of(states));
    }
}

char* BoxWalk::positions(std::size_t fold, std::size_t unit) const {
    return lanes_[fold].get() + state_bytes(fold) * lane_count * unit;
}

char* BoxWalk::block_states(std::size_t fold, std::size_t part, std::int64_t block) const {
    const std::size_t before = part * unsigned_of(order_.blocks) + unsigned_of(block); // defect: states of blocks
    return blocks_[fold].get() + state_bytes(fold) * unsigned_of(order_.slab_results) * before;
}

void BoxWalk::walk(std::int64_t first, std::int64_t count, std::span<char* const> arrays) {
    if (!walks_parts_ && order_.blocks > 1) return walk_blocks(first, 0, order_.blocks, arrays, *this);
    const std::span<Unit> units(units_.data(), unsigned_of(count));
    for (std::size_t u = 0; u < units.size(); ++u)
        units[u] = {part_of(order_, first + static_cast<std::int64_t>(u)), u, 0}; // defect: parts of a band
    for (std::int64_t block = 0; block < order_.blocks; ++block) {
        for (Unit& unit : units) unit.block = block; // defect: block of parts
        walk_band(units, arrays);
        if (order_.blocks > 1) finish_blocks(units, *this);
    }
}

void BoxWalk::walk_blocks(std::int64_t part, std::int64_t begin, std::int64_t end, std::span<char* const> arrays,
                          BoxWalk& to) {
    const PartOfOrder of_order = part_of(order_, part);
    for (std::int64_t first = begin; first < end; first += band_) {
        const std::span<Unit> units(units_.data(), unsigned_of(std::min(band_, end - first)));
        for (std::size_t u = 0; u < units.size(); ++u) units[u] = {of_order, 0, first + static_cast<std::int64_t>(u)};
        walk_band(units, arrays);
        finish_blocks(units, to);
    }
}

/// Sets the States of these blocks among those of `to`.
void BoxWalk::finish_blocks(std::span<const Unit> units, const BoxWalk& to) {
    for (std::size_t u = 0; u < units.size(); ++u)
        for (std::size_t f = 0; f < program_.folds.size(); ++f)
            finish(f, u, unsigned_of(units[u].part.results), !numbers_.are_by_lane(),
                   to.block_states(f, units[u].number, units[u].block));
}

void BoxWalk::take(std::size_t number, std::size_t results, std::span<char* const> to) {
    for (std::size_t f = 0; f < program_.folds.size(); ++f) {
        if (order_.blocks == 1) {
            finish(f, number, results, !numbers_.are_by_lane(), to[f]);
            continue;
        }
        // Combined pairwise by number, lowest bit first.
        const FoldStep& fold = program_.folds[f];
        if (results == 1 && order_.slab_results == 1) {
            fold.kernels->pairwise(block_states(f, number, 0), unsigned_of(order_.blocks));
        } else {
            for (std::int64_t distance = 1; distance < order_.blocks; distance *= 2)
                for (std::int64_t b = 0; b + distance < order_.blocks; b += 2 * distance)
                    fold.positions->combine(block_states(f, number, b), block_states(f, number, b + distance), results);
        }
        std::memcpy(to[f], block_states(f, number, 0), state_bytes(f) * results);
    }
}

/// Folds the blocks' slabs into their positions, max_rows slabs of each block in turn.
void BoxWalk::walk_band(std::span<const Unit> units, std::span<char* const> arrays) {
    for (std::size_t u = 0; u < units.size(); ++u)
        for (std::size_t f = 0; f < program_.folds.size(); ++f)
            program_.folds[f].positions->identity(positions(f, u), unsigned_of(units[u].part.chunk * order_.inner));
    const auto group = static_cast<std::int64_t>(max_rows) * order_.blocks;
    for (std::int64_t start = 0; start < order_.slabs; start += group)
        for (std::size_t u = 0; u < units.size(); ++u)
            walk_slabs(u, units[u].part, start + units[u].block, std::min(start + group, order_.slabs), arrays);
}

/// Folds slabs first, first + blocks, …, before `end`: at most max_rows of them.
void BoxWalk::walk_slabs(std::size_t unit, const PartOfOrder& part, std::int64_t first, std::int64_t end,
                         std::span<char* const> arrays) {
    for (std::int64_t s = first; s < end;) {
        // Slabs of as many elements, several at once: the last chunk of a cut may be shorter.
        std::array<SlabOfOrder, max_rows> slabs;
        std::size_t rows = 0;
        for (; s < end; ++rows, s += order_.blocks) {
            slabs[rows] = slab_of(order_, part, s);
            if (slabs[rows].elements != slabs[0].elements) break; // defect: rows
        }
        const std::size_t elements = unsigned_of(slabs[0].elements), most = program_.tile / std::bit_ceil(rows);
        for (std::size_t begin = 0; begin < elements; begin += most) {
            const std::size_t n = std::min(most, elements - begin);
            for (std::size_t row = 0; row < rows; ++row)
                tile_.run(row, slabs[row].element + static_cast<std::int64_t>(begin), n, arrays);
            fold(unit, {slabs.data(), rows}, begin, n,
                 program_.calls() > 1); // the hardware fetches for one call in time
        }
    }
}

/// Folds elements [first, first + n) of some slabs of a block. `prefetches`: the elements that follow.
void BoxWalk::fold(std::size_t unit, std::span<const SlabOfOrder> slabs, std::size_t first, std::size_t n,
                   bool prefetches) {
    PositionInput input{.n = n, .rows = slabs.size(), .lane = numbers_.lane() + first};
    std::size_t call = 0;
    const auto prefetch = [&] {
        if (prefetches) tile_.prefetch(slabs.size(), n, call++, program_.calls_that_fold());
    };
    for (std::size_t f = 0; f < program_.folds.size(); ++f) {
        const FoldStep& step = program_.folds[f];
        of_unit_[f] = positions(f, unit);
        if (step.fold == nullptr) continue;
        prefetch();
        for (std::size_t row = 0; row < slabs.size(); ++row) {
            input.x[row] = tile_.elements(row, step.value);
            input.y[row] = tile_.elements(row, step.others[0]); // defect: factors of a row
            input.z[row] = tile_.elements(row, step.others[1]);
            input.mask[row] = reinterpret_cast<const bool*>(tile_.elements(row, step.mask));
            input.index[row] = slabs[row].index; // defect: index of a row
        }
        step.positions->fold(of_unit_[f], first, input);
    }
    for (const JointStep& step : program_.joints) {
        prefetch();
        for (std::size_t row = 0; row < slabs.size(); ++row)
            input.x[row] = tile_.elements(row, step.value); // defect: rows of a joint
        input.y[0] = tile_.elements(0, step.scalar);
        step.kernels->fold_positions(joint_states(step, of_unit_), first, input);
    }
}

void BoxWalk::fold_short(std::size_t n, std::size_t results, bool mixed, std::span<char* const> to) {
    for (std::size_t f = 0; f < program_.folds.size(); ++f) program_.folds[f].positions->identity(positions(f, 0), n);
    const SlabOfOrder slab{0, static_cast<std::int64_t>(n), 0};
    fold(0, {&slab, 1}, 0, n, true); // one short run: the hardware would not run ahead of it
    for (std::size_t f = 0; f < program_.folds.size(); ++f) finish(f, 0, results, mixed, to[f]);
}

/// Combines the States of a unit's positions by lane into `to`, one State for each of `results`. Destroys them.
void BoxWalk::finish(std::size_t fold, std::size_t unit, std::size_t results, bool mixed, char* to) {
    const PositionKernels& kernels = *program_.folds[fold].positions;
    const std::size_t lanes = unsigned_of(order_.lanes);
    char* from = positions(fold, unit);
    if (mixed && lanes > 1) {
        char* const ordered = ordered_[fold].get();
        kernels.permute(ordered, from, numbers_.lane(), numbers_.result(), results, results * lanes);
        from = ordered;
    }
    kernels.finish(from, lanes, results, to);
}

} // namespace gf::cpu
