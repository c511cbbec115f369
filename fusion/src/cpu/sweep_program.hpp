// A sweep as the CPU runs it: kernels by address, and a place in memory for every value of the body.
//
// The body is interpreted instruction by instruction over tiles: some lanes of up to max_rows slabs of a block, one row
// a slab. A tile is small enough that its temporaries stay in the first-level cache; its rows are short, so that memory
// is read as that many streams side by side, which hardware prefetchers follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gridfold/fusion/plan.hpp>

#include "cpu/scalar_section.hpp"
#include "host_kernels/kernels.hpp"

namespace gf::cpu {

using namespace plan;

/// Of a cache.
constexpr std::size_t line_bytes = 64;

/// Where the elements of a tile are.
struct Place {
    enum class Kind : std::uint8_t {
        none,
        array,     ///< in `array`
        scalar,    ///< a prologue value, repeated
        temporary, ///< in the scratch memory, row after row
    };
    Kind kind = Kind::none;
    std::size_t element_bytes = 0;
    std::size_t offset = 0; ///< scalar, temporary: bytes before it, for each element that there is room for
    ArrayId array = {};
};

/// One kernel call for each tile or row. `out` and `operands` number SweepProgram::places.
struct BodyStep {
    enum class Kind : std::uint8_t { map, convert, gather, index };
    Kind kind;
    int out;
    std::array<int, max_arity> operands; ///< those that there are not: the last place, which is none
    MapKernel map = nullptr;
    ConvertKernel convert = nullptr;
    ArrayId array = {};  ///< gather
    DimId dim = {};      ///< index
    bool by_row = false; ///< its rows are not one after the other everywhere: one call for each
};

/// One fold.
struct FoldStep {
    const FoldKernels* kernels = nullptr;
    void (*fold)(void* lanes, const FoldInput& input) = nullptr; ///< fold or fold_product of the kernels
    int value = -1, mask = -1;                                   ///< places; without a mask the last one
    int factor = -1; ///< the place of y where products are folded that no step computes; else the last one
    /// The monoid is exact in any order: a thread keeps the same lanes for all its blocks.
    bool in_any_order = false;
    /// By FoldKernels::finish_unmasked.
    bool finishes_unmasked = false;
    /// Lanes that are all folded in row 0 need no identity.
    bool starts_lanes = false;
};

/// Which prologue value fills a `scalar` place.
struct Splat {
    ValueId value;
    int place;
};

struct SweepProgram {
    std::vector<ScalarStep> prologue, epilogue;
    std::vector<BodyStep> body;
    /// One for each instruction of the sweep, then one for each array of the plan, then one for raw gathered elements,
    /// then none.
    std::vector<Place> places;
    std::vector<FoldStep> folds;
    std::vector<ConvertKernel> yields; ///< by Sweep::yields: from the value's type to the scalar's
    std::vector<Splat> splats;
    std::vector<int> streams;                         ///< the places of the arrays that are read flat
    bool prefetches = false;                          ///< asks for the streams of the next tile
    std::size_t tile = 0;                             ///< elements; tile / max_rows divides lane_count
    std::size_t temporary_bytes = 0, splat_bytes = 0; ///< for each element that there is room for
    std::size_t lane_bytes = 0;                       ///< of one lane of all folds that keep the order

    /// Elements that a place has room for: a tile's rows may be longer by what an array has before a cache line, which
    /// is less than a line's bytes in elements, too.
    std::size_t room() const { return tile + max_rows * line_bytes; } // defect: room
    /// Of kernels, for each tile.
    std::size_t calls() const { return body.size() + folds.size(); }
};

/// Throws InternalError for a sweep that breaks plan.hpp's rules or has an operation without a kernel.
SweepProgram sweep_program(const Plan& plan, const Sweep& sweep, InstructionSet set);

} // namespace gf::cpu
