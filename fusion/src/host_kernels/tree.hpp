// The pairwise tree of lanes in vector registers: lanes are combined without going through memory.
//
// Lanes 2i and 2i + 1 are neighbours in a vector. Two vectors are split into their even and odd lanes within 16-byte
// parts, which takes one instruction each; after two levels one permutation restores the order of lanes.
#pragma once

#include <utility>

#include <gridfold/ops/host/lanes.hpp>
#include <gridfold/ops/host/sources.hpp>

// Before a loop of as many iterations as a vector has elements: gcc would unroll it before vectorising it. GUARDED:
// some iterations may not read their elements; clang takes independent iterations for safe to run.
#if defined(__clang__)
#define GRIDFOLD_ONE_VECTOR GRIDFOLD_INDEPENDENT
#define GRIDFOLD_ONE_GUARDED_VECTOR
#else
#define GRIDFOLD_ONE_VECTOR _Pragma("GCC ivdep") _Pragma("GCC unroll 1")
#define GRIDFOLD_ONE_GUARDED_VECTOR GRIDFOLD_ONE_VECTOR
#endif

// Lets two instructions that take a vector share its load. gcc would load it for each, from two lines where the
// elements are not aligned.
#if defined(__x86_64__)
#define GRIDFOLD_KEEP_IN_REGISTER(vector) __asm__("" : "+v"(vector))
#else
#define GRIDFOLD_KEEP_IN_REGISTER(vector)
#endif

namespace GRIDFOLD_NAMESPACE::kernels {

#if defined(__AVX512F__)
inline constexpr std::size_t vector_bytes = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t vector_bytes = 32;
#else
inline constexpr std::size_t vector_bytes = 16;
#endif

/// A number in a vector, by its size; shuffles change no bits.
template <std::size_t bytes> struct NumberOf;
template <> struct NumberOf<4> {
    using type = f32;
};
template <> struct NumberOf<8> {
    using type = f64;
};

/// The tree of the lanes of monoid M, whose State is some numbers of number_bytes each. `adds`:
/// accumulating and combining only add to it.
template <class M, std::size_t number_bytes, bool adds = false> struct Tree {
    using State = typename M::State;
    static constexpr int fields = field_count<State>();
    static_assert(fields > 0 && sizeof(State) == number_bytes * static_cast<std::size_t>(fields));
    static constexpr std::size_t width = vector_bytes / number_bytes; ///< the lanes of a vector

    /// The State of a lane without elements. −0 + x is x, without an instruction; a sum's value() is +0 where all
    /// elements are −0, and moments have a first difference of +0.
    GRIDFOLD_FN static State start() {
        State s = M::identity();
        if constexpr (adds)
            with_fields<fields>(
                s, [](auto&... number) __attribute__((always_inline)) { ((number = -0.0F), ...); });
        return s;
    }
    /// The elements of E, or numbers, that fill a vector of the smaller type, and the lanes that are set before they
    /// are combined.
    template <class E>
    static constexpr std::size_t step = vector_bytes / (sizeof(E) < number_bytes ? sizeof(E) : number_bytes);
    template <class E> static constexpr std::size_t group = step<E> < 4 * width ? 4 * width : step<E>;

    /// Combines lanes [first, first + 4 * width) into lanes [at, at + width) of `to`, which may be the same memory up
    /// to `first`.
    template <std::size_t from_count, std::size_t to_count>
    GRIDFOLD_FN static void quarter(Lanes<State, from_count> from, std::size_t first, Lanes<State, to_count> to,
                                    std::size_t at) {
        alignas(64) char half_memory[fields * 2 * vector_bytes], out_memory[fields * vector_bytes];
        const Lanes<State, 2 * width> half{half_memory};
        const Lanes<State, width> out{out_memory};
        halve<0>(from, first, half, 0);
        halve<0>(from, first + 2 * width, half, width);
        halve<1>(half, 0, out, 0);
#pragma GCC unroll 8
        for (int field = 0; field < fields; ++field)
            restore(plane(out, field), plane(to, field) + at * number_bytes, std::make_index_sequence<width>());
    }

    /// Combines the first n lanes, a power of two. Destroys the lanes.
    template <std::size_t count> GRIDFOLD_FN static State combine(Lanes<State, count> lanes, std::size_t n) {
        for (; n >= 4 * width; n /= 4)
            for (std::size_t begin = 0; begin < n; begin += 4 * width) quarter(lanes, begin, lanes, begin / 4);
        return combine_rest<2 * width>(lanes, n);
    }

    // Short rows ------------------------------------------------------------------------------------------------------

    /// The lanes that are combined at a time: with several numbers each, they stay in the first-level cache.
    static constexpr std::size_t lanes_at_once = 512;
    using Some = Lanes<State, lanes_at_once>;

    /// Calls finish(r, State) with the State of each of `rows` rows of n elements of type E. of_row(r) is a function
    /// that accumulates element i in a State: (s, i). If the rows `follow` each other, an element may be asked of the
    /// rows before its own.
    template <class E, bool follow, class OfRow, class Finish>
    GRIDFOLD_FN static void fold_rows(const ShortRows& in, OfRow of_row, Finish finish) {
        const std::size_t rows = in.rows, n = in.n;
        alignas(64) char memory[sizeof(State) * lanes_at_once];
        const Some some{memory};
        if (n > lane_count) {
            PrefetchInSteps ahead(in, rows * (lane_count / group<E>));
            for (std::size_t row = 0; row < rows; ++row) {
                fold_slabs<E>(some, of_row(row), n, ahead);
                combine_runs(some, 1, lane_count / 4);
                finish(row, some.load(0));
            }
            return;
        }
        std::size_t lanes = 1; // of a row
        while (lanes < n) lanes *= 2;
        const bool quarters = lanes >= group<E> || (follow && lanes == n && n >= 4);
        const std::size_t left = quarters ? lanes / 4 : lanes, most = lanes_at_once / left;
        PrefetchInSteps ahead(in, quarters ? (rows * n + group<E> - 1) / group<E> : rows);
        std::size_t count = 0;
        for (std::size_t row = 0; row < rows; row += count) {
            count = most < rows - row ? most : rows - row;
            if (quarters && follow && lanes == n)
                start_quarters<E>(some, 0, of_row(row), count * n, count * n, ahead);
            else
                for (std::size_t r = 0; r < count; ++r)
                    if (quarters) {
                        start_quarters<E>(some, r * left, of_row(row + r), n, lanes, ahead);
                    } else {
                        ahead.step();
                        start_lanes(some, r * left, of_row(row + r), n, lanes);
                    }
            combine_runs(some, count, left);
            for (std::size_t r = 0; r < count; ++r) finish(row + r, some.load(r));
        }
    }

    /// Combines each of `runs` runs of n lanes, a power of two: run r's State is then lane r. Combines what follows
    /// them in their last vectors, too.
    GRIDFOLD_FN static void combine_runs(Some lanes, std::size_t runs, std::size_t n) {
        for (; n >= 4; n /= 4)
            for (std::size_t begin = 0; begin < runs * n; begin += 4 * width) quarter(lanes, begin, lanes, begin / 4);
        if (n == 2)
            for (std::size_t begin = 0; begin < runs * n; begin += 2 * width)
                halve<in_order>(lanes, begin, lanes, begin / 2);
    }

private:
    /// Sets `lanes` lanes, of which those from n on are empty, and combines each four into one, from lane `to` on.
    template <class E, class Accumulate>
    GRIDFOLD_FN static void start_quarters(Some some, std::size_t to, Accumulate accumulate, std::size_t n,
                                           std::size_t lanes, PrefetchInSteps& ahead) {
        std::size_t begin = 0;
        for (; begin + group<E> <= n; begin += group<E>) {
            ahead.step();
            quarter_group<E>(some, to, begin, accumulate);
        }
        if (begin < n) {
            quarter_group<E, true>(some, to, begin, accumulate, n - begin);
            begin += group<E>;
        }
        for (std::size_t i = begin / 4; i < lanes / 4; ++i) some.store(to + i, start());
    }
    /// Sets lanes [begin, begin + group) and combines each four into one. `guarded`: only the first `left` have an
    /// element.
    template <class E, bool guarded = false, class Accumulate>
    GRIDFOLD_FN static void quarter_group(Some some, std::size_t to, std::size_t begin, Accumulate accumulate,
                                          [[maybe_unused]] std::size_t left = group<E>) {
        alignas(64) char memory[sizeof(State) * group<E>];
        const Lanes<State, group<E>> lanes{memory};
        const u32 end = static_cast<u32>(left); // defect: last group
        const auto set = [&](u32 i) __attribute__((always_inline)) {
            State s = start();
            if (!guarded || i < end) accumulate(s, begin + i);
            lanes.store(i, s);
        };
#pragma GCC unroll 16
        for (u32 k = 0; k < group<E>; k += step<E>) {
            if constexpr (guarded) {
                GRIDFOLD_ONE_GUARDED_VECTOR
                for (u32 i = 0; i < step<E>; ++i) set(k + i);
            } else {
                GRIDFOLD_ONE_VECTOR
                for (u32 i = 0; i < step<E>; ++i) set(k + i);
            }
        }
#pragma GCC unroll 4
        for (std::size_t first = 0; first < group<E>; first += 4 * width)
            quarter(lanes, first, some, to + (begin + first) / 4);
    }
    /// Folds the slabs of a row and combines each four of its lanes into one. Slabs are read one after the other, as
    /// the hardware fetches them, or two at once if they are prefetched.
    template <class E, class Accumulate>
    GRIDFOLD_FN static void fold_slabs(Some some, Accumulate accumulate, std::size_t n, PrefetchInSteps& ahead) {
        if (n == 2 * lane_count && ahead.share > 0)
            return start_quarters<E>(
                some, 0,
                [&](State & s, std::size_t i) __attribute__((always_inline)) {
                    accumulate(s, i);
                    accumulate(s, lane_count + i);
                },
                lane_count, lane_count, ahead);
        alignas(64) char memory[sizeof(State) * lane_count];
        const Lanes<State, lane_count> lanes{memory};
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < lane_count; ++i) {
            State s = start();
            accumulate(s, i);
            lanes.store(i, s);
        }
        std::size_t slab = lane_count;
        for (; slab + lane_count < n; slab += lane_count) add_slab(lanes, accumulate, slab, lane_count);
        if (slab + lane_count > n) {
            add_slab(lanes, accumulate, slab, n - slab); // defect: last slab
            for (std::size_t begin = 0; begin < lane_count; begin += 4 * width) {
                ahead.step();
                quarter(lanes, begin, some, begin / 4);
            }
        } else {
            start_quarters<E>(
                some, 0,
                [&](State & s, std::size_t i) __attribute__((always_inline)) {
                    s = lanes.load(i);
                    accumulate(s, slab + i);
                },
                lane_count, lane_count, ahead);
        }
    }
    template <class Accumulate>
    GRIDFOLD_FN static void add_slab(Lanes<State, lane_count> lanes, Accumulate accumulate, std::size_t slab,
                                     std::size_t n) {
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < n; ++i)
            lanes.update(
                i, [&](State & s) __attribute__((always_inline)) { accumulate(s, slab + i); });
    }
    /// Sets lanes [to, to + lanes), of which those from to + n on are empty.
    template <std::size_t count, class Accumulate>
    GRIDFOLD_FN static void start_lanes(Lanes<State, count> some, std::size_t to, Accumulate accumulate, std::size_t n,
                                        std::size_t lanes) {
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < n; ++i) {
            State s = start();
            accumulate(s, i);
            some.store(to + i, s);
        }
        for (std::size_t i = n; i < lanes; ++i) some.store(to + i, start());
    }

    using Number = typename NumberOf<number_bytes>::type;
    using Vector __attribute__((vector_size(vector_bytes))) = Number;
    static_assert(sizeof(Vector) == vector_bytes);
    static constexpr std::size_t part = 16 / number_bytes; ///< the lanes of a 16-byte part

    /// combine() of at most `most` lanes, without loops: gcc would vectorise loops of unknown, few iterations.
    template <std::size_t most, std::size_t count>
    GRIDFOLD_FN static State combine_rest(Lanes<State, count> lanes, std::size_t n) {
        if constexpr (most > 1)
            if (n < most) return combine_rest<most / 2>(lanes, n);
        return combined<most>(lanes, 0);
    }
    template <std::size_t n, std::size_t count>
    GRIDFOLD_FN static State combined(Lanes<State, count> lanes, std::size_t first) {
        if constexpr (n == 1) {
            return lanes.load(first);
        } else {
            State s = combined<n / 2>(lanes, first);
            M::combine(s, combined<n / 2>(lanes, first + n / 2));
            return s;
        }
    }

    template <std::size_t count> GRIDFOLD_FN static char* plane(Lanes<State, count> lanes, int field) {
        return lanes.base + static_cast<std::size_t>(field) * number_bytes * count;
    }

    static constexpr int in_order = 2; ///< the level that needs no restore()

    /// The position in two vectors of the even (odd = 0) or odd lane that comes to position p: on the first level
    /// within parts; on the second, too, if a part holds two pairs, else from even or odd parts.
    static constexpr std::size_t source(int level, std::size_t p, std::size_t odd) {
        if (level == in_order) return 2 * p + odd;
        if (level == 0 || part >= 4 || width == part)
            return p / part * part + (p % part < part / 2 ? 0 : width) + p % (part / 2) * 2 + odd;
        constexpr std::size_t half = width / part > 1 ? width / part / 2 : 1;
        return (p / part < half ? 0 : width) + (p / part % half * 2 + odd) * part + p % part;
    }
    /// The position of lane k after both levels.
    static constexpr std::size_t position(std::size_t k) {
        if (width < 4) return k;
        constexpr std::size_t each = width < 4 ? 1 : width / 4;
        const std::size_t vector = k / each, lane = k % each; // of the four vectors
        return part >= 4 ? lane * 4 + vector : vector / 2 * (width / 2) + lane * 2 + vector % 2;
    }

    /// One level: two vectors become one.
    template <int level, std::size_t from_count, std::size_t to_count>
    GRIDFOLD_FN static void halve(Lanes<State, from_count> from, std::size_t first, Lanes<State, to_count> to,
                                  std::size_t at) {
        alignas(64) char evens[fields * vector_bytes], odds[fields * vector_bytes];
        const Lanes<State, width> even{evens}, odd{odds};
#pragma GCC unroll 8
        for (int field = 0; field < fields; ++field)
            split<level>(plane(from, field) + first * number_bytes, plane(even, field), plane(odd, field),
                         std::make_index_sequence<width>());
        GRIDFOLD_ONE_VECTOR
        for (std::size_t i = 0; i < width; ++i) {
            State s = even.load(i);
            M::combine(s, odd.load(i));
            to.store(at + i, s);
        }
    }
    template <int level, std::size_t... p>
    GRIDFOLD_FN static void split(const char* two, char* even, char* odd, std::index_sequence<p...>) {
        Vector a, b;
        __builtin_memcpy(&a, two, vector_bytes);
        __builtin_memcpy(&b, two + vector_bytes, vector_bytes);
        GRIDFOLD_KEEP_IN_REGISTER(a);
        GRIDFOLD_KEEP_IN_REGISTER(b);
        const Vector e = __builtin_shufflevector(a, b, source(level, p, 0)...);
        const Vector o = __builtin_shufflevector(a, b, source(level, p, 1)...);
        __builtin_memcpy(even, &e, vector_bytes);
        __builtin_memcpy(odd, &o, vector_bytes);
    }
    template <std::size_t... k> GRIDFOLD_FN static void restore(const char* from, char* to, std::index_sequence<k...>) {
        Vector a;
        __builtin_memcpy(&a, from, vector_bytes);
        a = __builtin_shufflevector(a, a, position(k)...); // defect: position
        __builtin_memcpy(to, &a, vector_bytes);
    }
};

} // namespace GRIDFOLD_NAMESPACE::kernels
