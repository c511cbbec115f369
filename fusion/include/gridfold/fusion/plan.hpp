// A Plan: the ordered sweeps of a graph, with the arrays and scalars between them. Plain data without pointers into
// the graph. Backends run it, explain() describes it, verify() checks it.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gridfold/core/dtype.hpp>
#include <gridfold/core/id.hpp>
#include <gridfold/fusion/order.hpp>
#include <gridfold/ops/graph.hpp>
#include <gridfold/ops/op.hpp>

namespace gf::plan {

using ValueId = Id<struct Instruction>; ///< in Sweep::code
using FoldId = Id<struct Fold>;         ///< in Sweep::folds
using SweepId = Id<struct Sweep>;       ///< in Plan::sweeps
using ArrayId = Id<struct Array>;
using ParameterId = Id<struct Parameter>;
using ScalarId = Id<struct Scalar>;

/// A set of a sweep's dims, by their positions in Sweep::dims.
class DimSet {
public:
    constexpr DimSet() = default;
    static constexpr DimSet of(std::size_t position) { return DimSet(1U << position); }
    /// The positions [0, count): all dims of a sweep that has `count`.
    static constexpr DimSet first(std::size_t count) { return DimSet((1U << count) - 1); }

    constexpr bool empty() const { return bits_ == 0; }
    constexpr unsigned bits() const { return bits_; } ///< bit d: the position d
    constexpr bool contains(std::size_t position) const { return (bits_ >> position & 1U) != 0; }
    constexpr DimSet& operator|=(DimSet other) {
        bits_ |= other.bits_;
        return *this;
    }
    friend constexpr bool operator==(DimSet, DimSet) = default;

private:
    constexpr explicit DimSet(unsigned bits) : bits_(bits) {}
    unsigned bits_ = 0;
};

/// The operation of an Instruction.
enum class Opcode : std::uint8_t {
    constant,  ///< the value of `type` with the bytes `bits`
    parameter, ///< the run-time scalar `parameter`, widened
    read,      ///< `scalar`, yielded by an earlier sweep, widened
    is_empty,  ///< true if an earlier sweep yielded `scalar` as empty; bool
    load,      ///< the element of `array` at this element's coordinates, changed by `steps`
    index,     ///< the coordinate along `dim`, i64
    map,       ///< `map` of the operands, which have type `compute`, except select's first
    cast,      ///< operand 0 converted to `type`
    round,     ///< operand 0 rounded to the nearest `round_to` (f16 or bf16) and widened to f32 again
    payload,   ///< the bytes of operand 0, zero-extended, u64
    finalize,  ///< the result of `reduce` from `fold`; unspecified if undefined for no elements
};

/// One step of a load's coordinates: adds the offset, and then wraps or clamps what is outside of the dim.
struct Step {
    DimId dim;
    std::int64_t offset;
    bool wraps;
    friend auto operator<=>(const Step&, const Step&) = default; // NOLINT(modernize-use-nullptr): a false positive
};

/// One instruction. Its id in Sweep::code is its value's. Values are never f16 or bf16: they are f32 that hold a number
/// of the half type (loads widen, `round` rounds, stores narrow).
struct Instruction {
    Opcode opcode;
    DType type;                                   ///< the type of the value
    std::array<ValueId, max_arity> operands = {}; ///< of values before this one
    ParameterId parameter = {};
    ScalarId scalar = {};
    ArrayId array = {};
    DimId dim = {};
    FoldId fold = {};
    std::uint64_t bits = 0;
    const MapOp* map = nullptr;
    DType compute = DType::f32;
    DType round_to = DType::f16;
    const ReduceOp* reduce = nullptr;
    DType element = DType::f32, accumulator = DType::f32; ///< finalize: the parameters of the fold's monoid
    int argument = 0;                                     ///< finalize: the reduction's ReduceArgument
    std::vector<Step> steps = {};                         ///< load: in the order in which they change the coordinates
    DimSet domain;                                        ///< the dims that the value varies along
    int phase = 0; ///< the number of phases of folds that must be complete before it
};

/// One fold over the dims of the sweep that are not kept: accumulates `value`, with `others` if the monoid has several
/// operands, where `mask` is true (no mask: everywhere). A value that lacks a folded dim is the same for every element
/// along it. Finalised values of the fold vary along the kept dims and have phase + 1.
struct Fold {
    const MonoidOp* monoid;
    DType element;     ///< the monoid's E: the type of `value`
    DType accumulator; ///< the monoid's A
    ValueId value;
    std::array<ValueId, max_arity - 1> others = {}; ///< the monoid's second and third operand
    ValueId mask = {};
    DimSet kept = {}; ///< the dims that its result varies along
    int phase = 0;    ///< the highest phase of its values
    /// What it reads: its operands and the mask, without those that it lacks.
    std::vector<ValueId> reads() const;
    friend bool operator==(const Fold&, const Fold&) = default;
};

/// Writes a value of elements that varies along all dims of the sweep, or a value of results, to an array with the same
/// dims, in any order. f16 and bf16 arrays narrow it. No sweep loads an array that it stores.
struct Store {
    ValueId value;
    ArrayId array;
};

/// Writes a value that varies along no dim to a scalar of the plan. Emptiness is a second, ordinary bool value: `value`
/// of an empty scalar is 0 (floating: NaN).
struct Yield {
    ValueId value;
    ScalarId scalar;
    ValueId empty = {}; ///< the bool value that is true if the scalar is empty; none: it never is
};

/// One traversal of one domain: loads → maps → folds and stores. One generated kernel.
///
/// Each value states the dims it varies along and the folds that must be complete before it: a map has the dims of all
/// its operands and the highest of their phases. All folds of a sweep keep the same dims: so a value is computed once
/// before the elements, for each element, or after folds: once, or where they keep dims for each result. Only the
/// sweeps that join_phases() makes have several phases of folds, or values of elements that wait for folds.
struct Sweep {
    std::vector<DimId> dims; ///< the domain, increasing; empty = one element
    int stage = 0;
    Table<ValueId, Instruction> code; ///< operands before their users; by phase, and within one without dims first
    Table<FoldId, Fold> folds;
    std::vector<Store> stores;
    std::vector<Yield> yields;
    std::vector<SweepId> after; ///< earlier sweeps whose scalars or arrays this one reads; increasing
    std::string reason;         ///< why it is a separate sweep: "" for the first, else "mean → sub → sum"
};

enum class ArrayRole : std::uint8_t { input, output, temporary };

/// An array that a plan reads or writes; `dims` in memory order, outermost first.
struct Array {
    std::string name;
    DType type;
    std::vector<DimId> dims;
    ArrayRole role;
    /// Bound with strides: sweeps read it by coordinates. False in the plans that passes make (with_strides()).
    bool strided = false;
};

/// A run-time scalar, or the extent of a dim.
struct Parameter {
    std::string name; ///< for an extent: "extent(n)"
    DType type;
    DimId dim = {}; ///< the dim whose extent it is; none: a scalar bound by name
};

/// A scalar that a sweep yields to later sweeps and to the results.
struct Scalar {
    DType type;                ///< the type of the result (may be f16)
    bool may_be_empty = false; ///< its Yield has `empty`
};

/// One result, in the order of the graph: a scalar or an array.
struct Output {
    std::string name;
    ScalarId scalar = {};
    ArrayId array = {};
    ArrayId validity = {}; ///< of an array: a bool array of its dims, false where it is empty; none: nowhere
};

/// A reduction that folds a dim and has no value for an extent of 0.
struct NeedsElements {
    std::string reduction;   ///< its text
    std::vector<DimId> kept; ///< the dims that it keeps: if one of them is empty, there is no result to have a value
    friend bool operator==(const NeedsElements&, const NeedsElements&) = default;
};

struct PlanDim {
    std::string name;
    std::optional<std::int64_t> extent;
    std::vector<NeedsElements>
        needs_elements; ///< the first reduction that needs its elements, for each set of kept dims
};

struct Plan {
    std::string name;
    std::string graph_text; ///< canonical, for messages
    Table<DimId, PlanDim> dims;
    Table<ArrayId, Array> arrays;
    Table<ParameterId, Parameter> parameters;
    Table<ScalarId, Scalar> scalars;
    Table<SweepId, Sweep> sweeps;
    std::vector<Output> outputs;
    bool may_join = true; ///< backends may join sweeps of the same rows; not in a plan with a sweep for each node
};

/// True if the value is computed once, before any element.
inline bool is_once_before(const Instruction& i) { return i.domain.empty() && i.phase == 0; }
/// True if the value is computed once, from complete folds.
inline bool is_after_folds(const Instruction& i) { return i.domain.empty() && i.phase > 0; }
/// True if the value is computed for each element.
bool is_per_element(const Sweep& sweep, const Instruction& i);
/// True if the value is computed for each result of folds that keep dims.
bool is_per_result(const Sweep& sweep, const Instruction& i);

/// The values of the sweep for which `when` holds, increasing.
std::vector<ValueId> values_where(const Sweep& sweep, bool (*when)(const Instruction&));
std::vector<ValueId> values_where(const Sweep& sweep, bool (*when)(const Sweep&, const Instruction&));

/// The dims as a set of the sweep's dims, without those that the sweep lacks.
DimSet dim_set(const Sweep& sweep, std::span<const DimId> dims);

/// The dims of a set of the sweep's dims.
std::vector<DimId> dims_of(const Sweep& sweep, DimSet set);

/// The dims that the sweep's folds keep; none without folds.
DimSet kept_dims(const Sweep& sweep);
/// True if the folds keep dims, and none inside a folded one: each result is a row, with the order that it has alone.
bool folds_rows(const Sweep& sweep);

/// The order of the sweep's folds. `extents`: by Plan::dims.
FoldOrder fold_order(const Sweep& sweep, std::span<const std::int64_t> extents);

/// True if the array's dims are the domain, so that the sweep accesses it in order, without strides.
bool is_flat(const Array& array, const Sweep& sweep);
/// True if the load reads its array in the order of the domain's elements.
bool is_in_order(const Instruction& load, const Plan& plan, const Sweep& sweep);
/// True if the store writes its array in the order of the elements, or of the results, that it stores.
bool is_flat(const Store& store, const Plan& plan, const Sweep& sweep);
/// The plan for bindings that give some arrays strides. `strided`: by Plan::arrays.
Plan with_strides(const Plan& plan, const std::vector<bool>& strided);

/// The number of elements over these dims; empty if it does not fit std::int64_t. `extents`: by Plan::dims.
std::optional<std::int64_t> element_count(std::span<const DimId> dims, std::span<const std::int64_t> extents);

/// True for equal extents, which consecutive problems often have. A loop, because a call of memcmp takes longer.
inline bool same_extents(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
    bool same = a.size() == b.size();
    for (std::size_t i = 0; same && i < a.size(); ++i) same = a[i] == b[i];
    return same;
}

} // namespace gf::plan

namespace gf {
using plan::Plan;
} // namespace gf
