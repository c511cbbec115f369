// The text, in LLVM's IR, of a function that computes and folds a tile in one loop: what the steps of a SweepProgram do
// one after the other, each over the whole tile. Values stay in registers. The bits are the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gridfold/fusion/plan.hpp>

#include "cpu/sweep_program.hpp"

namespace gf::cpu {

/// The slabs of a block that a tile has.
enum class PartOfBlock : std::int64_t {
    later, ///< others came before
    first, ///< the first ones, which start the lanes
    whole, ///< all of them: neighbouring lanes are combined, words_of_register() of which leave one
};

/// Lanes [first, first + n) of `rows` slabs of a block, n >= 1. `where`: by SweepProgram::places, the tile's first
/// element of an array; `values`: SweepBody::values(); `lanes`: by fold, those of the block, or the State of a fold in
/// any order. Of a whole block, n is lane_count.
using TileFunction = void (*)(const Where* where, const std::uint64_t* values, char* const* lanes, std::int64_t first,
                              std::int64_t n, std::int64_t rows, PartOfBlock part);
inline constexpr const char* tile_function = "gridfold_tile";

/// The words of 4 bytes of a register.
constexpr int words_of_register(InstructionSet set) {
    return set == InstructionSet::avx512 ? 16 : set == InstructionSet::avx2 ? 8 : 4;
}

/// The arrays that a tile of the sweep reads and writes, by elements.
std::vector<ArrayId> arrays_of_tile(const Sweep& sweep);

/// Why a sweep has no text, or one that takes longer than steps; "" if tile_text() writes it.
std::string obstacle_to_tile_text(const Plan& plan, const Sweep& sweep, InstructionSet set);
std::string tile_text(const Plan& plan, const Sweep& sweep, InstructionSet set);

} // namespace gf::cpu
