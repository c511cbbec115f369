// A Plan: the ordered sweeps of a graph, with the arrays and scalars between them. Plain data without pointers into
// the graph: what backends run, what explain() describes, what verify() checks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gridfold/core/dtype.hpp>
#include <gridfold/ops/op.hpp>

namespace gf::plan {

/// What an instruction of a Program does.
enum class Opcode : std::uint8_t {
    constant,  ///< `bits`, of `type`
    parameter, ///< run-time scalar number `slot` of Plan::parameters, widened
    read,      ///< scalar number `slot` of Plan::scalars, yielded by an earlier sweep, widened
    is_empty,  ///< true if an earlier sweep yielded scalar number `slot` of Plan::scalars as empty; bool
    load,      ///< the element of array `slot` of Plan::arrays at this element's coordinates
    index,     ///< the coordinate along dim `slot`, i64
    map,       ///< `map` on the operands; all but bool-by-rule operands have type `compute`
    cast,      ///< operand 0 converted to `type`
    round,     ///< operand 0 rounded to the nearest `round_to` (f16 or bf16) and widened to f32 again
    finalize,  ///< what `reduce` reads off fold number `slot`; unspecified where an undefined reduction folded nothing
};

/// One instruction; its value is named by its position in Sweep::code. Values are never f16 or bf16: those live as f32
/// that hold a representable number (loads widen, `round` rounds, stores narrow).
struct Instruction {
    Opcode opcode;
    DType type;                                      ///< of the value
    std::array<int, max_arity> operands{-1, -1, -1}; ///< value numbers, all smaller than this one's
    int slot = -1;
    std::uint64_t bits = 0;
    const MapOp* map = nullptr;
    DType compute = DType::f32;
    DType round_to = DType::f16;
    const ReduceOp* reduce = nullptr;
    DType element = DType::f32, accumulator = DType::f32; ///< finalize: the fold's monoid's parameters
    int ddof = 0;
};

/// One fold of a sweep's body into one state: accumulate `value` wherever `mask` is true (−1 = everywhere). Both may
/// be prologue values, the same for every element.
struct Fold {
    const MonoidOp* monoid;
    DType element;     ///< the monoid's E: the type of `value`
    DType accumulator; ///< the monoid's A
    int value;
    int mask = -1;
    friend bool operator==(const Fold&, const Fold&) = default;
};

/// Writes a body value to an array of the sweep's domain. f16 and bf16 arrays
/// narrow it. No sweep loads an array that it stores.
struct Store {
    int value;
    int array;
};

/// Writes a prologue or epilogue value to a scalar of the plan. Emptiness is an ordinary bool value beside it: an empty
/// scalar's `value` is 0 (floating: NaN).
struct Yield {
    int value;
    int scalar;
    int empty = -1; ///< the value, a bool, that says whether the scalar is empty; −1 = it never is
};

/// One traversal of one domain: loads → maps → folds and stores. One generated kernel.
///
/// `code` is three sections in one numbering: [0, body) the prologue, computed once from constants, parameters and
/// earlier sweeps' scalars; [body, epilogue) once an element; [epilogue, end) once, after the folds. The body may use
/// prologue values, the epilogue prologue values and finalize instructions, never body values.
struct Sweep {
    std::vector<int> dims; ///< the domain, increasing positions; empty = one element
    int stage = 0;
    std::vector<Instruction> code;
    int body = 0;
    int epilogue = 0;
    std::vector<Fold> folds;
    std::vector<Store> stores;
    std::vector<Yield> yields;
    std::vector<int> after; ///< earlier sweeps (by number) whose scalars or arrays this one reads; increasing
    std::string reason;     ///< why it is a sweep of its own: "" for the first, else "mean → sub → sum"
};

enum class ArrayRole : std::uint8_t { input, output, temporary };

/// An array that a plan reads or writes; `dims` in memory order, outermost first.
struct Array {
    std::string name;
    DType type;
    std::vector<int> dims;
    ArrayRole role;
};

/// A run-time scalar.
struct Parameter {
    std::string name;
    DType type;
};

/// A value that a sweep yields, for later sweeps and for results.
struct Scalar {
    DType type;                ///< as the user sees it (may be f16)
    bool may_be_empty = false; ///< its Yield has `empty`
};

/// One result, in the order of the graph: exactly one of the two numbers is set.
struct Output {
    std::string name;
    int scalar = -1; ///< number in Plan::scalars
    int array = -1;  ///< number in Plan::arrays
};

struct PlanDim {
    std::string name;
    std::optional<std::int64_t> extent;
    bool must_not_be_empty = false; ///< a reduction over it has no value for an extent of 0: `needs_elements_of`
    std::string needs_elements_of;  ///< the text of the first such reduction
};

struct Plan {
    std::string name;
    std::string graph_text; ///< canonical, for messages
    std::vector<PlanDim> dims;
    std::vector<Array> arrays;
    std::vector<Parameter> parameters;
    std::vector<Scalar> scalars;
    std::vector<Sweep> sweeps;
    std::vector<Output> outputs;
};

/// True if the sweep reads or writes the array one element after the other (its dims are the domain), not by strides.
bool is_flat(const Array& array, const Sweep& sweep);

/// The number of elements over these dims; empty where it does not fit std::int64_t. `extents`: by Plan::dims.
std::optional<std::int64_t> element_count(std::span<const int> dims, std::span<const std::int64_t> extents);

} // namespace gf::plan

namespace gf {
using plan::Plan;
} // namespace gf
