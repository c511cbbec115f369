// The pairwise tree of lanes in vector registers: lanes are combined without going through memory.
//
// Lanes 2i and 2i + 1 are neighbours in a vector. Two vectors are split into their even and odd lanes within 16-byte
// parts, which takes one instruction each; after two levels one permutation restores the order of lanes.
#pragma once

#include <utility>

#include <gridfold/ops/host/lanes.hpp>

// Before a loop of as many iterations as a vector has elements: gcc would unroll it before vectorising it.
#if defined(__clang__)
#define GRIDFOLD_ONE_VECTOR GRIDFOLD_INDEPENDENT
#else
#define GRIDFOLD_ONE_VECTOR _Pragma("GCC ivdep") _Pragma("GCC unroll 1")
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

/// The tree of the lanes of monoid M, whose State is some numbers of number_bytes each.
template <class M, std::size_t number_bytes> struct Tree {
    using State = typename M::State;
    static constexpr int fields = field_count<State>();
    static_assert(fields > 0 && sizeof(State) == number_bytes * static_cast<std::size_t>(fields));
    static constexpr std::size_t width = vector_bytes / number_bytes; ///< the lanes of a vector

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

private:
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

    /// The position in two vectors of the even (odd = 0) or odd lane that comes to position p: on the first level
    /// within parts; on the second, too, if a part holds two pairs, else from even or odd parts.
    static constexpr std::size_t source(int level, std::size_t p, std::size_t odd) {
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
