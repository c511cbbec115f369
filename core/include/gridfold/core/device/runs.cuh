// What the courses share whose threads fold runs of neighbouring lanes, out of shared memory: how a warp copies the
// memory of rows to it, wherever they begin, and how a thread combines the states of a run's packs. Depends on
// lanes.cuh, combine.cuh and places.cuh.
//
// The Kernel of such a course has, besides what kernel.cuh says:
//   packs         the most packs, of `width` elements, of a run; a power of 2
//   tile_bytes    the shared memory of a warp
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The states of a run's packs: of 2^level packs each, as the digits of a binary counter.
template <class Kernel> struct RunStates {
    static constexpr int levels = log2_of(Kernel::packs) + 1;
    typename Kernel::Folds::template Lanes<levels> pending;

    /// Adds pack number `number`, whose states are the first of `lanes`. Folds that are exact in any order keep one
    /// state for all packs.
    GRIDFOLD_FN void add(Lanes<Kernel>& lanes, i32 number) {
        Kernel::Folds::each([&](auto f) {
            using F = decltype(f);
            if constexpr (F::joins) {
                auto& all = F::of(pending)[0];
                if (number > 0)
                    F::LaneMonoid::combine(all, F::of(lanes)[0]); // defect: joined packs
                else
                    all = F::of(lanes)[0];
            }
        });
        if constexpr (!Kernel::Folds::joins) carry<0>(lanes, number);
    }
    /// Sets the first of `lanes` to the states of all `count` packs.
    GRIDFOLD_FN void take(Lanes<Kernel>& lanes, i32 count) {
        bool has_any = false;
#pragma unroll
        for (int level = 0; level < levels; ++level) {
            if ((count >> level & 1) == 0) continue;
            Kernel::Folds::each([&](auto f) {
                using F = decltype(f);
                if constexpr (!F::joins) {
                    auto& higher = F::of(pending)[level];
                    if (has_any) F::LaneMonoid::combine(higher, F::of(lanes)[0]); // defect: lower packs
                    F::of(lanes)[0] = higher;
                }
            });
            has_any = true;
        }
        Kernel::Folds::each([&](auto f) {
            if constexpr (decltype(f)::joins) f.of(lanes)[0] = f.of(pending)[0];
        });
    }

private:
    template <int level> GRIDFOLD_FN void carry(Lanes<Kernel>& lanes, i32 number) {
        const bool is_second = level + 1 < levels && (number >> level & 1) != 0; // defect: second of two
        Kernel::Folds::each([&](auto f) {
            using F = decltype(f);
            if constexpr (!F::joins) {
                auto& first = F::of(pending)[level];
                if (is_second) {
                    F::LaneMonoid::combine(first, F::of(lanes)[0]);
                    F::of(lanes)[0] = first;
                } else {
                    first = F::of(lanes)[0];
                }
            }
        });
        if constexpr (level + 1 < levels)
            if (is_second) carry<level + 1>(lanes, number);
    }
};

/// The first byte of this warp's tile in shared memory.
template <class Kernel> GRIDFOLD_FN i32 tile_of_warp() { return i32(warp_index()) * Kernel::tile_bytes; }

/// The shared memory of this warp. Memory is copied in pieces, whose first bytes are where they are aligned in device
/// memory. With `run_bytes`, some bytes are left free after as many, so that threads that get from neighbouring runs
/// access different banks.
template <class Kernel, int piece_bytes, int run_bytes = 0> struct TileMemory {
    using Memory = DynamicShared<Kernel::tile_bytes*(Kernel::threads / 32)>;
    static constexpr i32 piece = piece_bytes, of_warp = 32 * piece;
    static_assert(run_bytes == 0 || of_warp % run_bytes == 0 || run_bytes % of_warp == 0);

    template <class T> GRIDFOLD_FN static i32 before(const T* p) { return i32(u64(p) % piece); }
    /// The place of byte number `byte` of the runs, counted from the first one's place.
    GRIDFOLD_FN static constexpr i32 place_of(i32 byte) {
        if constexpr (run_bytes == 0) return byte;
        return byte + byte / larger_of(run_bytes, 1) * RunPlaces::apart; // defect: place of byte
    }

    /// Copies elements [begin, begin + count) of an array of `all` elements, to `place`. What else their pieces have is
    /// copied with them, but nothing from behind the array: there may be no memory. What is before them in their first
    /// piece is read and not used, even if another thread writes it.
    template <class T> GRIDFOLD_FN static void copy(const T* array, i64 all, i64 begin, i32 count, i32 place) {
        constexpr i32 batch = 8;
        static_assert(run_bytes == 0 || batch * of_warp % run_bytes == 0, "batches are whole runs");
        const T* const p = array + begin;
        const char* const from = reinterpret_cast<const char*>(p) - before(p);
        const i32 pieces = (before(p) + count * i32(sizeof(T)) + piece - 1) / piece;
        const i64 of_array = (before(p) + (all - begin) * i64(sizeof(T))) / piece;
        const i32 whole = i32(smaller(i64(pieces), of_array)); // pieces that end in the array
        i32 number = i32(warp_lane());
        u32 to = Memory::place((place + place_of(number * piece)) / 4);
        keep(to);
        i64 address = i64(u64(from)) + number * piece;
        keep(address);
        const auto copy_piece = [&](int u) {
            Memory::template copy<piece / 4>(to, place_of(u * of_warp) / 4,
                                             reinterpret_cast<const char*>(u64(address)) + u * of_warp);
        };
#pragma unroll 1
        for (; number + (batch - 1) * 32 < whole; number += batch * 32) { // defect: batch of pieces
#pragma unroll
            for (int u = 0; u < batch; ++u) copy_piece(u);
            to += place_of(batch * of_warp);
            address += batch * of_warp;
        }
#pragma unroll
        for (int u = 0; u + 1 < batch; ++u)
            if (number + u * 32 < whole) copy_piece(u); // defect: last pieces
        if constexpr (sizeof(T) < piece)
            if (whole < pieces && warp_lane() == 31) { // defect: end of the array
                const T* at = reinterpret_cast<const T*>(from + whole * piece);
#pragma unroll 1
                for (i32 byte = place_of(whole * piece); at < array + all; byte += i32(sizeof(T)), ++at)
                    Memory::put_element(place + byte, *at);
            }
    }
    /// Gets a pack of halves from a word's first half on, or from its second on, and nothing beside them.
    template <class T, int N> GRIDFOLD_FN static void get_halves(Pack<T, N>& of, i32 byte, bool is_second) {
        static_assert(sizeof(T) == 2 && N % 2 == 0);
        u32 word[N / 2 + 1] = {};
#pragma unroll
        for (int i = 1; i < N / 2; ++i) Memory::get_from(byte + 4 * i, reinterpret_cast<u32(&)[1]>(word[i]));
        if (is_second) {
            word[0] = u32(Memory::template element<u16>(byte + 2)) << 16;   // defect: first half
            word[N / 2] = u32(Memory::template element<u16>(byte + 2 * N)); // defect: last half
        } else {
            Memory::get_from(byte, reinterpret_cast<u32(&)[1]>(word[0]));
        }
#pragma unroll
        for (int i = 0; i < N / 2; ++i) of.word[i] = funnel_shift_right(word[i], word[i + 1], is_second ? 16 : 0);
    }
    /// Writes `count` elements from p on, which are `from` bytes behind a place; no others. All threads of the warp
    /// must call it.
    template <class T> GRIDFOLD_FN static void copy_out(T* p, i32 count, i32 place, i32 from) {
        constexpr i32 size = sizeof(T);
        const i32 moved = before(p), lane = i32(warp_lane());
        i32 head = count, tail = 0; // elements of the first piece, and of the last, that are no whole ones
        if (moved == from) {        // defect: equally aligned
            const i32 end = from + count * size, begin = from == 0 ? 0 : 1, pieces = end / piece;
            head = smaller((begin * piece - from) / size, count);
            tail = pieces >= begin ? end % piece / size : 0;
            char* const to = reinterpret_cast<char*>(p) - moved;
#pragma unroll 4
            for (i32 number = begin + lane; number < pieces; number += 32) {
                u32 words[piece / 4];
                Memory::get_from(place + number * piece, words);
                store_bytes(to + number * piece, words);
            }
        }
#pragma unroll 1
        for (i32 i = lane; i < head + tail; i += 32) {
            const i32 own = i < head ? i : count - tail + (i - head); // defect: elements beside pieces
            p[own] = Memory::template element<T>(place + from + own * size);
        }
    }
    /// Gets a pack that begins `bits` behind a word's first bit, `access` words at a time; `behind`: where the word
    /// behind its last whole one is.
    template <int access, class T, int N>
    GRIDFOLD_FN static void get_moved(Pack<T, N>& of, i32 byte, u32 bits, i32 behind) {
        constexpr int words = N * int(sizeof(T)) / 4;
        static_assert(N * sizeof(T) % 4 == 0 && words % access == 0);
#pragma unroll
        for (int i = 0; i < words; i += access)
            Memory::get_from(byte + 4 * i, reinterpret_cast<u32(&)[access]>(of.word[i]));
        u32 next[1] = {};
        if (bits > 0) Memory::get_from(behind, next); // defect: word behind a pack
#pragma unroll
        for (int i = 0; i < words; ++i)
            of.word[i] = funnel_shift_right(of.word[i], i + 1 < words ? of.word[i + 1] : next[0], bits);
    }
};

} // namespace GRIDFOLD_NAMESPACE
