// A sweep's program for the CPU: the addresses of kernels, and a place in memory for every value of the body.
//
// The body is interpreted instruction by instruction over tiles: some lanes of up to max_rows slabs of a block, one row
// a slab. A tile is so small that its temporaries stay in the first-level cache. Its rows are short, so that memory is
// read in as many parallel streams, which hardware prefetchers follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gridfold/fusion/plan.hpp>

#include "cpu/far_memory.hpp"
#include "cpu/memory.hpp"
#include "cpu/result_section.hpp"
#include "cpu/scalar_section.hpp"
#include "host_kernels/kernels.hpp"

namespace gf::cpu {

using namespace plan;

class TileCode;

/// Waking threads costs some microseconds: one thread does less work than this, in units of SweepProgram::work
/// (bench/NOTES.md).
constexpr std::int64_t work_worth_threads = 1 << 19;

/// The fewest lanes of blocks that are folded at once.
constexpr std::size_t shortest_run = 256;

/// The place of the elements of a tile.
struct Place {
    enum class Kind : std::uint8_t {
        none,
        array,     ///< in `array`
        scalar,    ///< a prologue value, repeated
        temporary, ///< in the scratch memory, row after row
    };
    Kind kind = Kind::none;
    std::size_t element_bytes = 0;
    std::size_t offset = 0; ///< scalar, temporary: bytes before it, for each element of room()
    ArrayId array = {};
};

/// The address of a place in a tile: its first row, and the bytes from row to row.
struct Where {
    char* at = nullptr;
    std::size_t row_bytes = 0;
};

/// One kernel call for each tile or row. `out` and `operands` number SweepProgram::places.
struct BodyStep {
    enum class Kind : std::uint8_t { map, convert, gather, index, scatter };
    Kind kind;
    int out;                             ///< scatter: the last place, which is none
    std::array<int, max_arity> operands; ///< missing ones are the last place
    MapKernel map = nullptr;
    /// A map whose second operand is the element of `array` for the row of each element.
    RowValueKernel map_of_rows = nullptr;
    ConvertKernel convert = nullptr;
    ArrayId array = {};            ///< gather, map of rows; scatter: the array that is written
    DimId dim = {};                ///< index
    std::vector<Step> shifts = {}; ///< gather: the steps of the load
    int shifted = -1;              ///< its number among the gathers with steps
    bool by_row = false;           ///< one call for each row, because rows are not contiguous everywhere
    bool is_function = false;      ///< an elementary function, but no square root
};

/// One fold.
struct FoldStep {
    const FoldKernels* kernels = nullptr;
    const PositionKernels* positions = nullptr; ///< where the folds keep dims
    /// fold or fold_product; null in a JointStep. Of boxes, positions->fold takes either.
    void (*fold)(void* lanes, const FoldInput& input) = nullptr;
    /// Null, or a function of BlockKernels, for blocks that one call folds.
    void (*fold_block)(void* lanes, const FoldInput& input) = nullptr;
    int value = -1, mask = -1; ///< places; without a mask the last one
    /// The places of y and z: of the monoid's other operands, or of the factor that fold_product multiplies by; else
    /// the last one.
    std::array<int, max_arity - 1> others = {-1, -1};
    /// The monoid is exact in any order: a thread keeps the same lanes for all its blocks.
    bool in_any_order = false;
    /// Finishes with FoldKernels::finish_unmasked.
    bool finishes_unmasked = false;
    /// The lanes need no identity, because row 0 folds into all of them.
    bool starts_lanes = false;
    /// The most elements of a short row, where the folds keep dims.
    std::size_t longest_row = 0;
};

/// Folds in any order that one call folds, of an operand or of its comparison with a scalar.
struct JointStep {
    const JointKernels* kernels = nullptr;
    int value = -1, scalar = -1;                            ///< places; without a scalar the last one
    int min = -1, max = -1, count = -1, any = -1, all = -1; ///< SweepProgram::folds, or −1
};

/// The States of a step's folds, of those by fold.
inline JointStates joint_states(const JointStep& step, const std::vector<char*>& by_fold) {
    const auto state = [&](int fold) { return fold < 0 ? nullptr : by_fold[static_cast<std::size_t>(fold)]; };
    return {.min = state(step.min),
            .max = state(step.max),
            .count = state(step.count),
            .any = state(step.any),
            .all = state(step.all)};
}

/// The prologue value that fills a `scalar` place.
struct Splat {
    ValueId value;
    int place;
};

/// An output of the plan that the sweep writes in order, and no sweep reads.
struct WrittenOutput {
    ArrayId array;
    std::size_t element_bytes;
    std::vector<int> places; ///< those in the array
};

/// The place of an array of the plan in SweepProgram::places: they follow those of the instructions.
inline int array_place(const Sweep& sweep, ArrayId array) { return sweep.code.next().number() + array.number(); }

struct SweepProgram {
    std::vector<ScalarStep> prologue, epilogue;
    ResultProgram results;
    std::vector<BodyStep> body;
    /// One for each instruction of the sweep, then one for each array of the plan, one for raw gathered elements, one
    /// for the converted elements of each store and one for those of each fold, and none.
    std::vector<Place> places;
    std::vector<FoldStep> folds;
    std::vector<JointStep> joints;
    std::vector<ConvertKernel> yields; ///< by Sweep::yields: from the value's type to the scalar's
    std::vector<Splat> splats;
    std::vector<int> streams; ///< the places of the arrays that are read in order
    std::vector<WrittenOutput> outputs;
    FarMemory far;
    std::size_t tile = 0;                             ///< elements; tile / max_rows divides lane_count
    bool prefetches = false;                          ///< prefetches the streams of tiles of arrays that no cache holds
    std::size_t prefetched_tile = 0, tiles_ahead = 0; ///< those tiles, and how far ahead they are prefetched
    std::size_t temporary_bytes = 0, splat_bytes = 0; ///< bytes for each element of room()
    int shifted_gathers = 0;                          ///< gathers with steps
    std::shared_ptr<TileCode> code;                   ///< of whole tiles; null: each step is a call for a tile
    std::vector<int> arrays_of_code;                  ///< the places of the arrays that it reads and writes
    std::int64_t work = 0;                            ///< the time of an element in units of some 8 ps
    std::size_t fold_calls = 0;                       ///< folds that are in no JointStep
    std::size_t lane_bytes = 0;                       ///< bytes of one lane of all ordered folds
    /// The most slabs of a block that are folded at once, so that its lanes stay in registers or the nearest cache, if
    /// a tile of that many rows has shortest_run lanes.
    std::int64_t rows_at_once = 0;

    /// The elements that a place has room for: a tile's rows may be longer by an array's elements before a cache line,
    /// at most line_bytes.
    std::size_t room() const { return tile + max_rows * line_bytes; } // defect: room
    /// The bytes of an element of all arrays that are read in order.
    std::size_t bytes_of_streams() const {
        std::size_t bytes = 0;
        for (const int stream : streams) bytes += places[static_cast<std::size_t>(stream)].element_bytes;
        return bytes;
    }
    /// The number of kernel calls for each tile, and of those that fold.
    std::size_t calls() const { return body.size() + calls_that_fold(); }
    std::size_t calls_that_fold() const { return fold_calls + joints.size(); }
};

/// Throws InternalError for a sweep that breaks plan.hpp's rules or has an operation without a kernel.
SweepProgram sweep_program(const Plan& plan, const Sweep& sweep, InstructionSet set);

} // namespace gf::cpu
