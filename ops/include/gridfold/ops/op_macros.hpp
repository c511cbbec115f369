// Macros for a user's own maps and reductions, for every backend. The same tokens are compiled for the host and, by
// NVRTC, for the GPU, so that both always agree. Use them outside of any namespace:
//
//     GRIDFOLD_MAP(softplus, 1, floating, "log(1 + exp(a))", maximum(a, T(0)) + log1p(exp(-abs(a))))
//
//     GRIDFOLD_REDUCTION(range, "the largest element less the smallest",
//         static constexpr bool associative_and_commutative = true;
//         static constexpr bool needs_elements = true;
//         struct State { A low, high; };
//         GRIDFOLD_FN static State identity() { return {highest<A>(), lowest<A>()}; }
//         GRIDFOLD_FN static void accumulate(State& s, E x, i64) {
//             s.low = minimum(s.low, convert<A>(x)), s.high = maximum(s.high, convert<A>(x));
//         }
//         GRIDFOLD_FN static void combine(State& s, const State& t) {
//             s.low = minimum(s.low, t.low), s.high = maximum(s.high, t.high);
//         }
//         GRIDFOLD_FN static A finalize(const State& s) { return sub(s.high, s.low); })
//
// After that gf::softplus(x) and gf::range(x, {.where = mask}) build graphs, the text form knows both names, and
// gf::map_op::softplus and gf::reduce_op::range are the rows. The macros may be used in a header.
//
// The tokens may use the types and functions of core/device/prelude.cuh; a map also T and as many of a, b, c as its
// arity (map.def explains them, TypeRule the values of T). No other header exists on the device. If a map's expression
// does not compile for a type of its rule, the map refuses that type when a graph is built.
//
// Compiler flags do not change the bits of the host code: contraction is off in the source (only clang's explicit
// -ffp-contract=fast overrides it), and -ffast-math is refused.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <gridfold/core/device/prelude.cuh>
#include <gridfold/ops/expr.hpp>
#include <gridfold/ops/fold_traits.hpp>
#include <gridfold/ops/host/folds.hpp>
#include <gridfold/ops/host/positions.hpp>
#include <gridfold/ops/op.hpp>

/// A map.
///   name  a C++ identifier that no built-in map has     arity  1, 2 or 3
///   rule  a TypeRule                                    then the documentation and the expression
#define GRIDFOLD_MAP(name, arity, rule, doc, ...)                                                          \
    GRIDFOLD_EXACT_BEGIN                                                                                   \
    namespace gf::device {                                                                                 \
    using outside_for_##name = gridfold_ops_are_defined_outside_of_any_namespace;                          \
    static_assert(arity >= 1 && arity <= max_arity, "a map has 1, 2 or 3 operands");                       \
    static_assert(gf::detail::may_name_op(#name), "the text form has another meaning for this name");      \
    static_assert(!gf::detail::fast_math, "a file that defines ops must be compiled without -ffast-math"); \
    struct map_##name {                                                                                    \
        template <class T, class First, class Result>                                                      \
        GRIDFOLD_FN static auto apply(GRIDFOLD_DETAIL_PARAMETERS_##arity)                                  \
            -> decltype(static_cast<Result>(__VA_ARGS__)) {                                                \
            return static_cast<Result>(__VA_ARGS__);                                                       \
        }                                                                                                  \
    };                                                                                                     \
    }                                                                                                      \
    GRIDFOLD_EXACT_END                                                                                     \
    namespace gf::map_op {                                                                                 \
    inline constexpr MapOp name = GRIDFOLD_DETAIL_ROW(name, arity, rule, doc, __VA_ARGS__);                \
    }                                                                                                      \
    namespace gf::detail {                                                                                 \
    [[maybe_unused]] static const bool map_##name##_is_registered =                                        \
        register_at_start(map_op::name, GRIDFOLD_DETAIL_ROW(name, arity, rule, doc, __VA_ARGS__));         \
    }                                                                                                      \
    namespace gf {                                                                                         \
    template <class... A>                                                                                  \
        requires detail::MapOperands<arity, A...>                                                          \
    Value name(const A&... operands) {                                                                     \
        return map(map_op::name, {operands...});                                                           \
    }                                                                                                      \
    }

/// The name that GRIDFOLD_MAP had for maps without elementary functions, whose bits were not yet the same everywhere.
#define GRIDFOLD_EXACT_MAP GRIDFOLD_MAP

/// A reduction over E, the element type (bool, integers, f32, f64), with the accumulator type A: the body of a struct
/// template over both. A reduction of two or three operands, which are converted to their promoted type E, declares
///   static constexpr int operands = 2;                 and has accumulate(State&, E x, E y, i64 index)
/// Required: State, identity, accumulate, combine, finalize as above, and the declaration that
/// combine is associative and commutative, which cannot be checked. The result has finalize's type. Optional:
///   static constexpr bool needs_elements = true;       no elements: no result (else: finalize(identity()))
///   static constexpr bool floating_accumulator = true; A is f32 or f64 (else also i64 for bool and integers, u64)
///   static constexpr bool exact_in_any_order = true;   any order of the elements gives the same state, bit by bit, for
///                                                      this E and A: a thread keeps few States, not one a lane
/// `accumulate` chooses A = f64, as for sum. A macro in the tokens, other than GRIDFOLD_FN, does not reach the device.
#define GRIDFOLD_REDUCTION(name, doc, ...)                                                                 \
    GRIDFOLD_EXACT_BEGIN                                                                                   \
    namespace gf::device {                                                                                 \
    using outside_for_##name = gridfold_ops_are_defined_outside_of_any_namespace;                          \
    static_assert(gf::detail::may_name_op(#name), "the text form has another meaning for this name");      \
    static_assert(!gf::detail::fast_math, "a file that defines ops must be compiled without -ffast-math"); \
    template <class E, class A> struct monoid_##name {                                                     \
        __VA_ARGS__                                                                                        \
    };                                                                                                     \
    }                                                                                                      \
    GRIDFOLD_EXACT_END                                                                                     \
    namespace gf::detail {                                                                                 \
    inline constexpr MonoidOp user_monoid_##name = UserReduction<device::monoid_##name>::monoid(           \
        "monoid_" #name, GRIDFOLD_DETAIL_MONOID_TEXT(#name, #__VA_ARGS__));                                \
    }                                                                                                      \
    namespace gf::reduce_op {                                                                              \
    inline constexpr ReduceOp name =                                                                       \
        detail::UserReduction<device::monoid_##name>::row(#name, detail::user_monoid_##name, doc);         \
    }                                                                                                      \
    namespace gf::detail {                                                                                 \
    [[maybe_unused]] static const bool reduction_##name##_is_registered =                                  \
        register_at_start(reduce_op::name, GRIDFOLD_DETAIL_MONOID_TEXT(#name, #__VA_ARGS__));              \
    }                                                                                                      \
    namespace gf {                                                                                         \
    GRIDFOLD_DETAIL_REDUCE_FUNCTIONS(name, reduce_op::name.monoid->operands)                               \
    }

/// For a reduction that a header defines: its kernels take a compiler some ten seconds, and are compiled once, not in
/// each file that includes the header. The first line goes into the header, after the reduction, the second into one of
/// these files.
#define GRIDFOLD_COMPILED_ELSEWHERE(name) extern template struct gf::detail::UserReduction<gf::device::monoid_##name>;
#define GRIDFOLD_COMPILED_HERE(name) template struct gf::detail::UserReduction<gf::device::monoid_##name>;

#define GRIDFOLD_DETAIL_ROW(name, arity, rule, doc, ...) \
    gf::detail::UserMap<gf::device::map_##name, gf::TypeRule::rule, arity>::row(#name, doc, #__VA_ARGS__)
#define GRIDFOLD_DETAIL_MONOID_TEXT(name, body) "template <class E, class A> struct monoid_" name " { " body " };\n"

// The parameters of a map of each arity.
#define GRIDFOLD_DETAIL_PARAMETERS_1 [[maybe_unused]] First a, T, T
#define GRIDFOLD_DETAIL_PARAMETERS_2 [[maybe_unused]] First a, [[maybe_unused]] T b, T
#define GRIDFOLD_DETAIL_PARAMETERS_3 [[maybe_unused]] First a, [[maybe_unused]] T b, [[maybe_unused]] T c

// gcc reads exactness from the function that the code is inlined into.
#if defined(__GNUC__) && !defined(__clang__)
#define GRIDFOLD_DETAIL_EXACT_KERNEL __attribute__((optimize("fp-contract=off")))
#else
#define GRIDFOLD_DETAIL_EXACT_KERNEL
#endif

// The kernels of a user's monoid vectorise, whatever the file's level of optimisation but for none at all. None of
// these flags changes a result. Processors with AVX-512 run those for AVX2: more instruction sets, and more loops,
// would cost the compiler more time than they save (bench/NOTES.md).
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#define GRIDFOLD_DETAIL_FAST_KERNEL                                                                                \
    __attribute__((optimize("O2", "tree-vectorize", "vect-cost-model=dynamic", "fp-contract=off", "no-math-errno", \
                            "no-trapping-math")))
#else
#define GRIDFOLD_DETAIL_FAST_KERNEL GRIDFOLD_DETAIL_EXACT_KERNEL
#endif

namespace gf::device {
struct gridfold_ops_are_defined_outside_of_any_namespace;
} // namespace gf::device

// Not every loop vectorises. clang warns at the place of the loop (host/folds.hpp, host/positions.hpp) or, at -O3, of
// the function that it was inlined into.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"
#endif
namespace gf::device::kernels {
GRIDFOLD_STATES(UserStates, GRIDFOLD_DETAIL_EXACT_KERNEL);
GRIDFOLD_POSITIONS(UserPositions, Loops::single, GRIDFOLD_DETAIL_EXACT_KERNEL);
#if defined(__x86_64__)
GRIDFOLD_FOLDS(UserFold, Loops::single, GRIDFOLD_DETAIL_EXACT_KERNEL);
GRIDFOLD_FOLDS(UserFoldAvx2, Loops::few, GRIDFOLD_DETAIL_FAST_KERNEL __attribute__((target("avx2,fma"))));
#else
GRIDFOLD_FOLDS(UserFold, Loops::few, GRIDFOLD_DETAIL_FAST_KERNEL);
#endif
} // namespace gf::device::kernels
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

namespace gf::detail {

#if defined(__FAST_MATH__)
inline constexpr bool fast_math = true;
#else
inline constexpr bool fast_math = false;
#endif

/// Registers a row during the construction of globals, where nothing may throw. If several rows have one name, the text
/// form uses the first. Every file that defines the op calls it with its own definition, the row or the monoid's text.
/// The linker keeps the row of one file: where another defines the op differently, each use is an InvalidGraph.
bool register_at_start(const MapOp& row, const MapOp& own) noexcept;
bool register_at_start(const ReduceOp& row, std::string_view own) noexcept;

/// True if the text form can use this name for an op.
constexpr bool may_name_op(std::string_view name) {
    for (const std::string_view word : reserved_words)
        if (name == word) return false;
#define GRIDFOLD_DTYPE(id, text, type, kind, npy) \
    if (name == text) return false;
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    return name != "index" && name != "extent" && name != "shift" && name != "dot" && name != "top_k";
}

/// A user's map: its kernels and its row. Body::apply<T, First, Result>(a, b, c) is the expression.
template <class Body, TypeRule rule, int arity> struct UserMap {
    template <class T> using First = std::conditional_t<rule == TypeRule::select, bool, T>;
    template <class T> using Result = std::conditional_t<gives_bool(rule), bool, T>;

    template <class T>
    GRIDFOLD_DETAIL_EXACT_KERNEL static void kernel(void* out, const void* a, [[maybe_unused]] const void* b,
                                                    [[maybe_unused]] const void* c, std::size_t n) {
        auto* result = static_cast<Result<T>*>(out);
        const auto* x = static_cast<const First<T>*>(a);
        for (std::size_t i = 0; i < n; ++i) {
            T y{}, z{};
            if constexpr (arity > 1) y = static_cast<const T*>(b)[i];
            if constexpr (arity > 2) z = static_cast<const T*>(c)[i];
            result[i] = Body::template apply<T, First<T>, Result<T>>(x[i], y, z);
        }
    }

    template <class T> static constexpr bool compiles() {
        if constexpr (is_half(dtype_of<T>) || !computes_in(rule, dtype_of<T>))
            return false;
        else
            return requires(First<T> a, T b) { Body::template apply<T, First<T>, Result<T>>(a, b, b); };
    }
    template <class T> static constexpr MapKernel kernel_of() {
        if constexpr (compiles<T>())
            return &kernel<T>;
        else
            return nullptr;
    }

    static constexpr std::array<MapKernel, dtype_count> kernels{
#define GRIDFOLD_DTYPE(id, text, type, kind, npy) kernel_of<type>(),
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };

    static_assert(
#define GRIDFOLD_DTYPE(id, text, type, kind, npy) compiles<type>() ||
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
        false, "the map's expression compiles for no type T that its rule gives: it may use T, as many of a, b, c as "
               "its arity says, and the functions of gridfold/core/device/prelude.cuh");

    static constexpr MapOp row(std::string_view name, std::string_view doc, std::string_view expression) {
        return {.name = name,
                .arity = arity,
                .rule = rule,
                .facts = {},
                .low = -10,
                .high = 10,
                .doc = doc,
                .expression = expression,
                .builtin = -1,
                .user_kernels = &kernels};
    }
};

/// A State of numbers without padding: only such a State can be bit_cast to words in a constant expression.
template <class State>
concept WholeWords = std::is_trivially_copyable_v<State> && sizeof(State) % 4 == 0 && requires {
    typename std::bool_constant<(std::bit_cast<std::array<std::uint32_t, sizeof(State) / 4>>(State{}), true)>;
};

/// A user's monoid over one E and A: checks of its contract, and its kernels.
template <class M, class E> struct UserMonoid {
    using State = typename M::State;
    template <class... X> static constexpr bool takes() {
        return requires(State s, const State t, X... x) {
            { M::accumulate(s, x..., 0) } -> std::same_as<void>;
            { M::combine(s, t) } -> std::same_as<void>;
        } && !requires(const State t, X... x) { M::accumulate(t, x..., 0); } &&
               !requires(const State t) { M::combine(t, t); };
    }
    static_assert(
        requires { requires M::associative_and_commutative; },
        "a reduction folds in any grouping and, across lanes, in any order: say so with `static constexpr bool "
        "associative_and_commutative = true;`, if combine(s, t) is both; else it can't be a reduction");
    static_assert(std::is_trivially_copyable_v<State>,
                  "a State travels between threads and devices as bytes: it must be trivially copyable");
    static_assert(sizeof(State) <= 64 * 4, "a State has at most 64 words of 32 bits");
    static_assert(
        !std::is_trivially_copyable_v<State> || WholeWords<State>,
        "a State is made of numbers, whole 32-bit words without padding, whatever A is (32 or 64 bits): as { A s; u32 "
        "n, m; }, or { A s, t; f64 n; } with its As in pairs; no bool or smaller integer, and no lone A with an f64 or "
        "i64");

    static_assert(
        !requires { typename M::OfBlock; },
        "lanes that share an origin (OfBlock) are for built-in monoids: name the inner struct otherwise");
    static constexpr int operands = device::operand_count<M>;
    static_assert(operands >= 1 && operands <= max_arity, "a reduction has 1, 2 or 3 operands");
    static_assert(
        !requires { typename M::Payload; }, "payloads are for built-in monoids: name the type otherwise");
    static_assert(
        (operands == 1 && takes<E>()) || (operands == 2 && takes<E, E>()) || (operands == 3 && takes<E, E, E>()),
        "accumulate(State&, E, i64), with an E for each operand, and combine(State&, const State&) change their first "
        "argument, and return nothing");

    static const cpu::FoldKernels* kernels([[maybe_unused]] cpu::InstructionSet set) {
        using namespace device::kernels;
#if defined(__x86_64__)
        if (set != cpu::InstructionSet::baseline) return &kernels_of<UserFoldAvx2, UserStates, M, E>;
#endif
        return &kernels_of<UserFold, UserStates, M, E>;
    }
};

/// A user's reduction: its kernels by type, and its rows.
template <template <class, class> class Monoid> struct UserReduction {
    using Sample = Monoid<float, float>;                       // its declarations; no member is called
    static_assert(std::is_empty_v<UserMonoid<Sample, float>>); // instantiates it, and with it its checks

    static constexpr bool needs_elements = requires { requires Sample::needs_elements; };
    static constexpr AccumulatorRule rule =
        requires { requires Sample::floating_accumulator; } ? AccumulatorRule::floating : AccumulatorRule::sum;
    /// Calls f<M, E>() with the monoid for a pair of types that accumulator_type() allows.
    template <class F> static auto with_monoid(DType element, DType accumulator, F f) {
        return with_value_type(element, [&]<class E>(E) {
            using Own = element_of<accumulator_of(rule, dtype_of<E>)>;
            if (accumulator == DType::f64) return f.template operator()<Monoid<E, double>, E>();
            return f.template operator()<Monoid<E, Own>, E>();
        });
    }

    // Defined outside, since a compiler that optimises would compile inline ones despite GRIDFOLD_COMPILED_ELSEWHERE.
    static FoldTraits traits(DType element, DType accumulator, bool masked);
    static const cpu::FoldKernels* kernels(DType element, DType accumulator, cpu::InstructionSet set);
    static const cpu::PositionKernels* positions(DType element, DType accumulator);
    static DType result(DType element, DType accumulator);
    static void finalize(DType element, DType accumulator, const void* state, double, void* out);

    template <class M> using ResultOf = decltype(M::finalize(std::declval<const typename M::State&>()));
    template <class M> GRIDFOLD_DETAIL_EXACT_KERNEL static void finalize_one(const void* state, void* out) {
        *static_cast<ResultOf<M>*>(out) = M::finalize(*static_cast<const typename M::State*>(state));
    }

    static constexpr MonoidOp monoid(std::string_view name, std::string_view text) {
        return {.name = name,
                .text = text,
                .builtin = -1,
                .operands = device::operand_count<Sample>,
                .rule = device::operand_count<Sample> == 1 ? OperandRule::own : OperandRule::promoted,
                .traits = &traits,
                .user_kernels = &kernels,
                .user_positions = &positions};
    }
    static constexpr ReduceOp row(std::string_view name, const MonoidOp& monoid, std::string_view doc) {
        return {.name = name,
                .monoid = &monoid,
                .accumulator = rule,
                .result = ResultRule::accumulator,
                .on_empty = needs_elements ? OnEmpty::undefined : OnEmpty::value,
                .argument = ReduceArgument::none,
                .needs_elements = needs_elements,
                .doc = doc,
                .finalize = "M::finalize(s)",
                .builtin = -1,
                .user_finalize = &finalize,
                .user_result = &result};
    }
};

template <template <class, class> class Monoid>
FoldTraits UserReduction<Monoid>::traits(DType element, DType accumulator, bool masked) {
    return with_monoid(element, accumulator, [masked]<class M, class E>() { return traits_of<M>(masked); });
}
template <template <class, class> class Monoid>
const cpu::FoldKernels* UserReduction<Monoid>::kernels(DType element, DType accumulator, cpu::InstructionSet set) {
    return with_monoid(element, accumulator, [set]<class M, class E>() { return UserMonoid<M, E>::kernels(set); });
}
template <template <class, class> class Monoid>
const cpu::PositionKernels* UserReduction<Monoid>::positions(DType element, DType accumulator) {
    return with_monoid(element, accumulator, []<class M, class E>() -> const cpu::PositionKernels* {
        return &device::kernels::UserPositions_kernels<M, E>;
    });
}
template <template <class, class> class Monoid> DType UserReduction<Monoid>::result(DType element, DType accumulator) {
    return with_monoid(element, accumulator, []<class M, class E>() {
        static_assert(Element<ResultOf<M>>, "finalize returns an element type: bool, an integer, f32 or f64");
        return dtype_of<ResultOf<M>>;
    });
}
template <template <class, class> class Monoid>
void UserReduction<Monoid>::finalize(DType element, DType accumulator, const void* state, double, void* out) {
    with_monoid(element, accumulator, [state, out]<class M, class E>() { finalize_one<M>(state, out); });
}

} // namespace gf::detail
