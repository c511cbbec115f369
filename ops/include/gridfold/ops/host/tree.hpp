// The pairwise tree of lanes in vector registers: lanes are folded and combined without going through memory.
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

/// True for a State of one number of 4 or 8 bytes.
template <class State> consteval bool has_one_number() {
    return field_count<State>() == 1 && (sizeof(State) == 4 || sizeof(State) == 8);
}

template <class State> GRIDFOLD_FN auto number_of(State s) {
    auto& [number] = s;
    return number;
}
/// A vector of the numbers of States.
template <class State> struct VectorOf {
    using Number = decltype(number_of(State{}));
    typedef Number type __attribute__((vector_size(vector_bytes)));
};

/// The tree of the lanes of monoid M, whose State has one number. Lanes are set `step` at a time: as many elements of E
/// or numbers as fill a vector of the smaller type.
template <class M, class E> struct Tree {
    using State = typename M::State;
    static constexpr std::size_t width = vector_bytes / sizeof(State); ///< the lanes of a vector
    static constexpr std::size_t step = vector_bytes / (sizeof(E) < sizeof(State) ? sizeof(E) : sizeof(State));
    static constexpr std::size_t group = step < 4 * width ? 4 * width : step; ///< the lanes of one quarter_group()
    using Group = Lanes<State, group>;

    /// Combines a group's lanes until a quarter of them is left: lanes [at, at + group / 4) of `to`.
    template <std::size_t capacity>
    GRIDFOLD_FN static void quarter_group(Group from, Lanes<State, capacity> to, std::size_t at) {
#pragma GCC unroll 4
        for (std::size_t first = 0; first < group; first += 4 * width)
            quarter(from.base + first * sizeof(State), to.base + (at + first / 4) * sizeof(State));
    }

    /// Combines the first n lanes, a power of two. Destroys the lanes.
    template <std::size_t capacity> GRIDFOLD_FN static State combine(Lanes<State, capacity> lanes, std::size_t n) {
        for (; n >= 4 * width; n /= 4)
            for (std::size_t begin = 0; begin < n; begin += 4 * width)
                quarter(lanes.base + begin * sizeof(State), lanes.base + begin / 4 * sizeof(State));
        for (std::size_t half = n / 2; half > 0; half /= 2)
            for (std::size_t i = 0; i < half; ++i) {
                State s = lanes.load(2 * i);
                M::combine(s, lanes.load(2 * i + 1));
                lanes.store(i, s);
            }
        return lanes.load(0);
    }

private:
    using OneVector = Lanes<State, width>;
    static constexpr std::size_t part = 16 / sizeof(State); ///< the lanes of a 16-byte part

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
    template <int level, std::size_t... p>
    GRIDFOLD_FN static void halve(const char* two, char* one, std::index_sequence<p...>) {
        using Vector = typename VectorOf<State>::type;
        Vector a, b;
        __builtin_memcpy(&a, two, vector_bytes);
        __builtin_memcpy(&b, two + vector_bytes, vector_bytes);
        alignas(64) char evens[vector_bytes], odds[vector_bytes];
        const Vector e = __builtin_shufflevector(a, b, source(level, p, 0)...);
        const Vector o = __builtin_shufflevector(a, b, source(level, p, 1)...);
        __builtin_memcpy(evens, &e, vector_bytes);
        __builtin_memcpy(odds, &o, vector_bytes);
        const OneVector even{evens}, odd{odds}, out{one};
        GRIDFOLD_ONE_VECTOR
        for (std::size_t i = 0; i < width; ++i) {
            State s = even.load(i);
            M::combine(s, odd.load(i));
            out.store(i, s);
        }
    }
    template <std::size_t... k> GRIDFOLD_FN static void restore(const char* from, char* to, std::index_sequence<k...>) {
        typename VectorOf<State>::type a;
        __builtin_memcpy(&a, from, vector_bytes);
        a = __builtin_shufflevector(a, a, position(k)...); // defect: position
        __builtin_memcpy(to, &a, vector_bytes);
    }
    /// Four vectors become one. `to` may be `from`.
    GRIDFOLD_FN static void quarter(const char* from, char* to) {
        constexpr auto positions = std::make_index_sequence<width>();
        alignas(64) char half[2 * vector_bytes], out[vector_bytes];
        halve<0>(from, half, positions);
        halve<0>(from + 2 * vector_bytes, half + vector_bytes, positions);
        halve<1>(half, out, positions);
        restore(out, to, positions);
    }
};

} // namespace GRIDFOLD_NAMESPACE::kernels
