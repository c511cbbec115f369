// The course of held rows by threads: sweeps with several phases, such as softmax, of short rows. As in rows by
// threads, a warp copies the memory of neighbouring rows, its tile, to shared memory, wherever they begin. Then each
// thread runs all phases of a row of its own, so that no thread passes on a state. What it stores goes to shared
// memory, too, and leaves from there in order. Depends on thread_rows.cuh and divisor.cuh.
//
// The generated text defines the Kernel and its phases as for held rows (held_rows.cuh), but that each_got() and
// each_put() visit values of Held alone, and with `sharing` as for rows by threads: 32 rows of each warp. Besides:
//   taken   the array, of those that are read in order, whose place takes what the last phase stores, as nothing else
//           is stored; -1: each stored array has a place behind those that are read
// A value of Held whose first word is -1 - n takes the place of array number n, which no later phase reads. At the
// end of the tile a thread has held_words words for each of the row_packs packs of a row.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The rows of a warp's tile, one of each thread.
template <class Kernel> struct HeldThreadRows : ThreadRows<Kernel> {
    using Tile = ThreadRows<Kernel>;
    using Tile::kernel, Tile::first, Tile::rows, Tile::width, Tile::unit;
    using Loads = typename Kernel::Loads;
    using Kept = typename Kernel::Kept;
    template <class T> using OfWarp = typename Tile::template OfWarp<T>;
    using Memory = typename OfWarp<u32>::Memory;

    /// Runs all phases of row number `number` of the tile.
    template <class... Phases> GRIDFOLD_FN void run(i32 number) const {
        Kept kept;
        i32 stored = behind_arrays();
        (run_phase<Phases>(number, kept, stored), ...);
    }
    /// Writes what the phases have stored to its arrays. All threads of the warp must call it.
    template <class... Phases> GRIDFOLD_FN void store() const {
        i32 stored = behind_arrays();
        const auto each = [&](auto* p) {
            const Output of = output(p, stored);
            OfWarp<u32>::copy_out(p + first_element(), rows * i32(kernel.elements), of.place, of.before);
            stored += bytes_of_output(p);
        };
        (Phases::each_store(each, kernel), ...);
    }

private:
    /// Where an output is in shared memory, and the bytes from there to its first element.
    struct Output {
        i32 place, before;
    };
    GRIDFOLD_FN i64 first_element() const { return first * kernel.elements; }
    GRIDFOLD_FN i32 behind_arrays() const {
        i32 place = tile_of_warp<Kernel>();
        Kernel::each_array([&](const auto* p) { place += this->bytes_of(p); }, kernel);
        return place;
    }
    /// Calls visit(p, place) for array number `number`: p is its memory from the tile's first row on, as elements of T.
    template <class T, class Visit> GRIDFOLD_FN void at_array(int number, const T*, const Visit& visit) const {
        i32 place = tile_of_warp<Kernel>();
        int n = 0;
        Kernel::each_array(
            [&](const auto* p) {
                if (n++ == number) visit(reinterpret_cast<const T*>(p + first_element()), place);
                place += this->bytes_of(p);
            },
            kernel);
    }
    template <class T> GRIDFOLD_FN i32 bytes_of_output(const T* p) const {
        return Kernel::taken < 0 ? this->bytes_of(p) : 0;
    }
    template <class T> GRIDFOLD_FN Output output(const T* p, i32 place) const {
        if constexpr (Kernel::taken < 0) {
            return {place, OfWarp<T>::before(p + first_element())};
        } else {
            Output of;
            at_array(Kernel::taken, p, [&](const T* q, i32 at) { of = {at, OfWarp<T>::before(q)}; });
            return of;
        }
    }

    /// Runs one phase of a row, whose first output is at `stored`; moves that behind its outputs.
    template <class Phase> GRIDFOLD_FN void run_phase(i32 number, Kept& kept, i32& stored) const {
        const Phase phase{kernel};
        constexpr bool folds = Phase::Folds::words > 0;
        const i32 elements = i32(kernel.elements), begin = number * elements;
        Lanes<Phase> lanes, head; // of no element: its origins are those of the row
        clear<Phase>(head);
        if constexpr (Phase::Folds::shares) {
            Loads loads;
            typename Phase::Stored none;
            load<false>(phase, loads, number, 0, unit, kept, 0); // no row has fewer
            phase.element(loads, Sharing<Phase>{head, none, 0});
        }
        RunStates<Phase> states;
        i32 from = 0, packs = 0;
        const auto take_pack = [&](auto whole) {
            constexpr bool all = whole();                    // constant in lambdas, too
            const i32 count = all ? width : elements - from; // defect: elements of the last held pack
            Loads loads;
            typename Phase::Stored of;
            load<all>(phase, loads, number, from, count, kept, packs);
            lanes = head;
            // A branch for each element of a part would take longer than to map all.
            if constexpr (!all && folds)
                take_part(phase, lanes, of, loads, from, count, 0);
            else if (folds || !take_quickly(phase, of, loads, from))
                take_elements<true>(phase, lanes, of, loads, from, count, 0);
            Phase::each_put(
                [&](const auto& pack, int word) {
                    if (word < 0)
                        at_array(-1 - word, pack.element, [&](const auto* p, i32 place) {
                            put<all>(pack, place + OfWarp<u32>::before(p) + (begin + from) * i32(sizeof(pack[0])),
                                     count);
                        });
                    else
                        put_interleaved(pack, Memory{}, first_held(), place_of_held(word, packs), i32(warp_lane()));
                },
                loads);
            i32 place = stored;
            Phase::each_store(
                [&](auto* p, auto& pack) {
                    const Output to = output(p, place);
                    put<all>(pack, to.place + to.before + (begin + from) * i32(sizeof(*p)), count);
                    place += bytes_of_output(p);
                },
                kernel, of);
            if constexpr (folds) {
                end<Phase>(lanes, all, all ? 0 : count, from, 0);
                Phase::Folds::each([&](auto f) {
                    using F = decltype(f);
                    reduce_thread<typename F::LaneMonoid>(F::of(lanes), F::joins ? 1 : count);
                });
                states.add(lanes, packs);
            }
            ++packs;
        };
#pragma unroll 1
        for (; from + width <= elements; from += width) take_pack(Constant<true>{});
        if (from < elements) take_pack(Constant<false>{});
        Phase::each_store([&](const auto* p) { stored += bytes_of_output(p); }, kernel);
        if constexpr (folds) {
            states.take(lanes, packs);
            States<Phase, 1> closed;
            close<Phase>(lanes, closed, elements);
            phase.finish(closed, first + number, kept); // defect: values of a thread's row
        }
    }
    /// Sets what a phase reads of `count` elements of row number `number` from number `from` on, its pack number
    /// `pack`.
    template <bool whole, class Phase>
    GRIDFOLD_FN void load(const Phase& phase, Loads& loads, i32 number, i32 from, i32 count, const Kept& kept,
                          i32 pack) const {
        const i32 begin = number * i32(kernel.elements);
        this->template get<whole, true>(loads, begin + from, count);
        loads.kept = kept;
        Phase::each_got(
            [&](auto& of, int word) {
                if (word < 0)
                    at_array(-1 - word, of.element, [&](const auto* p, i32 place) {
                        this->template get_pack<whole, true>(of, p, place, begin + from, count);
                    });
                else
                    get_interleaved(of, Memory{}, first_held(), place_of_held(word, pack), i32(warp_lane()));
            },
            loads);
        if constexpr (Phase::rank > 0) {
            const Coordinates<Phase::rank, Phase::kept_dims> at(first + number, from, kernel.extents);
            gather_from<whole>(phase, loads, at, count);
        }
    }
    /// Maps a pack with quotients that cost less than divisions. False if they may not be exact, or if there are none.
    template <class Phase>
    GRIDFOLD_FN bool take_quickly(const Phase& phase, typename Phase::Stored& of, Loads& loads, i32 from) const {
        if constexpr (!Phase::divides || !exact_quotients)
            return false;
        else if constexpr (Phase::rounds_quotients)
            return differing_products(phase, loads, of, from, 0) == 0; // defect: sure of a pack's products
        else
            return is_sure(least_quotient(phase, loads, of, from, 0));
    }

    /// The first of the warp's held words, and the place of those of a pack from number `word` on among a thread's.
    GRIDFOLD_FN static i32 first_held() {
        return (tile_of_warp<Kernel>() + Kernel::tile_bytes) / 4 - 32 * Kernel::row_packs * Kernel::held_words;
    }
    GRIDFOLD_FN static i32 place_of_held(int word, i32 pack) { return pack * Kernel::held_words + word; }
    /// Puts `count` elements of a pack where their array is, from a byte on.
    template <bool whole, class Half>
    GRIDFOLD_FN static void put(const HalfPack<Half, width>& of, i32 byte, i32 count) {
        Pack<u16, width> halves;
        if constexpr (width % 2 == 0)
            to_memory(halves, of);
        else
            halves.element[0] = of[0];
        put<whole>(halves, byte, count);
    }
    template <bool whole, class T> GRIDFOLD_FN static void put(const Pack<T, width>& of, i32 byte, i32 count) {
        constexpr int size = sizeof(T), step = smaller(unit, 16 / size), bytes = step * size; // T may be of Held
#pragma unroll
        for (int n = 0; n < width; n += step) {
            if (!whole && n >= count) break;
            if constexpr (bytes >= 4)
                Memory::put_at(byte + n * size, reinterpret_cast<const u32(&)[bytes / 4]>(of.word[n * size / 4]));
            else
#pragma unroll
                for (int i = n; i < n + step; ++i) Memory::put_element(byte + i * size, of.element[i]);
        }
    }
};

/// The whole kernel. Each warp takes the rows of its tiles.
template <class Kernel, class... Phases> GRIDFOLD_FN void sweep_held_thread_rows(Kernel& kernel) {
    static_assert(Kernel::threads % 32 == 0 && Kernel::tile_bytes % 16 == 0);
    static_assert(sizeof(Kernel::elements) == 8 && sizeof(Kernel::results) == 8 && sizeof(Kernel::sharing) == 8);
    kernel.prologue();
    wait_for_previous_kernel();
    kernel.read_scalars();
    constexpr i64 each = 32, warps = Kernel::threads / 32;
    i64 first = (kernel.block * warps + warp_index()) * each;
#pragma unroll 1
    for (; first < kernel.results; first += kernel.blocks * warps * each) { // defect: next held tile
        const HeldThreadRows<Kernel> tile{{kernel, first, i32(smaller(each, kernel.results - first))}};
        tile.copy();
        if (i32(warp_lane()) < tile.rows) tile.template run<Phases...>(i32(warp_lane()));
        reconverge(); // what other threads stored is there // defect: stored tile
        tile.template store<Phases...>();
        if constexpr (Kernel::one_turn) break;
        reconverge(); // all has left that the next tile overwrites // defect: next held tile's memory
    }
}

} // namespace GRIDFOLD_NAMESPACE
