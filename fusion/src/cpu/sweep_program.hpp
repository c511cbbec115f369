// A sweep as the CPU runs it: kernels by address, and a place in memory for every value of the body.
//
// The body is interpreted instruction by instruction over chunks of elements, small enough that its temporaries stay in
// the first-level cache. Up to max_rows slabs of a block are in flight: values that are folded have a place for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gridfold/fusion/plan.hpp>

#include "kernels.hpp"
#include "scalar_section.hpp"

namespace gf::cpu {

/// Where the elements of a chunk are. Offsets are bytes for each element of a chunk: times the chunk, bytes.
struct Place {
    enum class Kind : std::uint8_t {
        none,
        array,     ///< in array number `array` of the plan, at the chunk's first element
        scalar,    ///< a prologue value, repeated
        temporary, ///< in the scratch memory, the same for all rows
        row,       ///< in the scratch memory, max_rows of it
    };
    Kind kind = Kind::none;
    std::size_t element_bytes = 0;
    std::size_t offset = 0;
    int array = -1;
};

/// One kernel call for each chunk of a row. `out` and `operands` number SweepProgram::places.
struct BodyStep {
    enum class Kind : std::uint8_t { map, convert, gather, index };
    Kind kind;
    int out;
    std::array<int, max_arity> operands{-1, -1, -1};
    MapKernel map = nullptr;
    ConvertKernel convert = nullptr;
    int number = -1; ///< gather: the array; index: the dim
};

/// One fold. Its lanes are planar for built-in monoids, State after State for users'.
struct FoldStep {
    const FoldKernels* built_in = nullptr;
    const MonoidKernels* user = nullptr;
    std::size_t state_bytes = 0;
    int value = -1, mask = -1; ///< places
    /// Exact in any order: one chunk's lanes serve all elements that a thread sees.
    bool in_any_order = false;

    void identity(void* lanes) const;
    void fold(void* lanes, const FoldInput& input) const;
    void finish(void* lanes, void* state) const;
    void pairwise(void* states, std::size_t n) const;
};

/// Which prologue value fills a `scalar` place.
struct Splat {
    int value;
    int place;
};

struct SweepProgram {
    std::vector<ScalarStep> prologue, epilogue;
    std::vector<BodyStep> body;
    /// One for each instruction of the sweep, then one for each array of the plan, then one for raw gathered elements.
    std::vector<Place> places;
    std::vector<FoldStep> folds;
    std::vector<Splat> splats;
    std::size_t chunk = 0;                                           ///< elements; divides lane_count
    std::size_t temporary_bytes = 0, row_bytes = 0, splat_bytes = 0; ///< for each element of a chunk (and row)
    std::size_t lane_bytes = 0;                                      ///< of one lane of all folds that keep the order
};

/// Throws InternalError for a sweep that breaks plan.hpp's rules or has an operation without a kernel.
SweepProgram sweep_program(const Plan& plan, const Sweep& sweep, InstructionSet set);

} // namespace gf::cpu
