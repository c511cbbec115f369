// The user's graph: named dims, inputs, maps and reductions as a DAG, and the handles to its nodes.
//
// A Graph is a value that owns its DAG on the heap. Handles (Value, Dim) point at the DAG: they survive moves of the
// Graph and belong to the graph moved to. Copying a Graph makes a second DAG; the handles still belong to the original
// (`copy.value(v.node())` is the copy's), and assigning to a Graph ends the handles of what it held. A handle must not
// be used after its DAG is gone; a moved-from Graph can only be assigned to and destroyed.
//
// Building a graph checks everything that can be known before run time (types, dims, names) and throws InvalidGraph
// with the graph unchanged. A const Graph may be read from many threads.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gridfold/core/dtype.hpp>
#include <gridfold/core/error.hpp>
#include <gridfold/ops/op.hpp>

namespace gf {

class Graph;
struct Dag;

/// A named extent of one graph. Its position is the order of declaration.
class Dim {
public:
    Dim() = default;
    /// Is this a dim of some graph? (A default-constructed one is not.)
    bool valid() const noexcept { return dag_ != nullptr; }
    /// "" for no dim.
    std::string_view name() const;
    int position() const noexcept { return position_; }
    const Dag* dag() const noexcept { return dag_; }
    friend bool operator==(const Dim&, const Dim&) = default;

private:
    friend class Graph;
    friend struct Dag;
    Dim(const Dag* dag, int position) : dag_(dag), position_(position) {}
    const Dag* dag_ = nullptr;
    int position_ = -1;
};

/// A handle to a node of a graph. Cheap to copy. Default-constructed it is no value, and using it in a graph is an
/// InvalidGraph. It has no operator bool and no comparison of handles: `==`, `!`, `&&` build graphs (expr.hpp).
class Value {
public:
    Value() = default;
    bool valid() const noexcept { return dag_ != nullptr; }
    DType type() const;
    /// The dims of its domain, in the graph's order (an input: in its memory order).
    std::vector<Dim> dims() const;
    Dag* dag() const noexcept { return dag_; }
    int node() const noexcept { return node_; }

private:
    friend struct Dag;
    Value(Dag* dag, int node) : dag_(dag), node_(node) {}
    Dag* dag_ = nullptr;
    int node_ = -1;
};

/// A number written in an expression. Weak, as in NumPy 2: it takes the type of what it meets. An integer must fit
/// that type; a floating literal that meets integers gives f64.
struct Literal {
    enum class Kind : std::uint8_t { boolean, integer, unsigned_integer, floating } kind;
    union {
        bool boolean;
        std::int64_t integer;
        std::uint64_t unsigned_integer;
        double floating;
    };
    template <class N>
        requires std::is_arithmetic_v<N>
    constexpr Literal(N number) { // NOLINT(google-explicit-constructor): expressions read as x + 1
        if constexpr (std::is_same_v<N, bool>)
            kind = Kind::boolean, boolean = number;
        else if constexpr (std::is_floating_point_v<N>)
            kind = Kind::floating, floating = static_cast<double>(number);
        else if constexpr (std::is_unsigned_v<N>)
            kind = Kind::unsigned_integer, unsigned_integer = number;
        else
            kind = Kind::integer, integer = number;
    }
};

/// An operand of a map: a value or a literal.
struct Operand {
    Value value;                                 ///< valid, or
    std::optional<Literal> literal;              ///< set
    Operand(Value v) : value(v) {}               // NOLINT(google-explicit-constructor)
    Operand(Literal number) : literal(number) {} // NOLINT(google-explicit-constructor)
    template <class N>
        requires std::is_arithmetic_v<N>
    Operand(N number) : literal(number) {} // NOLINT(google-explicit-constructor)
};

/// How a reduction folds.
struct ReduceOptions {
    std::optional<Value> where{};      ///< bool; elements where it is false are skipped
    std::optional<Value> by{};         ///< a group key (not in this version: InvalidGraph)
    std::int64_t groups = 0;           ///< the number of groups
    std::vector<Dim> over{};           ///< the dims to fold; none = all
    std::optional<DType> accumulate{}; ///< the accumulator type, where the reduction takes one
    int ddof = 0;                      ///< divisor n − ddof, for variance and stddev
};

/// What a node is.
enum class NodeKind : std::uint8_t { input, scalar, constant, index, extent, map, cast, reduce };

/// A node's own facts; its operands are its in-edges.
struct Node {
    NodeKind kind;
    DType type;                       ///< of its value
    std::vector<int> dims;            ///< positions; inputs in memory order, everything else increasing
    std::string name;                 ///< inputs, scalars; or the user's name for a value ("" if none)
    std::uint64_t bits = 0;           ///< constant: the value's bytes, little-endian, zero-extended
    int dim = -1;                     ///< index, extent: which dim
    const MapOp* map = nullptr;       ///< map
    DType compute = DType::f32;       ///< map: the type T that it computes in; operands are already of it
    const ReduceOp* reduce = nullptr; ///< reduce
    DType accumulator = DType::f32;   ///< reduce
    bool masked = false;              ///< reduce: operand 1 is the mask
    int ddof = 0;                     ///< reduce
};

/// The dims of a node's value in the graph's order (an input lists its own in memory order).
std::vector<int> domain_of(const Node& node);

/// A scalar result and its type: what Graph::output<T> gives and Results::operator[] takes.
template <Element T> class Result {
public:
    const std::string& name() const noexcept { return name_; }

private:
    friend class Graph;
    explicit Result(std::string_view name) : name_(name) {}
    std::string name_;
};

/// The same of an array result.
template <Element T> class ArrayResult {
public:
    const std::string& name() const noexcept { return name_; }

private:
    friend class Graph;
    explicit ArrayResult(std::string_view name) : name_(name) {}
    std::string name_;
};

/// A graph of maps feeding reductions.
///
/// A name is [A-Za-z_][A-Za-z0-9_]*, not an element type's and none of let where over by groups inf nan true false.
/// Values (inputs, scalars, named values), dims and outputs have a namespace each; an output can't have the name of an
/// input, because both are bound by name.
class Graph {
public:
    explicit Graph(std::string name = "graph");
    Graph(const Graph&);
    Graph(Graph&&) noexcept;
    Graph& operator=(const Graph&);
    Graph& operator=(Graph&&) noexcept;
    ~Graph();

    const std::string& name() const noexcept;

    /// Declares a dim; its extent is bound at run time, or fixed here.
    Dim dim(std::string_view name, std::optional<std::int64_t> extent = {});
    /// Declares an array input; `dims` in its memory order, outermost first. No dims: a run-time scalar.
    Value input(std::string_view name, DType type, std::span<const Dim> dims);
    template <Element T> Value input(std::string_view name, std::initializer_list<Dim> dims) {
        return input(name, dtype_of<T>, std::span(dims.begin(), dims.size()));
    }
    /// Declares a run-time scalar, bound by value.
    Value scalar(std::string_view name, DType type);
    template <Element T> Value scalar(std::string_view name) { return scalar(name, dtype_of<T>); }
    /// A constant of the given type.
    Value constant(Literal literal, DType type);
    /// The index along a dim, as i64.
    Value index(Dim dim);
    /// The extent of a dim, as i64: a value without dims, known when arrays are bound.
    Value extent(Dim dim);
    /// gf::map, gf::cast and gf::reduce, for values of this graph.
    Value map(const MapOp& row, std::span<const Operand> operands);
    Value cast(Value value, DType type);
    Value reduce(const ReduceOp& row, Value value, const ReduceOptions& options = {});
    /// Names a value that has no name yet, for the text form and for messages; returns it.
    Value let(std::string_view name, Value value);
    /// Names a result. Order of calls is the order of results.
    void output(std::string_view name, Value value);
    /// The same, with the type that the caller will read: a scalar or an array of T. InvalidGraph where the value is
    /// another.
    template <Element T> Result<T> output(std::string_view name, Value value) {
        Result<T> result(name);
        check_output(name, value, dtype_of<T>, false);
        output(name, value);
        return result;
    }
    template <Element T> ArrayResult<T> output_array(std::string_view name, Value value) {
        ArrayResult<T> result(name);
        check_output(name, value, dtype_of<T>, true);
        output(name, value);
        return result;
    }

    // What a pass, a printer or a backend reads. Nodes are numbered from 0 in a topological order: operands come first.
    int node_count() const;
    const Node& node(int node) const;
    /// The operands of a node, by slot.
    std::vector<int> operands(int node) const;
    /// The nodes that read a node, once for each slot.
    std::vector<int> users(int node) const;
    struct DimInfo {
        std::string name;
        std::optional<std::int64_t> extent;
    };
    std::span<const DimInfo> dims() const;
    struct Output {
        std::string name;
        int node;
    };
    std::span<const Output> outputs() const;
    const Dag& dag() const noexcept { return *dag_; }

    /// Appends a node exactly as given, its operands by number, unchecked but for their range (InternalError): how a
    /// pass rebuilds a graph, node by node in topological order. Returns its number.
    int append(const Node& node, std::span<const int> operands);
    /// An empty graph with this one's name and dims: where such a rebuilding starts.
    Graph like() const;
    void append_output(std::string name, int node);

    /// The handle of a node, or of a dim, by its number. InvalidGraph if there is none.
    Value value(int node);
    Dim dim_at(int position) const;

private:
    /// InvalidGraph unless the value is a scalar, or an array, of that type.
    void check_output(std::string_view name, const Value& value, DType type, bool is_array) const;
    std::unique_ptr<Dag> dag_;
};

/// Applies a map to operands of one graph, at least one of them a value. Operands are brought to the row's compute
/// type: values by cast nodes, literals as constants of it. The domain is the union of the operands'. InvalidGraph if
/// the row has no meaning for the types, a literal does not fit, or the domain has more than max_rank dims.
Value map(const MapOp& row, std::span<const Operand> operands);
Value map(const MapOp& row, std::initializer_list<Operand> operands);
/// The value converted to a type: itself if it has that type.
Value cast(Value value, DType type);
/// Folds every dim of the value (of a value without dims: its one element). The mask's dims are a subset of the
/// value's, along whose other dims it is broadcast. InvalidGraph for a mask that is not bool, an accumulator that the
/// reduction does not take, ddof below 0 or where there is none; and, in this version, for `over` fewer dims and for
/// `by`.
Value reduce(const ReduceOp& row, Value value, const ReduceOptions& options = {});

} // namespace gf
