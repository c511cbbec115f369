// The folds of a monoid over the positions of a slab on the CPU, built-in or a user's. Every function is inlined into
// those that GRIDFOLD_POSITIONS defines, and gets their attributes.
#pragma once

#include <gridfold/ops/host/sources.hpp>
#include <gridfold/ops/position_kernels.hpp>

namespace GRIDFOLD_NAMESPACE::kernels {

using gf::cpu::PositionInput, gf::cpu::PositionKernels;

template <class M, class E> struct Positions {
    using State = typename M::State;

    GRIDFOLD_FN static void identity(void* memory, std::size_t n) {
        auto* const states = static_cast<State*>(memory);
        for (std::size_t i = 0; i < n; ++i) states[i] = M::identity();
    }

    GRIDFOLD_FN static void fold(void* memory, const PositionInput& in) {
        auto* const states = static_cast<State*>(memory);
        const Elements<E> x{static_cast<const typename Elements<E>::Stored*>(in.x)};
        const std::int64_t *const lane = in.lane, index = in.index;
        const std::size_t n = in.n;
        if (in.mask != nullptr) {
            const Elements<bool> mask{reinterpret_cast<const u8*>(in.mask)};
            for (std::size_t i = 0; i < n; ++i)
                if (mask[i]) M::accumulate(states[i], x[i], index + lane[i]);
        } else {
            GRIDFOLD_INDEPENDENT
            for (std::size_t i = 0; i < n; ++i) M::accumulate(states[i], x[i], index + lane[i]);
        }
    }

    GRIDFOLD_FN static void combine(void* memory, const void* others, std::size_t n) {
        auto* const s = static_cast<State*>(memory);
        const auto* const t = static_cast<const State*>(others);
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < n; ++i) M::combine(s[i], t[i]);
    }
};

} // namespace GRIDFOLD_NAMESPACE::kernels

/// Defines name<M, E>, the functions of PositionKernels with these attributes, and name##_kernels<M, E>. Must be used
/// inside GRIDFOLD_NAMESPACE::kernels. `own`: see GRIDFOLD_FOLDS.
#define GRIDFOLD_POSITIONS(name, ...)                                                                           \
    template <class M, class E> struct name {                                                                   \
        __VA_ARGS__ static void identity(void* states, std::size_t n) { Positions<M, E>::identity(states, n); } \
        __VA_ARGS__ static void fold(void* states, const PositionInput& in) {                                   \
            [[maybe_unused]] const f64 own = static_cast<f64>(in.n);                                            \
            Positions<M, E>::fold(states, in);                                                                  \
        }                                                                                                       \
        __VA_ARGS__ static void combine(void* states, const void* others, std::size_t n) {                      \
            [[maybe_unused]] const f64 own = static_cast<f64>(n);                                               \
            Positions<M, E>::combine(states, others, n);                                                        \
        }                                                                                                       \
    };                                                                                                          \
    template <class M, class E> inline constexpr PositionKernels name##_kernels {                               \
        sizeof(typename M::State), &name<M, E>::identity, &name<M, E>::fold, &name<M, E>::combine               \
    }
