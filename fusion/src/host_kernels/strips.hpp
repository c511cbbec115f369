// Loops of elementary functions over strips of elements that fit the first-level cache.
#pragma once

#include "host_kernels/element_types.hpp"

namespace GRIDFOLD_NAMESPACE::kernels {

template <class T> inline constexpr std::size_t strip = 1024 / sizeof(T);

/// Calls f(first, count) for strip after strip, and prefetches the operands of the next but one: where a line takes
/// long to compute, hardware prefetchers do not run ahead of memory. The operands after the last may be those of the
/// next call, as the rows of the tiles of a slab lie one behind the other.
template <class T, class F>
[[gnu::always_inline]] inline void for_strips(std::size_t n, F f, const T* x, const T* y = nullptr) {
    constexpr std::size_t line = 64 / sizeof(T);
    for (std::size_t first = 0; first < n; first += strip<T>) {
        for (std::size_t i = first + 2 * strip<T>; i < first + 3 * strip<T>; i += line) {
            __builtin_prefetch(x + i);
            if (y != nullptr) __builtin_prefetch(y + i);
        }
        f(first, n - first < strip<T> ? n - first : strip<T>);
    }
}

/// f(i) for every i < n ≤ strip, in a loop that vectorises, with two vectors of T an iteration: one's steps fill the
/// waits of the other's. For that the loop also stores numbers half as wide as T, because gcc takes as many elements an
/// iteration as a vector has of the narrowest type.
template <class T, class F> [[gnu::always_inline]] inline void for_pairs_of_vectors(std::size_t n, F f) {
    typename Choose<sizeof(T) == 4, u16, u32>::type narrow[strip<T>];
    GRIDFOLD_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
        f(i);
        narrow[i] = 1;
    }
    asm volatile("" ::"r"(narrow) : "memory"); // keeps the stores
}

/// r[i] = quick(x[i]), in a loop that vectorises, then any(x[i]) where is_large(x[i]), one by one. n ≤ strip
template <class T, class Quick, class Any>
[[gnu::always_inline]] inline void repaired(T* r, const T* x, std::size_t n, Quick quick, Any any) {
    T copy[strip<T>]; // r may be x
    elementary::Bits<T> has_others = 0;
    for (std::size_t i = 0; i < n; ++i) has_others |= elementary::Bits<T>(!elementary::is_quick(x[i]));
    if (has_others != 0) {
        for (std::size_t i = 0; i < n; ++i) copy[i] = x[i];
        x = copy;
    }
    for_pairs_of_vectors<T>(
        n, [=](std::size_t i) __attribute__((always_inline)) { r[i] = quick(x[i]); });
    if (has_others != 0)
        for (std::size_t i = 0; i < n; ++i)
            if (elementary::is_large(x[i])) r[i] = any(x[i]);
}

/// plain(i) for every i < n ≤ strip if all are plain, else any(i): in loops that vectorise. Asks is_plain of all first,
/// because plain and any may overwrite operands.
template <class T, class IsPlain, class Plain, class Any>
[[gnu::always_inline]] inline void of_plain_or_any(std::size_t n, IsPlain is_plain, Plain plain, Any any) {
    u32 others = 0;
    for (std::size_t i = 0; i < n; ++i) others |= u32(!is_plain(i));
    if (others == 0)
        for_pairs_of_vectors<T>(n, plain);
    else
        for_pairs_of_vectors<T>(n, any);
}

} // namespace GRIDFOLD_NAMESPACE::kernels
