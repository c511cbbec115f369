// The packs that the threads of held rows hold: in registers, or in shared memory, where each warp has words of its
// own, and each thread those of its packs. Rows that are not aligned are copied there in words, by whichever thread of
// the warp takes a word, and results leave in words from there. Depends on row_place.cuh.
//
// The generated Kernel has, besides what row_place.cuh says:
//   each_loaded(visit, of)   visits packs of Loads, or arrays, each with its first word among the held_words of a pack
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// True if the packs of a thread are one batch, which registers hold.
template <class Kernel>
inline constexpr bool in_registers = Kernel::packs <= Kernel::in_flight && !Kernel::several_slabs;

/// The packs that a thread holds.
template <class Kernel, bool = in_registers<Kernel>> struct HeldPacks {
    using Loads = typename Kernel::Loads;
    Loads packs[Kernel::packs];

    GRIDFOLD_FN void copy(const RowPlace<Kernel>& rows) { rows.load_packs(packs, 0, 0); }
    GRIDFOLD_FN void await(const RowPlace<Kernel>&) {}
    template <class Phase> GRIDFOLD_FN void get(Loads& loads, int pack, i32) const { loads = packs[pack]; }
    template <class Phase> GRIDFOLD_FN void put(Loads& loads, int pack, i32) { packs[pack] = loads; }
};
template <class Kernel> struct HeldPacks<Kernel, false> {
    using Loads = typename Kernel::Loads;
    static constexpr int slots = Kernel::slabs * Kernel::packs;
    using Memory = DynamicShared<4 * slots * Kernel::held_words * Kernel::threads>;

    /// The words of the warp: its threads take them from each other.
    struct Words {
        u32 first; ///< where the first is; a register keeps it, because computing it takes as long as a load
        GRIDFOLD_FN u32 place(i32 word) const { return first + 4 * u32(word); }
        template <int N> GRIDFOLD_FN void get(i32 word, u32 (&w)[N]) const { Memory::load(place(word), w); }
        template <int N> GRIDFOLD_FN void put(i32 word, const u32 (&w)[N]) const { Memory::store(place(word), w); }
    };
    i32 lane; ///< the thread's
    Words of_warp;

    /// Starts to load all packs of the rows, all at once: as packs if arrays are aligned, else as words.
    GRIDFOLD_FN void copy(const RowPlace<Kernel>& rows) {
        of_warp.first = Memory::place(i32(warp_index()) * slots * Kernel::held_words * 32);
        keep(of_warp.first);
        u32 own = rows.thread;
        keep(own); // as the place above
        lane = i32(own);
        if (Kernel::whole_packs && !rows.is_there(0)) return;
        if (!Kernel::whole_packs) reconverge(); // other threads have got the words of the row before
        rows.each_slab([&](const auto& place, i32 from, i32 turn) { fill_slab(place, from, turn); });
    }
    /// Waits until they are loaded.
    GRIDFOLD_FN void await(const RowPlace<Kernel>& rows) const {
        await_copies();
        if (rows.kernel.aligned) return;
        reconverge(); // other threads have copied the words of a pack
        rows.each_slab([&](const auto& place, i32 from, i32 turn) {
            Kernel::each_loaded([&](const auto* p, int first) { align_packs(place, p, first, from, turn); },
                                rows.kernel);
        });
    }
    template <class Phase> GRIDFOLD_FN void get(Loads& loads, int pack, i32 turn) const {
        Phase::each_got([&](auto& of, int first) { get_pack(of, slot_of(pack, turn) + first); }, loads);
    }
    template <class Phase> GRIDFOLD_FN void put(Loads& loads, int pack, i32 turn) {
        Phase::each_put([&](const auto& of, int first) { put_pack(of, slot_of(pack, turn) + first); }, loads);
    }
    /// Puts what packs [begin, begin + count) of a slab store where they have been. Several arrays are then written, as
    /// each takes the place of the one before; one is left for store_slab(). All threads of the warp must call it.
    template <class Phase, class Place, class Stored, int count>
    GRIDFOLD_FN void put_stored(const Place& place, Stored (&stored)[count], int begin, i32 from, i32 turn) const {
        each_stored<Phase, 0>(
            [&](auto* p, auto&... of) {
                int u = begin;
                reconverge(); // all have got what these places had
                (put_words(place, of, u++, from, turn), ...);
                if constexpr (Phase::arrays_in_words > 1) store_words<count>(place, p, begin, from, turn);
            },
            place.kernel, stored);
#pragma unroll
        for (int u = begin; u < begin + count; ++u)
            if (place.has_pack(u, from))
                scatter<Place::fills>(place.kernel, stored[u - begin], place.element(u, from),
                                      place.elements_there(u, from));
    }
    /// Writes the one array whose packs of a slab have been put.
    template <class Place> GRIDFOLD_FN void store_slab(const Place& place, i32 from, i32 turn) const {
        const auto& kernel = place.kernel;
        kernel.each_store([&](auto* p) { store_words<Kernel::packs>(place, p, 0, from, turn); }, kernel);
    }

private:
    template <class Phase, int n, class Visit, class Stored, int count, class... Of>
    GRIDFOLD_FN static void each_stored(const Visit& visit, const Phase& kernel, Stored (&stored)[count], Of&... of) {
        if constexpr (n == count)
            Phase::each_store(visit, kernel, of...);
        else
            each_stored<Phase, n + 1>(visit, kernel, stored, of..., stored[n]);
    }
    template <class Place, class Half, int N>
    GRIDFOLD_FN void put_words(const Place& place, const HalfPack<Half, N>& of, int u, i32 from, i32 turn) const {
        Pack<u16, N> halves;
        to_memory(halves, of);
        put_words(place, halves, u, from, turn);
    }
    template <class Place, class T, int N>
    GRIDFOLD_FN void put_words(const Place& place, const Pack<T, N>& of, int u, i32 from, i32 turn) const {
        if (place.has_pack(u, from)) put_pack(of, slot_of(u, turn));
    }
    /// Writes packs [begin, begin + count) of an array to any address: neighbouring words by neighbouring threads,
    /// which get them from where the packs were put. All threads of the warp must call it.
    template <int count, class Place, class T>
    GRIDFOLD_FN void store_words(const Place& place, T* p, int begin, i32 from, i32 turn) const {
        using Shares = WarpWords<T>;
        constexpr i32 size = sizeof(T), each = Shares::each, whole = 4 / size; // elements of a word
        constexpr i32 of_pack = 32 * Shares::all, others = (Kernel::held_words - Shares::all) * 32; // words between
        static_assert(size >= 4 || Shares::all == Shares::pack, "the words of a pack are neighbours");
        reconverge(); // all have put their packs
        const i32 before = begin * 32 * Kernel::width, most = count * 32 * Kernel::width;
        T* const first = place.warp_elements(p, from) + before;
        const i32 elements = Place::fills ? most : smaller(place.warp_count(from) - before, most);
        if (!Place::fills && (elements <= 0 || !place.is_there(0))) return;
        const i32 moved = i32(before_word(first)), words = (moved + elements * size) / 4;
        u32* to = reinterpret_cast<u32*>(reinterpret_cast<char*>(first) - moved) + lane * each;
        u32 at = of_warp.place(Shares::own(lane, slot_of(begin, turn)));
#pragma unroll 1
        for (int u = 0; u < count; ++u, to += of_pack, at += 4 * (of_pack + others))
#pragma unroll
            for (int i = 0; i < Shares::all; i += each) {
                const bool is_first = i == 0 && u == 0 && lane == 0; // that word may have elements of others
                if (size < 4 && is_first && moved > 0) continue;
                if (!Place::fills && u * of_pack + 32 * i + lane * each >= words) continue; // defect: words of a pack
                u32 own[each];
                Memory::load(at + 4 * Shares::distance(i), own);
                if constexpr (size < 4)
                    if (moved > 0) {
                        const i32 gap = i == 0 && lane == 0 ? others : 0;
                        u32 last[1];
                        Memory::load(at + 4 * (Shares::distance(i) - 1 - gap), last);      // defect: word before
                        own[0] = funnel_shift_right(last[0], own[0], 32 - 8 * u32(moved)); // defect: word of packs
                    }
                store_bytes(to + 32 * i, own);
            }
        if constexpr (size < 4) {
            // The first thread writes the elements before a whole word, the last those behind one.
            const i32 head = moved > 0 ? smaller(whole - moved / size, elements) : 0;
            const i32 rest = (moved + elements * size) % 4 / size;
            const i32 tail = words > 0 || moved == 0 ? rest : 0; // defect: last elements
            const i32 parts = lane == 0 ? head : tail, from_element = lane == 0 ? 0 : elements - tail;
            if (lane == 0 || lane == 31)
#pragma unroll
                for (int n = 0; n + 1 < whole; ++n)
                    if (n < parts) {
                        const i32 element = from_element + n, word = element / whole;
                        u32 around[1];
                        of_warp.get(slot_of(begin, turn) * 32 + word + word / of_pack * others, around);
                        first[element] = T(around[0] >> 8 * size * (element % whole));
                    }
        }
    }
    template <class Place> GRIDFOLD_FN void fill_slab(const Place& place, i32 from, i32 turn) const {
        if (place.kernel.aligned) {
            Kernel::each_loaded([&](const auto* p, int first) { copy_packs(place, p, first, from, turn); },
                                place.kernel);
            if constexpr (Kernel::one_row && !Place::fills)
#pragma unroll
                for (int u = 0; u < Kernel::packs; ++u) put_part(place, u, from, slot_of(u, turn));
        } else {
            Kernel::each_loaded([&](const auto* p, int first) { copy_words(place, p, first, from, turn); },
                                place.kernel);
        }
    }
    /// Copies the whole packs of an array.
    template <class Place, class T>
    GRIDFOLD_FN void copy_packs(const Place& place, const T* p, int first, i32 from, i32 turn) const {
        constexpr int words = Pack<T, Kernel::width>::bytes / 4, all = int(sizeof(T)) * Kernel::width / 4;
        const T* const own = p + place.batch_element(0, from);
        u32 to = of_warp.place(word_of(slot_of(0, turn) + first, words));
        keep(to);
#pragma unroll
        for (int u = 0; u < Kernel::packs; ++u) {
            if (!place.has_pack(u, from)) continue;
            const bool is_part = Kernel::one_row && place.elements_there(u, from) < Kernel::width;
            if (is_part) continue; // defect: last pack of a row
#pragma unroll
            for (int i = 0; i < all; i += words)
                Memory::template copy<words>(to, (slot_of(u, 0) + i) * 32,
                                             reinterpret_cast<const u32*>(own + place.distance(u)) + i);
        }
    }
    /// Loads the last pack of a row, if it is a part of one.
    template <class Place> GRIDFOLD_FN void put_part(const Place& place, int pack, i32 from, i32 slot) const {
        if (!place.has_pack(pack, from) || place.elements_there(pack, from) == Kernel::width) return;
        Loads loads;
        place.load_part(loads, pack, from);
        Kernel::each_loaded([&](const auto& of, int first) { put_pack(of, slot + first); }, loads);
    }

    /// How the threads of a warp share the words of a pack of each: neighbouring threads take neighbouring words,
    /// `each` of them at a time.
    template <class T> struct WarpWords {
        static constexpr int pack = Pack<T, Kernel::width>::bytes / 4, all = int(sizeof(T)) * Kernel::width / 4;
        static constexpr int each = larger_of(int(sizeof(T)) / 4, 1);
        static_assert(all <= 32 * each);

        /// The place of the thread's first words of the packs in a slot.
        GRIDFOLD_FN static i32 own(i32 lane, i32 slot) {
            const i32 word = lane * each;
            return (slot + word % all / pack * pack) * 32 + word / all * pack + word % pack;
        }
        /// The distance from there of its words among those from number 32 * i on; i: a multiple of `each`.
        GRIDFOLD_FN static constexpr int distance(int i) { return i / each * (32 * each / all) * pack; }
    };
    /// Copies the words of the warp's elements of an array, neighbouring ones by neighbouring threads, to where they
    /// belong if the first element begins with its word. Whole elements take the last's word where they are not there;
    /// of smaller ones, words are copied that have the elements of no other slab behind them. Those in front of the
    /// first element, in its word, are read and not used, even if another thread writes them.
    template <class Place, class T>
    GRIDFOLD_FN void copy_words(const Place& place, const T* p, int first, i32 from, i32 turn) const {
        using Shares = WarpWords<T>;
        constexpr int all = Shares::all, each = Shares::each;
        if (!place.is_there(0)) return;
        const i32 own = lane * each, elements = place.warp_count(from);
        const T* const begin = place.warp_elements(p, from);
        const i32 moved = i32(before_word(begin));
        i64 address = i64(u64(begin)) - moved + own * 4;
        keep(address);
        const u32* const source = reinterpret_cast<const u32*>(u64(address));
        const i32 count = sizeof(T) < 4 ? (moved + elements * i32(sizeof(T))) / 4
                                        : (elements + Kernel::width - 1) / Kernel::width * all;
        const i32 last = sizeof(T) < 4 ? count : (elements - 1) * each;
        u32 to = of_warp.place(Shares::own(lane, slot_of(0, turn) + first));
        keep(to);
#pragma unroll
        for (int u = 0; u < Kernel::packs; ++u)
#pragma unroll
            for (int i = 0; i < all; i += each) {
                const int word = 32 * (u * all + i); // from the thread's first on
                const i32 distance = slot_of(u, 0) * 32 + Shares::distance(i);
                const u32* at = source + word; // defect: words
                if (!Place::fills) {
                    if (word + own >= count) continue;       // defect: words of a part
                    at = source + smaller(word, last - own); // defect: beyond a row
                }
                Memory::template copy<each>(to, distance, at);
            }
    }
    /// The bytes from the beginning of an element's word to the element.
    template <class T> GRIDFOLD_FN static u32 before_word(const T* p) { return sizeof(T) < 4 ? u32(u64(p) % 4) : 0; }
    /// Word number `word` from the one on that the first of `elements` elements is in. The nearest of these elements
    /// takes the place of others: users' maps may not end on other values.
    template <class T> GRIDFOLD_FN static u32 part_of_word(const T* first, i32 moved, i32 word, i32 elements) {
        constexpr int size = sizeof(T), each = 4 / size;
        u32 all = 0;
#pragma unroll
        for (int n = 0; n < each; ++n) {
            const i32 element = word * each - moved / size + n; // defect: part of a word
            const T nearest = first[larger_of(smaller(element, elements - 1), 0)];
            all |= (u32(nearest) & 0xffffffffu >> (32 - 8 * size)) << 8 * size * n;
        }
        return all;
    }
    /// Moves elements that are smaller than words from where copy_words() has copied them to where they belong. The
    /// slab's last word, which is not copied if it has other elements, is loaded; what is behind it is mapped, too, and
    /// gets its elements.
    template <class Place, class T>
    GRIDFOLD_FN void align_packs(const Place& place, const T* p, int first, i32 from, i32 turn) const {
        using Shares = WarpWords<T>;
        constexpr int all = Shares::all, batch = Place::fills ? smaller(Kernel::packs, 4) : 1;
        constexpr i32 size = sizeof(T), most = 32 * Kernel::packs * Kernel::width;
        if constexpr (size < 4) {
            static_assert(all == Shares::pack, "the words of neighbouring threads are neighbours");
            if (!place.is_there(0)) return;
            const T* const begin = place.warp_elements(p, from);
            const i32 moved = i32(before_word(begin)), elements = Place::fills ? most : place.warp_count(from);
            const i32 words = (moved + elements * size) / 4; // that are copied
            if (elements <= 0 || (moved == 0 && elements % Kernel::width == 0)) return;
            const u32 part = part_of_word(begin, moved, words, elements);
            const i32 own_word = lane * all;
            const auto get = [&](u32& word, int u, int i) { // number i from the thread's first of pack u on
                const i32 number = 32 * u * all + own_word + i;
                if (Place::fills ? number < 32 * Kernel::packs * all : number < words) // defect: next word
                    of_warp.get(word_of(slot_of(u, turn) + first, all) +
                                    (own_word + i < 32 * all ? i : i + slot_of(1, 0) * 32 - 32 * all),
                                reinterpret_cast<u32(&)[1]>(word));
                else
                    word = part;
            };
#pragma unroll(Place::fills ? Kernel::packs : 1)
            for (int b = 0; b < Kernel::packs; b += batch) {
                Pack<T, Kernel::width> own[batch];
                u32 next[batch];
#pragma unroll
                for (int u = 0; u < batch; ++u) {
                    if constexpr (Place::fills)
                        get_pack(own[u], slot_of(b + u, turn) + first);
                    else
#pragma unroll
                        for (int i = 0; i < all; ++i) get(own[u].word[i], b + u, i);
                    get(next[u], b + u, all);
                }
                reconverge(); // all have got their words
#pragma unroll
                for (int u = 0; u < batch; ++u) {
                    const i32 at = (32 * (b + u) + lane) * Kernel::width; // the pack's first element
                    if (!Place::fills && at >= elements) continue;
#pragma unroll
                    for (int i = 0; i < all; ++i)
                        own[u].word[i] = funnel_shift_right(own[u].word[i], i + 1 < all ? own[u].word[i + 1] : next[u],
                                                            8 * u32(moved));
                    put_pack(own[u], slot_of(b + u, turn) + first);
                }
            }
        }
    }
    GRIDFOLD_FN static i32 slot_of(int pack, i32 turn) { return (turn * Kernel::packs + pack) * Kernel::held_words; }
    /// The thread's first word of `words` words. Neighbouring threads have neighbouring words.
    GRIDFOLD_FN i32 word_of(i32 place, i32 words) const { return place * 32 + lane * words; }
    template <class T, int N> GRIDFOLD_FN void get_pack(Pack<T, N>& of, i32 place) const {
        get_interleaved(of, of_warp, 0, place, lane);
    }
    template <class T, int N> GRIDFOLD_FN void put_pack(const Pack<T, N>& of, i32 place) const {
        put_interleaved(of, of_warp, 0, place, lane);
    }
};

} // namespace GRIDFOLD_NAMESPACE
