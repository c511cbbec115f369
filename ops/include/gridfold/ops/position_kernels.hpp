// The kernels of folds that keep dims, where several results share a tile: short rows, and dims kept inside folded
// ones, where every position of a slab has a State of its own. Few includes, like host_kernels.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include <gridfold/ops/host_kernels.hpp>

namespace gf::cpu {

/// The elements of one call: for each row r in turn, x[r][i] of position i, i < n, where mask[r] is null or mask[r][i]
/// is true; y and z are the second and third operand; of a monoid of one operand that takes products, y is a factor.
/// Either all masks are null or none, and either all factors. Element (r, i) has index index[r] + lane[i].
struct PositionInput {
    std::size_t n = 0, rows = 0;
    const void *x[max_rows] = {}, *y[max_rows] = {}, *z[max_rows] = {};
    const bool* mask[max_rows] = {};
    const std::int64_t* lane = nullptr;
    std::int64_t index[max_rows] = {};
};

/// Rows that follow each other: element i of row r is x[r * n + i], where mask is null or mask[r * n + i] is true. It
/// has index i. y and z are the second and third operand; of a monoid of one operand that takes products, y is a
/// factor.
struct ShortRows {
    std::size_t n = 0, rows = 0;
    const void *x = nullptr, *y = nullptr, *z = nullptr;
    const bool* mask = nullptr;
    /// What later calls read: kernels of many rows prefetch it while they fold.
    const char* ahead = nullptr;
    std::size_t ahead_bytes = 0;
};

/// A monoid over an element and an accumulator type, built-in or a user's. Positions are lane_count lanes of State,
/// laid out as in host/lanes.hpp; States follow each other, state_bytes apart.
struct PositionKernels {
    std::size_t state_bytes;
    /// Sets the first n positions to the identity.
    void (*identity)(void* positions, std::size_t n);
    /// Accumulates the elements of each position in its State; `first` is the number of position 0 of the input.
    void (*fold)(void* positions, std::size_t first, const PositionInput& input);
    /// Copies positions [0, n): position p goes to lane[p] * results + result[p] of `to`.
    void (*permute)(void* to, const void* positions, const std::int64_t* lane, const std::int64_t* result,
                    std::size_t results, std::size_t n);
    /// Combines rows of `results` positions pairwise by row, lowest bit first, into states[0 … results). Destroys the
    /// positions.
    void (*finish)(void* positions, std::size_t rows, std::size_t results, void* states);
    /// Folds each row by itself, the elements of one block, into states[row]. The memory has room for lane_count
    /// positions.
    void (*fold_short)(void* positions, const ShortRows& rows, void* states);
    /// Combines others[i] into states[i], i < n.
    void (*combine)(void* states, const void* others, std::size_t n);
    std::size_t longest_row, longest_masked_row; ///< the most elements of a row that fold_short takes
};

} // namespace gf::cpu
