// Walks a sweep that folds nothing in tiles of two dims: rows along the domain's innermost dim, one below the other
// along the dim that is innermost in the memory of an array of another order. A transposed copy then reads and writes
// whole cache lines.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "cpu/memory.hpp"
#include "cpu/sweep_body.hpp"
#include "cpu/sweep_program.hpp"

namespace gf::cpu {

class TileWalk {
public:
    /// On up to `threads` threads. The body must outlive it.
    TileWalk(const SweepBody& body, int threads);

    /// Sets the extents of the next runs, after the body's fit(); `elements` is their product. Allocates only memory
    /// beyond that of earlier calls. If it throws, it can be called again.
    void fit(std::span<const std::int64_t> extents, std::int64_t elements);
    /// Chooses the tiles again for the strides that the body has taken. Allocates nothing.
    void choose(std::span<const std::int64_t> extents);
    /// True if some array's memory runs across the rows, and rows are long enough for calls of kernels.
    bool are_better() const { return tiles_ > 0; }
    /// Runs all tiles. Only if are_better(). Allocates nothing.
    void run(std::span<char* const> arrays);

private:
    /// The working memory of one thread.
    struct Worker {
        Bytes scratch;            ///< temporaries
        Bytes copied;             ///< the elements of an array that are to be scattered
        std::vector<Where> where; ///< by place
    };
    /// `rows` rows of n elements; the first has the coordinates `at`, and number `element` in the domain.
    struct Tile {
        std::array<std::int64_t, max_rank> at{};
        std::int64_t element = 0;
        std::size_t rows = 0, n = 0;
    };

    Worker make_worker() const;
    std::size_t crossing_dim() const;
    std::int64_t offset(const Tile& tile, const DimStrides& stride) const;
    /// True if an array's elements are closer to each other along a tile's columns than along its rows.
    bool is_closer_down(const DimStrides& stride) const {
        return stride[row_] != 0 && std::abs(stride[row_]) < std::abs(stride[column_]);
    }
    Tile tile(std::int64_t number) const;
    void run_tile(Worker& worker, const Tile& tile, std::span<char* const> arrays) const;
    void run_step(Worker& worker, const BodyStep& step, const Tile& tile, std::span<char* const> arrays) const;
    void gather_tile(const Worker& worker, const BodyStep& step, const Tile& tile, std::span<char* const> arrays) const;
    void scatter_tile(Worker& worker, const BodyStep& step, const Tile& tile, std::span<char* const> arrays) const;

    const SweepBody& body_;
    const SweepProgram& program_;
    int threads_;
    bool may_be_better_; ///< the sweep folds nothing, and accesses an array out of order
    std::array<std::int64_t, max_rank> extent_{}, inner_{}; ///< by position in Sweep::dims; inner_: elements within it
    std::size_t row_ = 0, column_ = 0; ///< the positions of the dims along which rows follow each other, and along them
    std::int64_t rows_ = 0, columns_ = 0; ///< of a whole tile
    std::int64_t tiles_ = 0;
    std::vector<Worker> workers_;
    std::size_t workers_in_use_ = 0;
};

} // namespace gf::cpu
