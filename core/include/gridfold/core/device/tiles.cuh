// The course of tiles: sweeps that fold nothing, where the memory of some array runs across the domain's rows. A block
// takes tiles of `side` by `side` elements: rows along the domain's innermost dim, one below the other along the dim
// `across`, which is innermost in that array. Arrays that run across are read and written along their own memory,
// and pass through shared memory. Depends on loads.cuh, shared.cuh and kernel.cuh.
//
// The generated text defines the Kernel (kernel.cuh), with these members besides:
//   side, across                 elements of a tile's row, a multiple of 32; a position in the domain, not the last
//   i64 extents[rank]
//   gather(loads, at, n), scatter(stored, at, n)    also of arrays in the domain's order
//   read_across(loads, tile)     calls tile.read(pack, array, offset) for each array that is read across
//   write_across(stored, tile)   calls tile.write(pack, array, offset) for each that is written so
// offset(at) is the number of the element with these coordinates in the array's memory.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// An element in shared memory, in whole words: types of up to 4 bytes share it, and types of 8.
template <int size> struct alignas(size) Cell {
    unsigned char bytes[size];
};
template <class T> inline constexpr int cell_bytes = sizeof(T) < 4 ? 4 : int(sizeof(T));
template <class T> union CellOf {
    T element;
    Cell<cell_bytes<T>> cell;
    GRIDFOLD_FN CellOf() {}
};

/// A tile of a block. A thread has `width` elements of it: n names one of its own, by rows, or by columns.
template <class Kernel> struct TileOfBlock {
    static constexpr int rank = Kernel::rank, side = Kernel::side, width = Kernel::width;
    static constexpr int warps = Kernel::threads / 32, each = side / 32; ///< elements of a thread side by side
    static_assert(side % 32 == 0 && width * Kernel::threads == side * side, "a block has a tile's elements");
    static_assert(0 <= Kernel::across && Kernel::across < rank - 1, "rows follow each other along an outer dim");

    i64 first[rank]; ///< coordinates
    i32 rows, columns;

    GRIDFOLD_FN static i64 size_along(int d) { return d == rank - 1 || d == Kernel::across ? side : 1; }
    /// The number of tiles, by dim.
    GRIDFOLD_FN static void count(const Kernel& kernel, i64 (&counts)[rank]) {
#pragma unroll
        for (int d = 0; d < rank; ++d) counts[d] = (kernel.extents[d] + size_along(d) - 1) / size_along(d);
    }
    GRIDFOLD_FN TileOfBlock(const Kernel& kernel, i64 number, const i64 (&counts)[rank]) {
        const Coordinates<rank> at(number, counts);
#pragma unroll
        for (int d = 0; d < rank; ++d) first[d] = at.at[d] * size_along(d);
        rows = i32(smaller(kernel.extents[Kernel::across] - first[Kernel::across], i64(side)));
        columns = i32(smaller(kernel.extents[rank - 1] - first[rank - 1], i64(side)));
    }

    /// The place of element n along the threads of a warp, and among the lines that the warps take.
    GRIDFOLD_FN static i32 along(int n) { return i32(warp_lane()) + n % each * 32; }
    GRIDFOLD_FN static i32 line(int n) { return i32(warp_index()) + n / each * warps; }

    /// The coordinates of element n; false if the tile does not have it. by_columns: a warp's threads are in a column.
    template <bool by_columns> GRIDFOLD_FN bool place(int n, i64 (&at)[rank]) const {
        const i32 row = by_columns ? along(n) : line(n), column = by_columns ? line(n) : along(n);
#pragma unroll
        for (int d = 0; d < rank; ++d) at[d] = first[d];
        at[Kernel::across] += row;
        at[rank - 1] += column;
        return row < rows && column < columns;
    }
    /// Rows begin in different banks.
    GRIDFOLD_FN static u32 slot(i32 row, i32 column) { return u32(row * (side + 1) + column); }
    template <class T> using Memory = Shared<Cell<cell_bytes<T>>, side*(side + 1), 0>;

    template <class T, class Offset>
    GRIDFOLD_FN void read(Pack<T, width>& to, const T* array, const Offset& offset) const {
        CellOf<T> cells[width];
#pragma unroll
        for (int n = 0; n < width; ++n) {
            i64 at[rank];
            if (place<true>(n, at)) cells[n].element = array[offset(at)];
        }
#pragma unroll
        for (int n = 0; n < width; ++n) {
            i64 at[rank];
            if (place<true>(n, at)) Memory<T>::put(slot(along(n), line(n)), cells[n].cell);
        }
        barrier();
#pragma unroll
        for (int n = 0; n < width; ++n) {
            i64 at[rank];
            if (!place<false>(n, at)) continue;
            cells[n].cell = Memory<T>::get(slot(line(n), along(n)));
            to[n] = cells[n].element;
        }
        barrier(); // the next array, or tile, uses the same memory
    }
    template <class Elements, class T, class Offset>
    GRIDFOLD_FN void write(const Elements& from, T* array, const Offset& offset) const {
#pragma unroll
        for (int n = 0; n < width; ++n) {
            i64 at[rank];
            CellOf<T> own;
            own.element = from[n];
            if (place<false>(n, at)) Memory<T>::put(slot(line(n), along(n)), own.cell);
        }
        barrier();
#pragma unroll
        for (int n = 0; n < width; ++n) {
            i64 at[rank];
            if (!place<true>(n, at)) continue;
            CellOf<T> other;
            other.cell = Memory<T>::get(slot(along(n), line(n)));
            array[offset(at)] = other.element;
        }
        barrier();
    }
};

/// The argument of a kernel's element() that stores element n.
template <class Kernel> struct TakingOfTile {
    typename Kernel::Stored& stored;
    int n;
};

/// The whole kernel: block b takes the tiles b, b + blocks ….
template <class Kernel> GRIDFOLD_FN void sweep_tiles(Kernel& kernel) {
    using Tile = TileOfBlock<Kernel>;
    static_assert(is_kernel<Kernel>());
    kernel.prologue();
    wait_for_previous_kernel();
    kernel.read_scalars();
    i64 counts[Kernel::rank], tiles = 1;
    Tile::count(kernel, counts);
#pragma unroll
    for (int d = 0; d < Kernel::rank; ++d) tiles *= counts[d];
#pragma unroll 1
    for (i64 number = kernel.block; number < tiles; number += kernel.blocks) {
        const Tile tile(kernel, number, counts);
        typename Kernel::Loads loads;
        typename Kernel::Stored stored;
        i64 at[Kernel::rank];
#pragma unroll
        for (int n = 0; n < Kernel::width; ++n)
            if (tile.template place<false>(n, at)) kernel.gather(loads, at, n);
        kernel.read_across(loads, tile);
#pragma unroll
        for (int n = 0; n < Kernel::width; ++n)
            if (tile.template place<false>(n, at)) kernel.element(loads, TakingOfTile<Kernel>{stored, n});
#pragma unroll
        for (int n = 0; n < Kernel::width; ++n)
            if (tile.template place<false>(n, at)) kernel.scatter(stored, at, n);
        kernel.write_across(stored, tile);
    }
}

} // namespace GRIDFOLD_NAMESPACE
