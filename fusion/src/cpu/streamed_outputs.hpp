// The outputs of a thread's tiles on their way around the caches (far_memory.hpp): steps, or a compiled loop, write a
// tile to memory of the thread, from where it is stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cpu/memory.hpp"
#include "cpu/sweep_program.hpp"

namespace gf::cpu {

/// For SweepProgram::outputs, once the program has its places.
std::vector<WrittenOutput> written_outputs(const Plan& plan, const Sweep& sweep, const SweepProgram& program);

/// True if no cache holds what a sweep writes of `elements` elements.
bool has_far_outputs(const SweepProgram& program, std::int64_t elements);
/// True if an output is memory that the sweep reads: a cache has its lines.
bool has_output_in_place(const SweepProgram& program, std::span<char* const> arrays);

class StreamedOutputs {
public:
    /// The elements of a tile: `rows` rows of n.
    struct Tile {
        std::int64_t element;      ///< the first one's number in the domain
        std::int64_t row_elements; ///< from row to row
        std::size_t n, rows;
    };

    /// Makes room for tiles of up to `elements` elements.
    void reserve(const SweepProgram& program, std::size_t elements);
    /// Lets the outputs' places be in this memory. `where`: by place.
    void redirect(const SweepProgram& program, std::size_t n, std::vector<Where>& where) const;
    /// Stores a tile whose outputs have been written there. After the last one, fence_streams().
    void store(const SweepProgram& program, const Tile& tile, const std::vector<Where>& where,
               std::span<char* const> arrays) const;

private:
    GrowingBytes bytes_;
    std::size_t elements_ = 0;
};

} // namespace gf::cpu
