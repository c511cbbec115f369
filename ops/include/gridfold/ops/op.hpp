// What can be computed: one row a map, one row a monoid, one row a reduction. Graphs, programs and backends all name
// an operation by the address of its row; built-in rows come from map.def and reduce.def, users' from op_macros.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <gridfold/core/dtype.hpp>
#include <gridfold/ops/host_kernels.hpp>

namespace gf {

/// How the operand types of a map give the type it computes in (T) and its result type. Promotion is NumPy 2's.
enum class TypeRule : std::uint8_t {
    same,     ///< T = the promoted operand type; result T
    number,   ///< as same; bool is refused (cast it), as NumPy refuses it
    quotient, ///< true division: floating T as promoted, integers and bool in f64
    floating, ///< floating T as promoted; else what holds each operand: bool and 8-bit f16, 16-bit f32, wider f64
    integer,  ///< T promoted, bool or integer; floating is refused
    shift,    ///< T promoted, integer; bool and floating are refused
    compare,  ///< T = the promoted operand type; result bool
    logical,  ///< operands are tested against 0; T = result = bool
    test,     ///< T = the operand type; result bool
    select,   ///< first operand bool; T = the other two promoted; result T
};

/// Algebra that a map declares. Rewrites use nothing else.
struct Facts {
    bool commutative = false; ///< f(a, b) = f(b, a), bit for bit
    bool associative = false; ///< on integers and bool
    bool idempotent = false;  ///< f(a, a) = a; of one operand: f(f(a)) = f(a)
    bool exact = true;        ///< the CPU and the GPU give the same bits
};

inline constexpr int max_arity = 3;
inline constexpr std::size_t dtype_count = 13;

/// One elementwise operation. Rows are constant-initialised and live as long as the program.
struct MapOp {
    std::string_view name; ///< in the text form, in C++ and in generated code
    int arity;
    TypeRule rule;
    Facts facts;
    double ulps;      ///< error bound, in units in the last place of the result, where facts.exact is false
    double low, high; ///< operands in [low, high] exercise the map safely: generated tests draw from here
    std::string_view doc;
    std::string_view expression; ///< its body: C++ tokens in T, a, b, c and the functions of prelude.cuh
    int builtin;                 ///< position in map.def; -1 for a user's row
    /// A user's own host kernels, by compute type (DType as index); null where the expression has no meaning for the
    /// type. Built-in rows leave this empty: their kernels are compiled once an instruction set, in fusion/src/cpu.
    const std::array<MapKernel, dtype_count>* user_kernels;
};

/// What a reduction does when every element was masked out (an extent of 0 is treated alike where it is allowed).
enum class OnEmpty : std::uint8_t {
    value,     ///< the identity is the answer: 0, 1, false, true
    undefined, ///< floating results are NaN, integers and indices are empty
};

/// The accumulator type of a reduction over elements of type E when the user asks for none.
enum class AccumulatorRule : std::uint8_t {
    sum,      ///< bool and integers: 64 bits, signed as E; f16, bf16, f32: f32; f64: f64
    element,  ///< E itself (f16 and bf16 as f32)
    floating, ///< f16, bf16 and f32: f32; everything else: f64
    f64,      ///< always double
    boolean,  ///< always bool; elements are tested against 0
};

/// The result type, from the element type E and the accumulator type A.
enum class ResultRule : std::uint8_t {
    accumulator, ///< A
    element,     ///< E
    floating,    ///< f32 for f16, bf16 and f32 unless the user chose f64 for the accumulator; else f64
    index,       ///< i64
    boolean,     ///< bool
};

struct ReduceOp;

/// How a fold of a monoid over E and A takes its elements, with or without a mask: FoldPolicy of core/device/fold.cuh.
struct FoldTraits {
    int state_words;  ///< 32-bit words of a State
    int lane_words;   ///< of what a lane keeps
    int origin_words; ///< of what a block's lanes share
    bool joins;       ///< exact in any order: a thread keeps one state for all its lanes
    bool in_steps, of_block, in_packs, shifts;

    /// Words of what a thread keeps for `lanes` lanes.
    int thread_words(int lanes) const { return lane_words * (joins ? 1 : lanes) + origin_words; }
};

/// One monoid: a struct template of monoid.cuh (or a user's), over <E, A>.
struct MonoidOp {
    std::string_view name; ///< the struct's name, in C++ and in generated code
    std::string_view text; ///< a user's: its definition, for NVRTC; built-in: empty. monoid_source() gives either
    int builtin;           ///< position in reduce.def's MONOID rows; -1 for a user's
    FoldTraits (*traits)(DType element, DType accumulator, bool masked);
    /// A user's own host kernels; null for built-in rows (theirs are in fusion/src/host_kernels).
    const MonoidKernels* (*user_kernels)(DType element, DType accumulator);

    /// Words (32-bit) of the State for E and A.
    int state_words(DType element, DType accumulator) const { return traits(element, accumulator, false).state_words; }
};

/// One reduction: a monoid and what is read off its final state.
struct ReduceOp {
    std::string_view name;
    const MonoidOp* monoid;
    AccumulatorRule accumulator;
    ResultRule result;
    OnEmpty on_empty;
    bool takes_ddof;
    bool needs_elements; ///< an extent of 0 is an error before anything runs: what is undefined over nothing
    double ulps;         ///< bound on CPU against GPU where finalising is not exact; 0 = same bits
    std::string_view doc;
    /// C++ tokens in s (the State), M (the monoid), R (the result type; f32 for f16 and bf16) and ddof
    std::string_view finalize;
    int builtin; ///< position in reduce.def; -1 for a user's row
    /// A user's own finaliser: writes one R to out. Null for built-in rows, as is user_result.
    void (*user_finalize)(DType element, DType accumulator, const void* state, double ddof, void* out);
    /// The result type of a user's own reduction; `result` is not used then.
    DType (*user_result)(DType element, DType accumulator);
};

/// The text that defines a monoid, for a generated kernel that uses it. Monoids of one file have one text.
std::string_view monoid_source(const MonoidOp& row);

/// Every row known to this process, built-in rows first, then users' in the order of registration. Thread-safe; a span
/// stays valid, and as it is, when more rows are registered.
std::span<const MapOp* const> all_maps();
std::span<const ReduceOp* const> all_reductions();
const MapOp* find_map(std::string_view name);          ///< null where there is none
const ReduceOp* find_reduction(std::string_view name); ///< null where there is none

/// Makes a user's row known by its name, for the text form. The row must live as long as the program. Throws
/// InvalidGraph if another row has that name (a map and a reduction may share one). Thread-safe.
void register_op(const MapOp& row);
void register_op(const ReduceOp& row);

/// The built-in rows, by name: `map_op::exp`, `reduce_op::sum`.
namespace map_op {
#define GRIDFOLD_MAP_OP(name, ...) extern const MapOp name;
#include <gridfold/ops/map.def>
#undef GRIDFOLD_MAP_OP
} // namespace map_op
namespace reduce_op {
#define GRIDFOLD_MONOID_OP(...)
#define GRIDFOLD_REDUCE_OP(name, ...) extern const ReduceOp name;
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP
} // namespace reduce_op

/// What the text form says with words: no name of a value, dim, graph or op.
inline constexpr std::string_view reserved_words[]{"let", "where", "over", "by",   "groups",
                                                   "inf", "nan",   "true", "false"};

} // namespace gf
