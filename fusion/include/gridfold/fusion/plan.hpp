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

/// A set of a sweep's dims, by their positions in Sweep::dims.
class DimSet {
public:
    constexpr DimSet() = default;
    static constexpr DimSet of(std::size_t position) { return DimSet(1U << position); }
    /// The dims at positions [0, count): all those of a sweep of `count` dims.
    static constexpr DimSet first(std::size_t count) { return DimSet((1U << count) - 1); }

    constexpr bool empty() const { return bits_ == 0; }
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
    DimSet domain; ///< the dims that the value varies along
    int phase = 0; ///< how many phases of the sweep's folds must be complete before it
};

/// One fold over the dims of the sweep that are not kept: accumulate `value` wherever `mask` is true (−1 = everywhere).
/// Values that lack a folded dim are the same for every element along it. What is finalised of the fold varies along
/// the kept dims and has phase + 1.
struct Fold {
    const MonoidOp* monoid;
    DType element;     ///< the monoid's E: the type of `value`
    DType accumulator; ///< the monoid's A
    int value;
    int mask = -1;
    DimSet kept = {}; ///< the dims that its result varies along
    int phase = 0;    ///< the higher of those of `value` and `mask`
    friend bool operator==(const Fold&, const Fold&) = default;
};

/// Writes a value that varies along all dims of the sweep to an array of them. f16 and bf16 arrays narrow it. No sweep
/// loads an array that it stores.
struct Store {
    int value;
    int array;
};

/// Writes a value that varies along no dim to a scalar of the plan. Emptiness is an ordinary bool value beside it: an
/// empty scalar's `value` is 0 (floating: NaN).
struct Yield {
    int value;
    int scalar;
    int empty = -1; ///< the value, a bool, that says whether the scalar is empty; −1 = it never is
};

/// One traversal of one domain: loads → maps → folds and stores. One generated kernel.
///
/// Each value says what it varies along and which folds must be complete before it: a map has the dims of all its
/// operands and the highest of their phases. Today's backends run one phase of folds that keep no dim, so a value is
/// computed once before the elements, for each element, or once after the folds.
struct Sweep {
    std::vector<int> dims; ///< the domain, increasing positions; empty = one element
    int stage = 0;
    std::vector<Instruction> code; ///< operands before their users; by phase, and within one without dims first
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

/// A run-time scalar, or the extent of a dim.
struct Parameter {
    std::string name; ///< of an extent: "extent(n)"
    DType type;
    int dim = -1; ///< the dim whose extent it is; −1: it is bound by name
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

/// True if the value is computed once, before any element.
inline bool is_once_before(const Instruction& i) { return i.domain.empty() && i.phase == 0; }
/// True if the value is computed for each element.
inline bool is_per_element(const Instruction& i) { return !i.domain.empty(); }
/// True if the value is computed once, from complete folds.
inline bool is_after_folds(const Instruction& i) { return i.domain.empty() && i.phase > 0; }

/// The values of the sweep for which `when` holds, increasing.
std::vector<int> values_where(const Sweep& sweep, bool (*when)(const Instruction&));

/// The dims as a set of the sweep's; those that the sweep lacks are left out.
DimSet dim_set(const Sweep& sweep, std::span<const int> dims);

/// True if the sweep reads or writes the array one element after the other (its dims are the domain), not by strides.
bool is_flat(const Array& array, const Sweep& sweep);

/// The number of elements over these dims; empty where it does not fit std::int64_t. `extents`: by Plan::dims.
std::optional<std::int64_t> element_count(std::span<const int> dims, std::span<const std::int64_t> extents);

} // namespace gf::plan

namespace gf {
using plan::Plan;
} // namespace gf
