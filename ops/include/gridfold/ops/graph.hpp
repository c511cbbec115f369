// The user's graph: named dims, inputs, maps and reductions as a DAG, and the handles to its nodes.
//
// A Graph is a value that owns its DAG on the heap. Handles (Value, Dim) point to the DAG: after a move of the Graph
// they belong to the new Graph. Copying a Graph makes a second DAG; the handles still belong to the original
// (`copy.value(v.node())` is the copy's). Assigning to a Graph invalidates the handles of its old DAG. A handle must
// not be used after its DAG is destroyed; a moved-from Graph can only be assigned to and destroyed.
//
// Building a graph checks types, dims and names, everything known before run time, and throws InvalidGraph with the
// graph unchanged. A const Graph may be read from many threads.
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
#include <gridfold/core/id.hpp>
#include <gridfold/ops/op.hpp>

namespace gf {

class Graph;
struct Dag;

/// Of a node of one graph: the operands' are smaller.
using NodeId = Id<struct Node>;
/// Of a dim of one graph, in the order of declaration.
using DimId = Id<class Dim>;

/// A named extent of one graph.
class Dim {
public:
    Dim() = default;
    /// True for a dim of a graph, false for a default-constructed Dim.
    bool valid() const noexcept { return dag_ != nullptr; }
    /// "" for no dim.
    std::string_view name() const;
    DimId id() const noexcept { return id_; }
    const Dag* dag() const noexcept { return dag_; }
    friend bool operator==(const Dim&, const Dim&) = default;

private:
    friend class Graph;
    friend struct Dag;
    Dim(const Dag* dag, DimId id) : dag_(dag), id_(id) {}
    const Dag* dag_ = nullptr;
    DimId id_;
};

/// A handle to a node of a graph. Cheap to copy. Using a default-constructed one in a graph is an InvalidGraph. It has
/// no operator bool and no comparison of handles: `==`, `!`, `&&` build graphs (expr.hpp).
class Value {
public:
    Value() = default;
    bool valid() const noexcept { return dag_ != nullptr; }
    DType type() const;
    /// The dims of its domain, in the graph's order (an input: in its memory order).
    std::vector<Dim> dims() const;
    Dag* dag() const noexcept { return dag_; }
    NodeId node() const noexcept { return node_; }

private:
    friend struct Dag;
    Value(Dag* dag, NodeId node) : dag_(dag), node_(node) {}
    Dag* dag_ = nullptr;
    NodeId node_;
};

/// A number written in an expression. Weak, as in NumPy 2: it takes the type of the values it is combined with. An
/// integer must fit that type; a floating literal combined with integers gives f64.
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

/// The highest rank of reduce_op::largest, which top_k() and its monoid keep the elements for.
inline constexpr int max_rank_of_largest = 15;

/// The options of a reduction.
struct ReduceOptions {
    std::optional<Value> where{};       ///< bool; elements where it is false are skipped
    std::optional<Value> by{};          ///< a group key (not in this version: InvalidGraph)
    std::int64_t groups = 0;            ///< the number of groups
    std::vector<Dim> over{};            ///< the dims to fold; none = all of them
    std::optional<DType> accumulate{};  ///< the accumulator type, if the reduction takes one
    int ddof = 0;                       ///< divisor n − ddof, for variance, stddev and covariance
    int rank = 0;                       ///< for largest: the number of elements before it in descending order
    std::optional<Literal> otherwise{}; ///< the result where too few elements are folded, instead of NaN or empty
};

/// What a shift reads outside of the dim: a number, the nearest element, or the elements from the other end on.
enum class EdgeKind : std::uint8_t { value, clamp, wrap };
struct Edge {
    EdgeKind kind = EdgeKind::value;
    Literal number = 0; ///< of EdgeKind::value
};
namespace edge {
inline Edge value(Literal number) { return {EdgeKind::value, number}; }
inline constexpr Edge clamp{EdgeKind::clamp}, wrap{EdgeKind::wrap};
} // namespace edge

/// The kind of a node.
enum class NodeKind : std::uint8_t { input, scalar, constant, index, extent, map, cast, shift, reduce };

/// A node's attributes; its operands are its in-edges.
struct Node {
    NodeKind kind;
    DType type;                       ///< the type of its value
    std::vector<DimId> dims;          ///< inputs in memory order, everything else increasing
    std::string name;                 ///< inputs, scalars; or the user's name for a value ("" if none)
    std::uint64_t bits = 0;           ///< constant, and a shift's number: the value's bytes, zero-extended
    DimId dim = {};                   ///< index, extent, shift: the position of the dim
    std::int64_t offset = 0;          ///< shift
    EdgeKind edge = EdgeKind::value;  ///< shift
    const MapOp* map = nullptr;       ///< map
    DType compute = DType::f32;       ///< map: the type T that it computes in; its operands have that type
    const ReduceOp* reduce = nullptr; ///< reduce
    DType accumulator = DType::f32;   ///< reduce
    bool masked = false;              ///< reduce: the last operand is the mask; those before it are folded
    int argument = 0;                 ///< reduce: what its ReduceArgument says
    /// reduce: the bytes of its result where too few elements are folded, zero-extended
    std::optional<std::uint64_t> otherwise = {};
};

/// A reduction's operands without its mask, and the mask; none without one.
std::span<const NodeId> folded_operands(const Node& reduce, std::span<const NodeId> operands);
NodeId mask_operand(const Node& reduce, std::span<const NodeId> operands);

/// The dims of a node's value in the graph's order (Node::dims of an input are in memory order).
std::vector<DimId> domain_of(const Node& node);

/// The handle of a scalar result of type T, from Graph::output<T>, for Results::operator[].
template <Element T> class Result {
public:
    const std::string& name() const noexcept { return name_; }

private:
    friend class Graph;
    explicit Result(std::string_view name) : name_(name) {}
    std::string name_;
};

/// The handle of an array result of type T, from Graph::output_array<T>.
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
///
/// A Value or a Dim is a handle: it is valid while its graph lives. Moving a Graph keeps its handles. A copy is another
/// graph, whose handles value() and dim_at() give. A moved-from Graph refuses every use but assignment (InvalidGraph).
class Graph {
public:
    explicit Graph(std::string name = "graph");
    Graph(const Graph&);
    Graph(Graph&&) noexcept;
    Graph& operator=(const Graph&);
    Graph& operator=(Graph&&) noexcept;
    ~Graph();

    const std::string& name() const;

    /// Declares a dim. Its extent is fixed here or, without `extent`, bound at run time.
    Dim dim(std::string_view name, std::optional<std::int64_t> extent = {});
    /// Declares an array input; `dims` are in its memory order, outermost first. Without dims: a run-time scalar.
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
    /// gf::map, gf::cast, gf::shift and gf::reduce, for values of this graph.
    Value map(const MapOp& row, std::span<const Operand> operands);
    Value cast(Value value, DType type);
    Value shift(Value value, Dim dim, std::int64_t offset, const Edge& edge);
    Value reduce(const ReduceOp& row, std::span<const Value> values, const ReduceOptions& options = {});
    Value reduce(const ReduceOp& row, Value value, const ReduceOptions& options = {}) {
        return reduce(row, {&value, 1}, options);
    }
    /// Names a value that has no name yet, for the text form and for messages. Returns the value.
    Value let(std::string_view name, Value value);
    /// Names a result. Order of calls is the order of results. `order`: the dims of an array result in its memory
    /// order, outermost first; without it, the graph's order. InvalidGraph unless `order` lists each dim of the value
    /// once.
    void output(std::string_view name, Value value, std::span<const Dim> order = {});
    void output(std::string_view name, Value value, std::initializer_list<Dim> order) {
        output(name, value, std::span(order.begin(), order.size()));
    }
    /// Names a result and returns its typed handle. InvalidGraph unless the value is a scalar of type T, or for
    /// output_array an array of T.
    template <Element T> Result<T> output(std::string_view name, Value value) {
        Result<T> result(name);
        check_output(name, value, dtype_of<T>, false);
        output(name, value);
        return result;
    }
    template <Element T>
    ArrayResult<T> output_array(std::string_view name, Value value, std::initializer_list<Dim> order = {}) {
        ArrayResult<T> result(name);
        check_output(name, value, dtype_of<T>, true);
        output(name, value, order);
        return result;
    }

    // For passes, printers and backends. Nodes are numbered from 0 in a topological order: operands come first.
    int node_count() const;
    Ids<NodeId> nodes() const { return Ids<NodeId>(static_cast<std::size_t>(node_count())); }
    const Node& node(NodeId node) const;
    /// The operands of a node, by slot.
    std::vector<NodeId> operands(NodeId node) const;
    /// The nodes that read a node, once for each slot.
    std::vector<NodeId> users(NodeId node) const;
    struct DimInfo {
        std::string name;
        std::optional<std::int64_t> extent;
    };
    const Table<DimId, DimInfo>& dims() const;
    struct Output {
        std::string name;
        NodeId node;
        std::vector<DimId> order = {}; ///< an array's dims in memory order; none: the graph's order
    };
    std::span<const Output> outputs() const;
    /// The dims of a result's array in memory order, outermost first; none for a scalar.
    std::vector<DimId> dims_of(const Output& output) const;
    const Dag& dag() const;

    /// Appends a node as given and returns its number. Checks only that the operands, given by number, exist
    /// (InternalError). Passes rebuild a graph with it, node by node in topological order.
    NodeId append(const Node& node, std::span<const NodeId> operands);
    /// An empty graph with this one's name and dims, to be filled with append().
    Graph like() const;
    void append_output(std::string name, NodeId node, std::vector<DimId> order = {});

    /// The handle of a node, or of a dim. InvalidGraph if there is none.
    Value value(NodeId node);
    Dim dim_at(DimId dim) const;

private:
    /// InvalidGraph unless the value is a scalar, or an array, of that type.
    void check_output(std::string_view name, const Value& value, DType type, bool is_array) const;
    Dag& mutable_dag();
    std::unique_ptr<Dag> dag_;
};

/// Applies a map to operands of one graph, at least one of them a value. Operands are converted to the row's compute
/// type: values by cast nodes, literals to constants. The domain is the union of the operands' domains. InvalidGraph if
/// the row does not take the types, a literal does not fit, or the domain has more than max_rank dims.
Value map(const MapOp& row, std::span<const Operand> operands);
Value map(const MapOp& row, std::initializer_list<Operand> operands);
/// The value converted to a type; the same value if it has that type.
Value cast(Value value, DType type);
/// The most elements that a shift moves by: as many as a domain has at most.
inline constexpr std::int64_t max_shift = std::int64_t{1} << 48;
/// The value moved along one of its dims: element i is element i + offset of `value`, or what `edge` says where that is
/// outside of the dim. An offset of 0 gives the value itself. The value is computed again at the other place, not
/// stored: x - gf::shift(x, n, -1, gf::edge::value(0)) is a map. InvalidGraph for a value that lacks the dim, an offset
/// beyond max_shift, or a number that the value's type does not hold.
Value shift(Value value, Dim dim, std::int64_t offset, const Edge& edge);
/// Folds the dims `over` of the values, or every dim (a value without dims has one element). The result has the dims
/// that are not folded, in the graph's order: one result for each of their coordinates. As many values as the reduction
/// has operands, of one graph; those that lack dims of the others are broadcast along them, and values of several types
/// are converted as the reduction's OperandRule says. The mask's dims are a subset of the values'; it is broadcast
/// along the others. InvalidGraph for another number of values, a mask that is not bool, an accumulator that the
/// reduction does not take, a negative ddof, a rank that is not from 0 to max_rank_of_largest, one of them for a
/// reduction without it, `otherwise` without a mask or a rank, of a type that does not hold it or for a reduction that
/// has a result over nothing, for `over` a dim that the value lacks, or one twice; and, in this version, for `by`.
Value reduce(const ReduceOp& row, std::span<const Value> values, const ReduceOptions& options = {});
inline Value reduce(const ReduceOp& row, Value value, const ReduceOptions& options = {}) {
    return reduce(row, {&value, 1}, options);
}
/// The largest elements in descending order, along the dim `rank`, which the value lacks and whose fixed extent says
/// how many: at most max_rank_of_largest + 1. NaN comes first. Empty (floating: NaN) from the number of folded elements
/// on. It is reduce_op::largest of each rank, side by side. InvalidGraph for another dim, and as reduce().
Value top_k(Value value, Dim rank, const ReduceOptions& options = {});

} // namespace gf
