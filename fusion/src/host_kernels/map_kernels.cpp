// The maps of map.def as kernels over arrays, for the instruction set that this file is compiled for.
#include "host_kernels/division.hpp"
#include "host_kernels/map_rows.hpp"
#include "host_kernels/strips.hpp"

namespace GRIDFOLD_NAMESPACE {

MapKernel map_kernel(int map, int compute);
MapKernel map_kernel_by_scalar(int map, int compute);

namespace kernels {

/// The computation of one element: the row's expression, or code with the same bits in a loop that vectorises.
template <class Map, class T> struct Body : Map {};
template <class T>
    requires(!is_floating<T> && sizeof(T) <= 4)
struct Body<floor_div_map<T>, T> : floor_div_map<T> {
    GRIDFOLD_FN static T apply(T a, T b, T) { return Divisor<T>(b).floor_div(a); }
};
template <class T>
    requires(!is_floating<T> && sizeof(T) <= 4)
struct Body<remainder_map<T>, T> : remainder_map<T> {
    GRIDFOLD_FN static T apply(T a, T b, T) { return Divisor<T>(b).remainder(a); }
};
/// A bool is read and selected as a byte, because compilers do not vectorise bools.
template <class T> struct Body<select_map<T>, T> : select_map<T> {
    using A = u8;
    GRIDFOLD_FN static T apply(A a, T b, T c) { return choose(a != 0, b, c); }
};

/// A function of angles without its branch for large ones, and with it.
template <class Map, class T> inline constexpr bool is_of_angles = false;
#define GRIDFOLD_OF_ANGLES(name)                                                                           \
    template <class T>                                                                                     \
        requires is_floating<T>                                                                            \
    struct Body<name##_map<T>, T> : name##_map<T> {                                                        \
        GRIDFOLD_FN static T apply(T a, T, T) { return elementary::name<elementary::Operands::plain>(a); } \
        GRIDFOLD_FN static T apply_to_any(T a) { return elementary::name(a); }                             \
    };                                                                                                     \
    template <class T> inline constexpr bool is_of_angles<Body<name##_map<T>, T>, T> = is_floating<T>;
GRIDFOLD_OF_ANGLES(sin)
GRIDFOLD_OF_ANGLES(cos)
GRIDFOLD_OF_ANGLES(tan)
#undef GRIDFOLD_OF_ANGLES

/// True if the function has a cheaper form for plain operands.
template <class Map, class T> inline constexpr bool has_plain = false;
#define GRIDFOLD_HAS_PLAIN(name, operands, ...)                                                        \
    template <class T>                                                                                 \
        requires is_floating<T>                                                                        \
    struct Body<name##_map<T>, T> : name##_map<T> {                                                    \
        GRIDFOLD_FN static bool is_plain operands { return elementary::name##_is_plain(__VA_ARGS__); } \
        GRIDFOLD_FN static T apply_to_plain operands {                                                 \
            return elementary::name<elementary::Operands::plain>(__VA_ARGS__);                         \
        }                                                                                              \
    };                                                                                                 \
    template <class T> inline constexpr bool has_plain<Body<name##_map<T>, T>, T> = is_floating<T>;
#define GRIDFOLD_HAS_PLAIN_1(name) GRIDFOLD_HAS_PLAIN(name, (T a, T), a)
#define GRIDFOLD_HAS_PLAIN_2(name) GRIDFOLD_HAS_PLAIN(name, (T a, T b), a, b)
GRIDFOLD_HAS_PLAIN_1(exp)
GRIDFOLD_HAS_PLAIN_1(exp2)
GRIDFOLD_HAS_PLAIN_1(expm1)
GRIDFOLD_HAS_PLAIN_1(sinh)
GRIDFOLD_HAS_PLAIN_1(cosh)
GRIDFOLD_HAS_PLAIN_1(tanh)
GRIDFOLD_HAS_PLAIN_1(sigmoid)
GRIDFOLD_HAS_PLAIN_1(log)
GRIDFOLD_HAS_PLAIN_1(log2)
GRIDFOLD_HAS_PLAIN_1(log10)
GRIDFOLD_HAS_PLAIN_1(log1p)
GRIDFOLD_HAS_PLAIN_2(hypot)
GRIDFOLD_HAS_PLAIN_2(atan2)
GRIDFOLD_HAS_PLAIN_2(pow)
#undef GRIDFOLD_HAS_PLAIN_2
#undef GRIDFOLD_HAS_PLAIN_1
#undef GRIDFOLD_HAS_PLAIN

/// Whether a map is an elementary function, for which loops go over strips.
template <class Map> inline constexpr bool is_function = Map::rule == TypeRule::floating;
template <class T> inline constexpr bool is_function<Body<pow_map<T>, T>> = is_floating<T>;

template <class Map, class T>
[[gnu::always_inline]] inline void loop(typename Map::R* r, const typename Map::A* x, const T* y, const T* z,
                                        std::size_t n) {
    GRIDFOLD_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
        if constexpr (Map::arity == 1)
            r[i] = Map::apply(x[i], T{}, T{});
        else if constexpr (Map::arity == 2)
            r[i] = Map::apply(x[i], y[i], T{});
        else
            r[i] = Map::apply(x[i], y[i], z[i]);
    }
}

/// The same of a function, for n ≤ strip.
template <class Map, class T>
[[gnu::always_inline]] inline void function_loop(T* r, const T* x, const T* y, std::size_t n) {
    const auto second = [=](std::size_t i) __attribute__((always_inline)) { return Map::arity == 1 ? T{} : y[i]; };
    const auto any = [=](std::size_t i) __attribute__((always_inline)) { r[i] = Map::apply(x[i], second(i), T{}); };
    if constexpr (is_of_angles<Map, T>)
        repaired(
            r, x, n, [](T angle) __attribute__((always_inline)) { return Map::apply(angle, T{}, T{}); },
            [](T angle) { return Map::apply_to_any(angle); });
    else if constexpr (has_plain<Map, T>)
        of_plain_or_any<T>(
            n, [=](std::size_t i) __attribute__((always_inline)) { return Map::is_plain(x[i], second(i)); },
            [=](std::size_t i) __attribute__((always_inline)) { r[i] = Map::apply_to_plain(x[i], second(i)); }, any);
    else
        for_pairs_of_vectors<T>(n, any);
}

template <class Map, class T> void apply(void* out, const void* a, const void* b, const void* c, std::size_t n) {
    auto* r = static_cast<typename Map::R*>(out);
    const auto* x = static_cast<const typename Map::A*>(a);
    const auto* y = static_cast<const T*>(b);
    const auto* z = static_cast<const T*>(c);
    if constexpr (!is_function<Map> || !is_floating<T>)
        loop<Map>(r, x, y, z, n);
    else if constexpr (Map::arity == 1)
        for_strips(
            n, [=](std::size_t first, std::size_t count) { function_loop<Map>(r + first, x + first, y, count); }, x);
    else
        for_strips(
            n,
            [=](std::size_t first, std::size_t count) { function_loop<Map>(r + first, x + first, y + first, count); },
            x, y);
}

template <class T, class F> [[gnu::always_inline]] inline void apply_one(void* out, const void* a, std::size_t n, F f) {
    auto* r = static_cast<T*>(out);
    const auto* x = static_cast<const T*>(a);
    GRIDFOLD_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) r[i] = f(x[i]);
}

template <template <class> class Map, DType type> constexpr MapKernel entry() {
    if constexpr (computes<Map<f32>>(type)) {
        using T =
            typename Choose<Map<f32>::rule == TypeRule::select && type == DType::boolean, u8, Element<type>>::type;
        return &apply<Body<Map<T>, T>, T>;
    } else {
        return nullptr;
    }
}

/// The kernel of a map whose second operand is one scalar, *b; null if it would not be faster.
template <class Map, class T> struct ByScalar {
    static constexpr MapKernel kernel = nullptr;
};
template <class T>
    requires(!is_floating<T>)
struct ByScalar<floor_div_map<T>, T> {
    static void kernel(void* out, const void* a, const void* b, const void*, std::size_t n) {
        const Divisor<T> divisor(*static_cast<const T*>(b));
        apply_one<T>(out, a, n, [divisor](T x) { return divisor.floor_div(x); });
    }
};
template <class T>
    requires(!is_floating<T>)
struct ByScalar<remainder_map<T>, T> {
    static void kernel(void* out, const void* a, const void* b, const void*, std::size_t n) {
        const Divisor<T> divisor(*static_cast<const T*>(b));
        apply_one<T>(out, a, n, [divisor](T x) { return divisor.remainder(x); });
    }
};
/// A separate loop for squares. Other exponents are copied: with one in a register, loops do not vectorise.
template <class T> struct ByScalar<pow_map<T>, T> {
    static void kernel(void* out, const void* a, const void* b, const void*, std::size_t n) {
        const T exponent = *static_cast<const T*>(b);
        if (exponent == T(2)) return apply_one<T>(out, a, n, [](T x) { return mul(x, x); });
        auto* r = static_cast<T*>(out);
        const auto* x = static_cast<const T*>(a);
        T exponents[strip<T>];
        for (T& each : exponents) each = exponent;
        for_strips(
            n,
            [&](std::size_t first, std::size_t count) {
                function_loop<Body<pow_map<T>, T>, T>(r + first, x + first, exponents, count);
            },
            x);
    }
};

/// Arithmetic by one scalar, which is not copied for each element.
template <class Map, class T>
    requires(is_floating<T> && is_arithmetic<Map>)
struct ByScalar<Map, T> {
    static void kernel(void* out, const void* a, const void* b, const void*, std::size_t n) {
        const T scalar = *static_cast<const T*>(b);
        apply_one<T>(out, a, n, [scalar](T x) { return Map::apply(x, scalar, T{}); });
    }
};

template <template <class> class Map, DType type> constexpr MapKernel entry_by_scalar() {
    if constexpr (computes<Map<f32>>(type))
        return ByScalar<Map<Element<type>>, Element<type>>::kernel;
    else
        return nullptr;
}

/// The kernels of one map by compute type.
template <template <class> class Map> struct Row {
    static constexpr MapKernel entries[] = {
#define GRIDFOLD_DTYPE(type, ...) entry<Map, DType::type>(),
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
    static constexpr MapKernel by_scalar[] = {
#define GRIDFOLD_DTYPE(type, ...) entry_by_scalar<Map, DType::type>(),
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
};

} // namespace kernels

MapKernel map_kernel(int map, int compute) {
    static constexpr const MapKernel* rows[] = {
#define GRIDFOLD_MAP_OP(id, ...) kernels::Row<kernels::id##_map>::entries,
#include <gridfold/ops/map.def>
#undef GRIDFOLD_MAP_OP
    };
    return rows[map][compute];
}

MapKernel map_kernel_by_scalar(int map, int compute) {
    static constexpr const MapKernel* rows[] = {
#define GRIDFOLD_MAP_OP(id, ...) kernels::Row<kernels::id##_map>::by_scalar,
#include <gridfold/ops/map.def>
#undef GRIDFOLD_MAP_OP
    };
    return rows[map][compute];
}

} // namespace GRIDFOLD_NAMESPACE
