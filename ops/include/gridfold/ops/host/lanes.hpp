// The memory of lanes on the CPU: planar for States of a few scalars, so that loops over lanes vectorise; State after
// State for larger ones.
#pragma once

#include <gridfold/ops/host/loops.hpp>

namespace GRIDFOLD_NAMESPACE::kernels {

/// The most scalars of a State with planar lanes: with two 512-bit registers for each, some are left for elements.
inline constexpr int most_fields = 8;

template <class T> inline constexpr bool is_scalar = !__is_class(T) && !__is_union(T) && !__is_enum(T);
template <class T, std::size_t n> inline constexpr bool is_scalar<T[n]> = false;
template <class T> inline constexpr bool is_scalar<T*> = false;

/// Returns f(a, b, …) of the n members of s.
template <int n, class State, class F> GRIDFOLD_FN constexpr auto with_fields(State& s, F f) {
    static_assert(n >= 1 && n <= most_fields);
    // clang-format off
    if constexpr (n == 1) { auto& [a] = s; return f(a); }
    else if constexpr (n == 2) { auto& [a, b] = s; return f(a, b); }
    else if constexpr (n == 3) { auto& [a, b, c] = s; return f(a, b, c); }
    else if constexpr (n == 4) { auto& [a, b, c, d] = s; return f(a, b, c, d); }
    else if constexpr (n == 5) { auto& [a, b, c, d, e] = s; return f(a, b, c, d, e); }
    else if constexpr (n == 6) { auto& [a, b, c, d, e, g] = s; return f(a, b, c, d, e, g); }
    else if constexpr (n == 7) { auto& [a, b, c, d, e, g, h] = s; return f(a, b, c, d, e, g, h); }
    else { auto& [a, b, c, d, e, g, h, i] = s; return f(a, b, c, d, e, g, h, i); }
    // clang-format on
}

struct AnyScalar {
    template <class T> operator T() const;
};
struct AreScalars {
    template <class... T> constexpr bool operator()(T&...) const { return (is_scalar<T> && ...); }
};

/// The number of members of a State that is an aggregate of 1 to most_fields scalars; else 0. The number of
/// initialisers without inner braces equals the number of members only if no member is an array or a struct.
template <class State, class... Any> consteval int field_count() {
    constexpr int n = sizeof...(Any);
    if constexpr (!__is_aggregate(State) || !__is_standard_layout(State) || n > most_fields) {
        return 0;
    } else if constexpr (requires { State{Any{}..., AnyScalar{}}; }) {
        return field_count<State, Any..., AnyScalar>();
    } else if constexpr (n > 0 && requires { State{{Any{}}...}; }) {
        State s{};
        return with_fields<n>(s, AreScalars()) ? n : 0;
    } else {
        return 0;
    }
}

/// `count` lanes of a State. Planar: the first field of all lanes, then the second field of all lanes, and so on.
template <class State, std::size_t count> struct Lanes {
    static constexpr int fields = field_count<State>();
    static constexpr bool planar = fields > 0;
    char* base;

    GRIDFOLD_FN State load(std::size_t i) const {
        if constexpr (planar) {
            State s{};
            with_fields<fields>(
                s, [&](auto&... field) __attribute__((always_inline)) {
                    std::size_t before = 0;
                    ((field = plane(field, before)[i], before += sizeof field), ...);
                });
            return s;
        } else {
            return at(i);
        }
    }
    GRIDFOLD_FN void store(std::size_t i, State s) const {
        if constexpr (planar)
            with_fields<fields>(
                s, [&](auto&... field) __attribute__((always_inline)) {
                    static_assert((sizeof field + ...) == sizeof(State), "a State has no padding");
                    std::size_t before = 0;
                    ((plane(field, before)[i] = field, before += sizeof field), ...);
                });
        else
            at(i) = s;
    }
    /// Calls f(State&) for lane i.
    template <class F> GRIDFOLD_FN void update(std::size_t i, F f) const {
        if constexpr (planar) {
            State s = load(i);
            f(s);
            store(i, s);
        } else {
            f(at(i));
        }
    }

private:
    template <class Field> GRIDFOLD_FN Field* plane(const Field&, std::size_t bytes_before) const {
        return reinterpret_cast<Field*>(base + bytes_before * count);
    }
    GRIDFOLD_FN State& at(std::size_t i) const { return reinterpret_cast<State*>(base)[i]; }
};

} // namespace GRIDFOLD_NAMESPACE::kernels
