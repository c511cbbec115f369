// The course of rows by threads: folds that keep the leading dims alone, of short rows. A warp copies the memory of
// neighbouring rows, its tile, to shared memory. Then each thread folds rows of its own, so that no thread passes on a
// state. Depends on runs.cuh, and on exchange.cuh for rows without elements.
//
// The generated text defines the Kernel (kernel.cuh, runs.cuh), with these members besides:
//   i64 elements, results    elements of a row, and the number of rows
//   i64 sharing              rows of a thread block's tiles, as many of each warp
//   finish(states, result)   writes a row's result
// A thread gets `unit` elements of a pack at a time: every row begins at a multiple of them.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The rows of a warp's tile.
template <class Kernel> struct ThreadRows {
    using Loads = typename Kernel::Loads;
    static constexpr int width = Kernel::width, unit = Kernel::unit;
    /// Rows that fill their packs are apart in shared memory.
    static constexpr bool fills = Kernel::whole_packs;
    template <class T> using OfWarp = TileMemory<Kernel, 16, fills ? width * Kernel::packs* int(sizeof(T)) : 0>;

    const Kernel& kernel;
    i64 first; ///< the tile's first row
    i32 rows;  ///< of the tile

    /// Copies the tile's rows of every array.
    GRIDFOLD_FN void copy() const {
        i32 place = tile_of_warp<Kernel>();
        Kernel::each_array(
            [&](const auto* p) {
                copy_rows(p, place);
                place += bytes_of(p);
            },
            kernel);
        await_copies();
        reconverge(); // other threads have copied what this one gets // defect: copied rows
    }
    /// Folds and finishes row number `number` of the tile.
    GRIDFOLD_FN void fold_row(i32 number) const {
        const i32 elements = i32(kernel.elements), begin = number * elements;
        Lanes<Kernel> lanes, head; // of no element: its origins are those of the row
        clear<Kernel>(head);
        if constexpr (Kernel::Folds::shares) {
            Loads loads;
            get<false>(loads, begin, 1);
            share(kernel, head, loads, 0);
        }
        RunStates<Kernel> states;
        i32 from = 0, packs = 0;
        const auto fold_pack = [&](auto whole) {
            Loads loads;
            const i32 count = whole() ? width : elements - from; // defect: elements of the last pack
            get<whole()>(loads, begin + from, count);
            lanes = head;
            fold_elements<whole()>(kernel, lanes, loads, from, count, 0);
            end<Kernel>(lanes, whole(), whole() ? 0 : count, from, 0);
            Kernel::Folds::each([&](auto f) {
                using F = decltype(f);
                reduce_thread<typename F::LaneMonoid>(F::of(lanes), F::joins ? 1 : count);
            });
            states.add(lanes, packs++);
        };
#pragma unroll 1
        for (; from + width <= elements; from += width) fold_pack(Constant<true>{}); // defect: packs of a row
        if constexpr (!fills)
            if (from < elements) fold_pack(Constant<false>{});
        states.take(lanes, packs);
        States<Kernel, 1> closed;
        close<Kernel>(lanes, closed, elements);
        kernel.finish(closed, first + number); // defect: result of row
    }

protected:
    /// The bytes of an array's rows in the tile, where the first piece has others before them.
    template <class T> GRIDFOLD_FN i32 bytes_of(const T*) const {
        const i32 of_warp = i32(kernel.sharing) / (Kernel::threads / 32) * i32(kernel.elements) * i32(sizeof(T));
        return (OfWarp<T>::place_of(of_warp) + RunPlaces::beside) / 16 * 16; // defect: bytes of an array
    }
    /// Gets `count` elements of every array, from number `begin` of the tile on. With `fills_rest` the last of them
    /// take the places of those that are not there.
    template <bool whole, bool fills_rest = false> GRIDFOLD_FN void get(Loads& loads, i32 begin, i32 count) const {
        i32 place = tile_of_warp<Kernel>();
        Kernel::each_array(
            [&](const auto* p, auto& of) {
                get_pack<whole, fills_rest>(of, p + first * kernel.elements, place, begin, count);
                place += bytes_of(p);
            },
            kernel, loads);
    }
    template <bool whole, bool fills_rest, class T>
    GRIDFOLD_FN static void get_pack(Pack<T, width>& of, const T* p, i32 place, i32 begin, i32 count) {
        using Memory = typename OfWarp<T>::Memory;
        constexpr int size = sizeof(T), step = smaller(unit, 16 / size), bytes = step * size; // T may be of Held
        static_assert(width % unit == 0);
        const i32 byte = place + OfWarp<T>::place_of((fills ? 0 : OfWarp<T>::before(p)) + begin * size);
        if constexpr (whole && bytes < 4 && width * size >= 4 && !(Kernel::taken >= 0 && size == 1)) {
            const i32 moved = byte % 4;
            if constexpr (Kernel::taken >= 0) // other threads write what is beside the row
                OfWarp<T>::get_halves(of, byte - moved, moved > 0);
            else
                OfWarp<T>::template get_moved<1>(of, byte - moved, 8 * u32(moved), byte - moved + width * size);
        } else {
#pragma unroll
            for (int n = 0; n < width; n += step) {
                if (!whole && !fills_rest && n >= count) break;
                const i32 from = byte + (whole || !fills_rest ? n : smaller(n, count - step)) * size;
                if constexpr (bytes >= 4)
                    Memory::get_from(from, reinterpret_cast<u32(&)[bytes / 4]>(of.word[n * size / 4]));
                else
#pragma unroll
                    for (int i = 0; i < step; ++i) of.element[n + i] = Memory::template element<T>(from + i * size);
            }
        }
    }

private:
    template <class T> GRIDFOLD_FN void copy_rows(const T* p, i32 place) const {
        OfWarp<T>::copy(p, kernel.results * kernel.elements, first * kernel.elements, rows * i32(kernel.elements),
                        place);
    }
};

/// The whole kernel. Each warp takes the rows of its tiles.
template <class Kernel> GRIDFOLD_FN void sweep_thread_rows(Kernel& kernel) {
    static_assert(Kernel::threads % 32 == 0 && Kernel::tile_bytes % 16 == 0);
    static_assert(sizeof(Kernel::elements) == 8 && sizeof(Kernel::results) == 8 && sizeof(Kernel::sharing) == 8);
    if (!begin_rows_of(kernel)) return;
    constexpr i64 warps = Kernel::threads / 32;
    const i64 each = kernel.sharing / warps;
    i64 first = (kernel.block * warps + warp_index()) * each;
#pragma unroll 1
    for (; first < kernel.results; first += kernel.blocks * warps * each) { // defect: next tile
        const ThreadRows<Kernel> tile{kernel, first, i32(smaller(each, kernel.results - first))};
        tile.copy();
#pragma unroll 1
        for (i32 row = i32(warp_lane()); row < tile.rows; row += 32) tile.fold_row(row);
        if constexpr (Kernel::one_turn) break;
        reconverge(); // all have folded what the next tile overwrites // defect: next tile's memory
    }
}

} // namespace GRIDFOLD_NAMESPACE
