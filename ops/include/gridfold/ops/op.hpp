// The tables of operations: a row for each map, monoid and reduction. Graphs, plans and backends identify an operation
// by the address of its row. Built-in rows come from map.def and reduce.def, users' rows from op_macros.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <gridfold/core/dtype.hpp>
#include <gridfold/ops/host_kernels.hpp>
#include <gridfold/ops/position_kernels.hpp>
#include <gridfold/ops/rules.hpp>

namespace gf {

/// The algebraic facts that a map declares, the only ones that rewrites use.
struct Facts {
    bool commutative = false; ///< f(a, b) = f(b, a), bit for bit
    bool associative = false; ///< on integers and bool
    bool idempotent = false;  ///< f(a, a) = a; for one operand: f(f(a)) = f(a)
};

inline constexpr int max_arity = 3;
inline constexpr std::size_t dtype_count = 13;

/// One elementwise operation. Rows are constant-initialised and live as long as the program.
struct MapOp {
    std::string_view name; ///< in the text form, in C++ and in generated code
    int arity;
    TypeRule rule;
    Facts facts;
    double low, high; ///< generated tests draw operands from [low, high]
    std::string_view doc;
    std::string_view expression; ///< its body: C++ tokens in T, a, b, c and the functions of prelude.cuh
    int builtin;                 ///< position in map.def; -1 for a user's row
    /// A user's host kernels, by compute type (DType as index); null for types that the expression does not compile
    /// for. Null in built-in rows: fusion/src/host_kernels compiles their kernels once for each instruction set.
    const std::array<MapKernel, dtype_count>* user_kernels;
};

/// The result of a reduction whose elements are all masked out (or whose extent is 0, if the reduction allows that).
enum class OnEmpty : std::uint8_t {
    value,     ///< the identity: 0, 1, false, true
    undefined, ///< NaN for floating results; integers and indices are empty
};

struct ReduceOp;

/// FoldPolicy of core/device/fold.cuh as data, for a monoid over E and A, with or without a mask.
struct FoldTraits {
    int state_words;  ///< 32-bit words of a State
    int lane_words;   ///< 32-bit words of a lane's state
    int origin_words; ///< 32-bit words of the origin that a block's lanes share
    bool joins;       ///< exact in any order: a thread keeps one state for all its lanes
    bool in_steps, of_block, in_packs, shifts;

    /// 32-bit words of a thread's state for `lanes` lanes.
    int thread_words(int lanes) const { return lane_words * (joins ? 1 : lanes) + origin_words; }
};

/// One monoid: a struct template of monoid.cuh (or a user's), over <E, A>.
struct MonoidOp {
    std::string_view name; ///< the struct's name, in C++ and in generated code
    std::string_view text; ///< a user's definition, for NVRTC; "" if built-in. monoid_source() gives both
    int builtin;           ///< position in reduce.def's MONOID rows; -1 for a user's
    int operands;          ///< how many operands it folds, at most max_arity
    OperandRule rule;
    FoldTraits (*traits)(DType element, DType accumulator, bool masked);
    /// A user's host kernels; null for built-in rows, whose kernels are in fusion/src/host_kernels.
    const cpu::FoldKernels* (*user_kernels)(DType element, DType accumulator, cpu::InstructionSet set);
    const cpu::PositionKernels* (*user_positions)(DType element, DType accumulator) = nullptr; ///< as user_kernels

    /// Words (32-bit) of the State for E and A.
    int state_words(DType element, DType accumulator) const { return traits(element, accumulator, false).state_words; }
};

/// One reduction: a monoid and the result computed from its final state.
struct ReduceOp {
    std::string_view name;
    const MonoidOp* monoid;
    AccumulatorRule accumulator;
    ResultRule result;
    OnEmpty on_empty;
    ReduceArgument argument;
    bool needs_elements; ///< undefined over nothing: an extent of 0 is an error before anything runs
    std::string_view doc;
    /// C++ tokens in s (the State), M (the monoid), R (the result type; f32 for f16 and bf16) and argument
    std::string_view finalize;
    int builtin; ///< position in reduce.def; -1 for a user's row
    /// A user's finaliser: writes one R to out. Null for built-in rows, like user_result.
    void (*user_finalize)(DType element, DType accumulator, const void* state, double argument, void* out);
    /// The result type of a user's reduction, instead of `result`.
    DType (*user_result)(DType element, DType accumulator);
};

/// The text of a monoid's definition, for generated kernels that use it. Monoids of one file have the same text.
std::string_view monoid_source(const MonoidOp& row);

/// Every row known to this process, built-in rows first, then users' in the order of registration. Thread-safe; later
/// registrations neither invalidate nor change a span.
std::span<const MapOp* const> all_maps();
std::span<const ReduceOp* const> all_reductions();
const MapOp* find_map(std::string_view name);          ///< null for an unknown name
const ReduceOp* find_reduction(std::string_view name); ///< null for an unknown name

/// Registers a user's row by its name, for the text form. The row must live as long as the program. Throws InvalidGraph
/// if another row has that name (a map and a reduction may share one). Thread-safe.
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

namespace detail {
#define GRIDFOLD_MONOID_OP(name, file, operands, ...) inline constexpr int operands_of_##name = operands;
#define GRIDFOLD_REDUCE_OP(...)
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP
} // namespace detail

/// The keywords of the text form: no value, dim, graph or op can have such a name.
inline constexpr std::string_view reserved_words[]{"let", "where", "over", "by",   "groups",
                                                   "inf", "nan",   "true", "false"};

} // namespace gf
