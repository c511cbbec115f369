#include "cpu/choose_tile.hpp"

#include <algorithm>

#include "cpu/index.hpp"

namespace gf::cpu {

namespace {

/// The arrays and temporaries of a tile that several kernels read must fit the first-level cache; a longer tile has
/// fewer calls, and long rows let the hardware prefetch. Of a single call, a tile is whole slabs; of boxes, too, if the
/// budget allows (bench/NOTES.md).
constexpr std::size_t tile_budget_bytes = 20 * 1024;
constexpr std::size_t shortest_tile = 256, longest_tile = 2 * lane_count, tile_of_slabs = max_rows * lane_count;

/// Tiles of arrays that no cache holds, of which a later one is prefetched: with few calls short ones, except of
/// elements of one byte, whose tiles have few lines.
constexpr std::size_t short_tile = 1024, long_tile = 2048;
constexpr std::size_t many_calls = 4;

/// The most slabs of a block that are folded at once if its lanes stay in registers (bench/NOTES.md).
constexpr std::int64_t most_rows_at_once = 8;

/// False for a scalar of which kernels read one element.
bool is_read_in_full(const SweepProgram& program, int scalar) {
    return std::ranges::any_of(program.body, [&](const BodyStep& step) {
        return std::ranges::find(step.operands, scalar) != step.operands.end();
    });
}

bool is_one_fold_in_registers(const SweepProgram& program) {
    return program.calls() == 1 && program.folds.front().fold_block != nullptr;
}

/// The bytes of an element of everything that a tile's kernels read.
std::size_t bytes_of_element(const SweepProgram& program) {
    std::size_t bytes = program.temporary_bytes + program.bytes_of_streams();
    for (const Splat& splat : program.splats)
        bytes += is_read_in_full(program, splat.place) ? program.places[at(splat.place)].element_bytes : 0;
    return bytes;
}

/// A call takes time by the bytes of its elements, but those of a byte no less than of two. An elementary function
/// takes ten times as long, a fold with a State of several numbers four times.
std::int64_t work_of(const SweepProgram& program) {
    const auto bytes = [&](int p) {
        return std::max<std::int64_t>(2, static_cast<std::int64_t>(program.places[at(p)].element_bytes));
    };
    std::int64_t sum = 0;
    for (const BodyStep& step : program.body) {
        std::int64_t widest = bytes(step.out);
        for (const int operand : step.operands) widest = std::max(widest, bytes(operand));
        sum += step.is_function ? 10 * widest : widest;
    }
    for (const FoldStep& fold : program.folds)
        if (fold.fold != nullptr) sum += bytes(fold.value) * (fold.kernels->state_bytes > sizeof(double) ? 4 : 1);
    for (const JointStep& joint : program.joints) sum += bytes(joint.value);
    return std::max<std::int64_t>(sum, 1);
}

} // namespace

void choose_tile(SweepProgram& program, const Sweep& sweep) {
    const bool is_one_call = program.calls() == 1;
    const bool folds_boxes = !kept_dims(sweep).empty() && !folds_rows(sweep);
    program.tile = folds_boxes || is_one_call ? tile_of_slabs : longest_tile;
    const std::size_t bytes = bytes_of_element(program);
    while (!is_one_call && program.tile > shortest_tile && bytes * program.tile > tile_budget_bytes) program.tile /= 2;

    program.prefetches = !is_one_call && !program.folds.empty();
    const bool of_bytes = !program.streams.empty() && std::ranges::all_of(program.streams, [&](int p) {
        return program.places[at(p)].element_bytes == 1;
    });
    const bool is_short = program.calls() < many_calls && !of_bytes;
    program.prefetched_tile = std::min(is_short ? short_tile : long_tile, program.tile);
    program.tiles_ahead = is_short ? 3 : 1;
    if (program.lane_bytes > 0)
        program.rows_at_once = is_one_fold_in_registers(program) ? most_rows_at_once : std::int64_t{max_rows};
    program.work = work_of(program);
}

} // namespace gf::cpu
