#include "cpu/tile_walk.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "cpu/index.hpp"
#include "cpu/threads.hpp"

namespace gf::cpu {

namespace {

/// The most elements of a tile: 64 rows of 64, so that both sides have whole cache lines. Larger tiles gain nothing.
constexpr std::size_t most_of_tile = 4096;

/// The shortest rows of a tile: each takes a call of every kernel.
constexpr std::int64_t shortest_row = 16;

/// Between neighbours of a tile in memory, in elements.
struct Steps {
    std::int64_t row, column;
};

/// to(row, column) = from(row, column). `down`: along a column first.
template <class T>
void copy_elements(T* to, Steps of_to, const T* from, Steps of_from, std::size_t rows, std::size_t columns, bool down) {
    const auto copy = [&](std::size_t outer, std::size_t inner, std::int64_t to_outer, std::int64_t to_inner,
                          std::int64_t from_outer, std::int64_t from_inner) {
        for (std::size_t i = 0; i < outer; ++i) {
            T* const out = to + static_cast<std::int64_t>(i) * to_outer;
            const T* const in = from + static_cast<std::int64_t>(i) * from_outer;
            for (std::size_t k = 0; k < inner; ++k)
                out[static_cast<std::int64_t>(k) * to_inner] = in[static_cast<std::int64_t>(k) * from_inner];
        }
    };
    if (down)
        copy(columns, rows, of_to.column, of_to.row, of_from.column, of_from.row);
    else
        copy(rows, columns, of_to.row, of_to.column, of_from.row, of_from.column);
}

/// copy_elements() of elements of 1, 2, 4 or 8 bytes.
void copy_tile(char* to, Steps of_to, const char* from, Steps of_from, std::size_t bytes, std::size_t rows,
               std::size_t columns, bool down) {
    const auto copy = [&]<class T>(T) {
        copy_elements(reinterpret_cast<T*>(to), of_to, reinterpret_cast<const T*>(from), of_from, rows, columns, down);
    };
    switch (bytes) {
    case 1: return copy(std::uint8_t{});
    case 2: return copy(std::uint16_t{});
    case 4: return copy(std::uint32_t{});
    default: return copy(std::uint64_t{});
    }
}

bool is_out_of_order(const BodyStep& step) {
    return (step.kind == BodyStep::Kind::gather && step.shifted < 0) || step.kind == BodyStep::Kind::scatter;
}

} // namespace

TileWalk::TileWalk(const SweepBody& body, int threads)
    : body_(body), program_(body.program()), threads_(threads),
      may_be_better_(program_.folds.empty() && body.sweep().dims.size() > 1 &&
                     std::ranges::any_of(program_.body, is_out_of_order)) {}

TileWalk::Worker TileWalk::make_worker() const {
    Worker worker;
    worker.scratch = allocate(program_.temporary_bytes * program_.room());
    worker.copied = allocate(sizeof(std::uint64_t) * most_of_tile);
    worker.where.resize(program_.places.size());
    for (std::size_t i = 0; i < program_.places.size(); ++i) {
        const Place& place = program_.places[i];
        if (place.kind == Place::Kind::scalar) worker.where[i].at = body_.scalar_at(place);
        if (place.kind == Place::Kind::temporary)
            worker.where[i].at = worker.scratch.get() + place.offset * program_.room();
    }
    return worker;
}

void TileWalk::fit(std::span<const std::int64_t> extents, std::int64_t elements) {
    tiles_ = 0; // until all allocations have succeeded
    if (!may_be_better_ || elements == 0) return;
    workers_in_use_ = elements < work_worth_threads / program_.work ? 1 : at(threads_);
    while (workers_.size() < workers_in_use_) workers_.push_back(make_worker());
    choose(extents);
}

void TileWalk::choose(std::span<const std::int64_t> extents) {
    tiles_ = 0;
    if (!may_be_better_ || workers_.empty()) return;
    const std::vector<DimId>& dims = body_.sweep().dims;
    // The product of the other extents may overflow.
    if (std::ranges::any_of(dims, [&](DimId dim) { return extents[dim.index()] == 0; })) return;
    std::int64_t inner = 1;
    column_ = dims.size() - 1;
    for (std::size_t d = dims.size(); d-- > 0;) {
        extent_[d] = extents[dims[d].index()];
        inner_[d] = inner;
        inner *= extent_[d];
        if (extent_[column_] == 1) column_ = d; // the innermost dim with neighbours
    }
    row_ = crossing_dim();
    if (row_ == column_) return;
    const auto most = static_cast<std::int64_t>(std::min(program_.tile, most_of_tile));
    const auto side = std::int64_t{1} << (std::bit_width(unsigned_of(most)) - 1) / 2;
    columns_ = std::min(most / std::min(side, extent_[row_]), extent_[column_]);
    rows_ = std::min(most / columns_, extent_[row_]);
    if (columns_ < shortest_row) return;
    tiles_ = 1;
    for (std::size_t d = 0; d < dims.size(); ++d) {
        const std::int64_t of_tile = d == row_ ? rows_ : d == column_ ? columns_ : 1;
        tiles_ *= (extent_[d] + of_tile - 1) / of_tile;
    }
}

/// The dim along which the elements of some array are closer in memory than along the innermost one, which the array
/// has; stored arrays first. column_ if there is none.
std::size_t TileWalk::crossing_dim() const {
    for (const BodyStep::Kind kind : {BodyStep::Kind::scatter, BodyStep::Kind::gather})
        for (const BodyStep& step : program_.body) {
            if (step.kind != kind || !is_out_of_order(step)) continue;
            const DimStrides& stride = body_.strides(step.array);
            std::size_t closest = column_;
            for (std::size_t d = 0; d < body_.sweep().dims.size(); ++d)
                if (extent_[d] > 1 && stride[d] != 0 && std::abs(stride[d]) < std::abs(stride[closest])) closest = d;
            if (closest != column_) return closest;
        }
    return column_;
}

TileWalk::Tile TileWalk::tile(std::int64_t number) const {
    Tile tile;
    for (std::size_t d = body_.sweep().dims.size(); d-- > 0;) {
        const std::int64_t of_tile = d == row_ ? rows_ : d == column_ ? columns_ : 1;
        const std::int64_t count = (extent_[d] + of_tile - 1) / of_tile;
        tile.at[d] = number % count * of_tile;
        number /= count;
        tile.element += tile.at[d] * inner_[d];
    }
    tile.rows = unsigned_of(std::min(rows_, extent_[row_] - tile.at[row_]));
    tile.n = unsigned_of(std::min(columns_, extent_[column_] - tile.at[column_]));
    return tile;
}

void TileWalk::run(std::span<char* const> arrays) {
    const auto workers = static_cast<std::int64_t>(workers_in_use_);
    on_threads(workers, threads_, [&](std::int64_t w) {
        for (std::int64_t t = tiles_ * w / workers; t < tiles_ * (w + 1) / workers; ++t)
            run_tile(workers_[unsigned_of(w)], tile(t), arrays);
    });
}

void TileWalk::run_tile(Worker& worker, const Tile& tile, std::span<char* const> arrays) const {
    for (const int p : body_.array_places()) {
        const Place& place = program_.places[at(p)];
        worker.where[at(p)] = {arrays[place.array.index()] + unsigned_of(tile.element) * place.element_bytes,
                               unsigned_of(inner_[row_]) * place.element_bytes};
    }
    for (const int p : body_.temporary_places())
        worker.where[at(p)].row_bytes = tile.n * program_.places[at(p)].element_bytes;
    for (const BodyStep& step : program_.body) run_step(worker, step, tile, arrays);
}

void TileWalk::run_step(Worker& worker, const BodyStep& step, const Tile& tile, std::span<char* const> arrays) const {
    if (step.kind == BodyStep::Kind::gather && step.shifted < 0) return gather_tile(worker, step, tile, arrays);
    if (step.kind == BodyStep::Kind::scatter) return scatter_tile(worker, step, tile, arrays);
    const std::size_t rows = step.by_row ? tile.rows : 1, n = step.by_row ? tile.n : tile.n * tile.rows;
    Where out = worker.where[at(step.out)];
    std::array<Where, max_arity> in;
    for (std::size_t i = 0; i < max_arity; ++i) in[i] = worker.where[at(step.operands[i])];
    std::int64_t element = tile.element;
    for (std::size_t row = 0; row < rows; ++row) {
        body_.run(step, out.at, {in[0].at, in[1].at, in[2].at}, element, n, arrays);
        out.at += out.row_bytes;
        for (Where& operand : in) operand.at += operand.row_bytes;
        element += inner_[row_];
    }
}

/// The offset in an array with these strides of a tile's first element.
std::int64_t TileWalk::offset(const Tile& tile, const DimStrides& stride) const {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < body_.sweep().dims.size(); ++d) offset += tile.at[d] * stride[d];
    return offset;
}

void TileWalk::gather_tile(const Worker& worker, const BodyStep& step, const Tile& tile,
                           std::span<char* const> arrays) const {
    const Place& place = program_.places[at(step.out)];
    const auto n = static_cast<std::int64_t>(tile.n);
    const DimStrides& stride = body_.strides(step.array);
    const char* const from =
        arrays[step.array.index()] + offset(tile, stride) * static_cast<std::int64_t>(place.element_bytes);
    copy_tile(worker.where[at(step.out)].at, {n, 1}, from, {stride[row_], stride[column_]}, place.element_bytes,
              tile.rows, tile.n, is_closer_down(stride));
}

void TileWalk::scatter_tile(Worker& worker, const BodyStep& step, const Tile& tile,
                            std::span<char* const> arrays) const {
    const Place& place = program_.places[at(step.operands[0])];
    const auto n = static_cast<std::int64_t>(tile.n);
    const DimStrides& stride = body_.strides(step.array);
    const Where& in = worker.where[at(step.operands[0])];
    const std::size_t row_bytes = tile.n * place.element_bytes;
    // Rows of an array may lie in the same sets of a cache: each line is read once.
    const bool copies = in.row_bytes != row_bytes;
    for (std::size_t row = 0; copies && row < tile.rows; ++row)
        std::memcpy(worker.copied.get() + row * row_bytes, in.at + row * in.row_bytes, row_bytes);
    char* const to = arrays[step.array.index()] + offset(tile, stride) * static_cast<std::int64_t>(place.element_bytes);
    copy_tile(to, {stride[row_], stride[column_]}, copies ? worker.copied.get() : in.at, {n, 1}, place.element_bytes,
              tile.rows, tile.n, is_closer_down(stride));
}

} // namespace gf::cpu
