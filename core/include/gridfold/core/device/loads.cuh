// A thread's reads and writes of a slab: packs, windows of unaligned arrays, single elements, and elements gathered by
// coordinates. Depends on memory.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// N consecutive elements of T in their memory form. One instruction moves `bytes` of it, at most 16.
template <class T, int N> union Pack {
    static constexpr u32 bytes = sizeof(T) * N >= 16 ? 16 : sizeof(T) * N;
    T element[N];
    u32 word[(sizeof(T) * N + 3) / 4];
    GRIDFOLD_FN Pack() {}
    GRIDFOLD_FN T& operator[](int n) { return element[n]; }
    GRIDFOLD_FN T operator[](int n) const { return element[n]; }
};

/// Element n of a pack of bfloat16. A compiler takes three instructions for the upper half of a word as a u16.
template <int N> GRIDFOLD_FN f32 bf16_of(const Pack<u16, N>& pack, int n) {
    if constexpr (N % 2 == 0)
        return from_bits(n % 2 == 0 ? pack.word[n / 2] << 16 : pack.word[n / 2] & 0xffff0000u);
    else
        return bf16_to_f32(pack[n]);
}

/// A pack in shared memory beside those of a warp's other threads: neighbouring threads have neighbouring words, as
/// many at a time as one access moves. `first`: the warp's first word; `place`: the pack's first among a thread's.
template <class Memory, class T, int N>
GRIDFOLD_FN void get_interleaved(Pack<T, N>& of, const Memory& memory, i32 first, i32 place, i32 thread) {
    constexpr int words = Pack<T, N>::bytes / 4;
    static_assert(words > 0, "a pack is whole words");
#pragma unroll
    for (int i = 0; i < int(sizeof(T)) * N / 4; i += words)
        memory.get(first + (place + i) * 32 + thread * words, reinterpret_cast<u32(&)[words]>(of.word[i]));
}
template <class Memory, class T, int N>
GRIDFOLD_FN void put_interleaved(const Pack<T, N>& of, const Memory& memory, i32 first, i32 place, i32 thread) {
    constexpr int words = Pack<T, N>::bytes / 4;
    static_assert(words > 0, "a pack is whole words");
#pragma unroll
    for (int i = 0; i < int(sizeof(T)) * N / 4; i += words)
        memory.put(first + (place + i) * 32 + thread * words, reinterpret_cast<const u32(&)[words]>(of.word[i]));
}

/// N elements to be stored as Half, HalfOfF16 or HalfOfBf16: one instruction converts two.
template <class Half, int N> struct HalfPack {
    f32 element[N];
    GRIDFOLD_FN f32& operator[](int n) { return element[n]; }
    GRIDFOLD_FN u16 operator[](int n) const { return Half::one(element[n]); }
};

/// Reads elements [0, count) of p and no others. `aligned`: p is a multiple of Pack::bytes; otherwise elements are read
/// one at a time. `whole`: count is N.
template <bool aligned, bool whole, class T, int N> GRIDFOLD_FN void load_pack(Pack<T, N>& to, const T* p, int count) {
    constexpr u32 bytes = Pack<T, N>::bytes;
    if constexpr (aligned && whole && bytes >= 4) {
        constexpr int words = bytes / 4;
#pragma unroll
        for (u32 i = 0; i < sizeof(T) * N / bytes; ++i)
            load_bytes(reinterpret_cast<u32(&)[words]>(to.word[i * words]),
                       reinterpret_cast<const char*>(p) + i * bytes); // defect: load pieces
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i)
            if (whole || i < count) to.element[i] = p[i];
    }
}

/// Reads N elements of p in packs if `wanted`; p is then a multiple of Pack::bytes. Requires Pack::bytes >= 4.
template <class T, int N> GRIDFOLD_FN void load_pack_if(bool wanted, Pack<T, N>& to, const T* p) {
    constexpr u32 bytes = Pack<T, N>::bytes;
    constexpr int words = bytes / 4;
#pragma unroll
    for (u32 i = 0; i < sizeof(T) * N / bytes; ++i)
        load_bytes_if(wanted, reinterpret_cast<u32(&)[words]>(to.word[i * words]), // defect: load if
                      reinterpret_cast<const char*>(p) + i * bytes);
}

/// The aligned memory around N consecutive elements of T at any address: one more piece of Pack::bytes than they fill;
/// the first piece begins at or before the first element.
template <class T, int N> struct Window {
    static constexpr int piece = Pack<T, N>::bytes / 4; // words
    static constexpr int words = int(sizeof(T)) * N / 4 + piece;
    u32 word[words];
};

/// Reads the window of the elements from p on: all its bytes, so the memory around the elements must be readable.
template <class T, int N> GRIDFOLD_FN void load_window(Window<T, N>& to, const T* p) {
    using Own = Window<T, N>;
    constexpr u64 bytes = Pack<T, N>::bytes;
    const char* const from = reinterpret_cast<const char*>(p) - u64(p) % bytes;
#pragma unroll
    for (int i = 0; i < Own::words; i += Own::piece)
        load_bytes(reinterpret_cast<u32(&)[Own::piece]>(to.word[i]), from + 4 * i);
}

/// Moves a window's words down by `words` if `moves`. A variable index would spill the window to local memory.
template <int words, class T, int N> GRIDFOLD_FN void move_down(Window<T, N>& window, bool moves) {
#pragma unroll
    for (int i = 0; i + words < Window<T, N>::words; ++i)
        window.word[i] = moves ? window.word[i + words] : window.word[i];
}

/// Extracts the elements of the window that was loaded for p.
template <class T, int N> GRIDFOLD_FN void cut_out(Pack<T, N>& to, Window<T, N> window, const T* p) {
    constexpr int piece = Window<T, N>::piece;
    const u32 offset = u32(u64(p)) % Pack<T, N>::bytes;
    if constexpr (piece > 2) move_down<2>(window, (offset & 8) != 0); // defect: cut two words
    if constexpr (piece > 1) move_down<1>(window, (offset & 4) != 0);
    const u32 bits = sizeof(T) < 4 ? 8 * (offset % 4) : 0;
#pragma unroll
    for (int i = 0; i < Window<T, N>::words - piece; ++i)
        to.word[i] = funnel_shift_right(window.word[i], window.word[i + 1], bits); // defect: cut words
}

/// Writes elements [0, count) of p, one at a time.
template <bool whole, int N, class T, class Elements>
GRIDFOLD_FN void store_elements(T* p, const Elements& from, int count) {
#pragma unroll
    for (int i = 0; i < N; ++i)
        if (whole || i < count) p[i] = from[i]; // defect: store elements
}

/// Writes elements [0, count) of p; `aligned` and `whole` as in load_pack.
template <bool whole, class T, int N>
GRIDFOLD_FN void store_pack(T* p, const Pack<T, N>& from, int count, bool aligned) {
    constexpr u32 bytes = Pack<T, N>::bytes;
    if constexpr (whole && bytes >= 4)
        if (aligned) {
            constexpr int words = bytes / 4;
#pragma unroll
            for (u32 i = 0; i < sizeof(T) * N / bytes; ++i)
                store_bytes(reinterpret_cast<char*>(p) + i * bytes, // defect: store pieces
                            reinterpret_cast<const u32(&)[words]>(from.word[i * words]));
            return;
        }
    store_elements<whole, N>(p, from.element, count);
}

/// Converts elements that are to be stored to their memory form.
template <class Half, int N> GRIDFOLD_FN void to_memory(Pack<u16, N>& to, const HalfPack<Half, N>& from) {
    static_assert(N % 2 == 0, "one instruction converts two");
#pragma unroll
    for (int i = 0; i < N; i += 2) to.word[i / 2] = Half::two(from.element[i], from.element[i + 1]);
}

/// Not 0 if the elements of two packs differ in memory.
template <class Half, int N> GRIDFOLD_FN u32 differing_bits(const HalfPack<Half, N>& a, const HalfPack<Half, N>& b) {
    u32 differing = 0;
    if constexpr (N % 2 == 0) {
        Pack<u16, N> of_a, of_b;
        to_memory(of_a, a);
        to_memory(of_b, b);
#pragma unroll
        for (int i = 0; i < N / 2; ++i) differing |= of_a.word[i] ^ of_b.word[i]; // defect: differing bits
    } else {
#pragma unroll
        for (int n = 0; n < N; ++n) differing |= u32(a[n] ^ b[n]); // defect: differing elements
    }
    return differing;
}

template <bool whole, class Half, int N>
GRIDFOLD_FN void store_pack(u16* p, const HalfPack<Half, N>& from, int count, bool aligned) {
    if constexpr (whole && N % 2 == 0) {
        Pack<u16, N> halves;
        to_memory(halves, from);
        store_pack<true>(p, halves, count, aligned);
    } else {
        store_elements<whole, N>(p, from, count);
    }
}

/// The coordinates of an element of a row-major domain, walked in increasing order. The elements of a row of the last
/// dims, from `inner` on, are numbered by themselves: a walk does not leave its row.
template <int Rank, int inner = 0> struct Coordinates {
    i64 at[Rank];
    const i64 (&extent)[Rank];

    GRIDFOLD_FN Coordinates(i64 flat, const i64 (&extents)[Rank]) : extent(extents) { split<0, Rank>(flat); }
    GRIDFOLD_FN Coordinates(i64 row, i64 of_row, const i64 (&extents)[Rank]) : extent(extents) {
        if constexpr (inner > 0) split<0, inner>(row);
        if constexpr (inner < Rank) split<inner, Rank>(of_row);
    }
    GRIDFOLD_FN void advance() {
        ++at[Rank - 1];
#pragma unroll
        for (int d = Rank - 1; d > inner; --d)
            if (at[d] == extent[d]) { // defect: carry
                at[d] = 0;
                ++at[d - 1];
            }
    }

private:
    /// Sets coordinates [first, end) of element number `flat` of these dims.
    template <int first, int end> GRIDFOLD_FN void split(i64 flat) {
#pragma unroll
        for (int d = end - 1; d > first; --d) {
            // A 64-bit division costs five times a 32-bit one.
            const bool narrow = ((u64(flat) | u64(extent[d])) >> 32) == 0;
            const i64 quotient = narrow ? i64(u32(flat) / u32(extent[d])) : flat / extent[d];
            at[d] = flat - quotient * extent[d]; // defect: remainder
            flat = quotient;
        }
        at[first] = flat;
    }
};

/// The coordinate inside [0, extent) that is nearest, or where that from the other end on is.
GRIDFOLD_FN i64 clamped(i64 at, i64 extent) { return at < 0 ? 0 : at < extent ? at : extent - 1; }
GRIDFOLD_FN i64 wrapped(i64 at, i64 extent) {
    if (0 <= at && at < extent) return at; // without a division
    const i64 rest = at % extent;
    return rest < 0 ? rest + extent : rest;
}

/// How a thread reads its elements of a slab.
enum class Access {
    elements, ///< one at a time
    packs,    ///< in whole packs, of aligned arrays
    windows   ///< in aligned packs that cover the elements and some neighbours of the slab
};

/// True if p can be accessed in whole packs.
template <int width, class T> GRIDFOLD_FN bool is_aligned(const T* p) {
    return u64(p) % Pack<T, width>::bytes == 0; // defect: aligned
}
template <class Kernel> GRIDFOLD_FN bool loads_are_aligned(const Kernel& kernel) {
    bool all = true;
    Kernel::each_array([&](auto* p) { all = all && is_aligned<Kernel::width>(p); }, kernel);
    return all; // defect: loads aligned
}
template <class Kernel> GRIDFOLD_FN bool stores_are_aligned(const Kernel& kernel) {
    bool all = true;
    Kernel::each_store([&](auto* p) { all = all && is_aligned<Kernel::width>(p); }, kernel);
    return all; // defect: stores aligned
}

/// The number of elements before an array's first whole pack.
template <int width, class T> GRIDFOLD_FN i64 elements_before_packs(const T* p) {
    return i64((0 - u64(p)) % Pack<T, width>::bytes / sizeof(T));
}

/// Gathers by coordinates `count` elements; whole: count == width.
template <bool whole, class Kernel, class At>
GRIDFOLD_FN void gather_from(const Kernel& kernel, typename Kernel::Loads& loads, At coordinates, i32 count) {
    constexpr bool packs = whole && Kernel::gathers_packs;
    if constexpr (packs) kernel.gather_packs(loads, coordinates.at);
#pragma unroll
    for (int n = 0; n < Kernel::width; ++n) {
        if constexpr (packs)
            kernel.gather_others(loads, coordinates.at, n);
        else
            kernel.gather(loads, coordinates.at, n);       // the last again for those that are not there
        if (whole || n + 1 < count) coordinates.advance(); // defect: last coordinates
    }
}
/// The same from element number `first` of the domain on.
template <bool whole, class Kernel>
GRIDFOLD_FN void gather(const Kernel& kernel, typename Kernel::Loads& loads, i64 first, i32 count) {
    if constexpr (Kernel::rank > 0)
        if (whole || count > 0)
            gather_from<whole>(kernel, loads, Coordinates<Kernel::rank>(first, kernel.extents), count);
}

/// Writes by coordinates `count` elements from number `first` on; whole: count == width.
template <bool whole, class Kernel>
GRIDFOLD_FN void scatter(const Kernel& kernel, const typename Kernel::Stored& stored, i64 first, i32 count) {
    if constexpr (Kernel::scatters) {
        Coordinates<Kernel::rank> coordinates(first, kernel.extents);
#pragma unroll
        for (int n = 0; n < Kernel::width; ++n) {
            if (!whole && n >= count) break;
            kernel.scatter(stored, coordinates.at, n);
            coordinates.advance();
        }
    }
}

/// Reads `count` elements from number `first` on; packs: 16 bytes at a time; whole: count == width.
template <bool packs, bool whole, class Kernel>
GRIDFOLD_FN void load(const Kernel& kernel, typename Kernel::Loads& loads, i64 first, i32 count) {
    Kernel::each_array([&](auto* p, auto& pack) { load_pack<packs, whole>(pack, p + first, count); }, kernel, loads);
    gather<whole>(kernel, loads, first, count);
}
/// Reads `width` elements in packs if wanted.
template <class Kernel>
GRIDFOLD_FN void load_if(bool wanted, const Kernel& kernel, typename Kernel::Loads& loads, i64 first) {
    Kernel::each_array([&](auto* p, auto& pack) { load_pack_if(wanted, pack, p + first); }, kernel, loads);
}
/// Reads `width` elements that are `apart` from each other.
template <class Kernel> GRIDFOLD_FN void load_apart(const Kernel& kernel, typename Kernel::Loads& loads, i64 first) {
    Kernel::each_array(
        [&](auto* p, auto& pack) {
#pragma unroll
            for (int n = 0; n < Kernel::width; ++n) pack[n] = p[first + n * Kernel::apart]; // defect: apart
        },
        kernel, loads);
}
/// Reads the windows of `width` elements from number `first` on, and gathers their elements read by coordinates.
template <class Kernel>
GRIDFOLD_FN void load_windows(const Kernel& kernel, typename Kernel::Windows& windows, typename Kernel::Loads& loads,
                              i64 first) {
    Kernel::each_array([&](auto* p, auto& window) { load_window(window, p + first); }, kernel, windows);
    gather<true>(kernel, loads, first, Kernel::width);
}
/// Extracts the elements from their windows.
template <class Kernel>
GRIDFOLD_FN void realign(const Kernel& kernel, typename Kernel::Loads& loads, const typename Kernel::Windows& windows) {
    Kernel::each_array([&](auto* p, auto& pack, auto& window) { cut_out(pack, window, p); }, kernel, loads, windows);
}
/// Prefetches elements into the L2.
template <class Kernel> GRIDFOLD_FN void prefetch_elements(const Kernel& kernel, i64 first, u32 count) {
    Kernel::each_array([&](auto* p) { prefetch(p + first, count * u32(sizeof(*p))); }, kernel);
}

/// Begins the part at the first whole pack of its only array: earlier elements get negative numbers.
template <class Kernel> GRIDFOLD_FN void shift(Kernel& kernel) {
    Kernel::each_array(
        [&](auto*& p) {
            kernel.skipped = smaller(elements_before_packs<Kernel::width>(p), kernel.elements); // defect: few elements
            p += kernel.skipped;
        },
        kernel);
    kernel.elements -= kernel.skipped; // defect: elements left
    kernel.aligned = true;
}

} // namespace GRIDFOLD_NAMESPACE
