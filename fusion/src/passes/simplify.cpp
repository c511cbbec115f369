#include "passes/simplify.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <gridfold/ops/type_rule.hpp>

#include "passes/placement.hpp"
#include "passes/rebuild.hpp"

namespace gf::plan {

namespace {

/// The bits of an integer that the type represents exactly: a floating type's significand, an integer's magnitude.
int precision_of(DType type) {
    switch (type) {
    case DType::boolean: return 1;
    case DType::f16: return 11;
    case DType::bf16: return 8;
    case DType::f32: return 24;
    case DType::f64: return 53;
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64: return 8 * static_cast<int>(size_of(type)) - 1;
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64: return 8 * static_cast<int>(size_of(type));
    }
    return 0;
}

/// The constants in rules about maps, in any type.
enum class Special : std::uint8_t { nothing, zero, minus_zero, one, all_ones };

std::optional<std::uint64_t> bits_of(Special special, DType type) {
    const int bits = 8 * static_cast<int>(size_of(type));
    switch (special) {
    case Special::nothing: return {};
    case Special::zero: return 0;
    case Special::minus_zero: return is_floating(type) ? std::uint64_t{1} << (bits - 1) : 0;
    case Special::one: return constant_bits(1, type);
    case Special::all_ones: return type == DType::boolean ? 1 : ~std::uint64_t{0} >> (64 - bits);
    }
    return {};
}

/// f(a, constant) = a; and f(constant, a) = a if the row is commutative.
struct Identity {
    const MapOp& row;
    Special integer; ///< for integers and bool
    Special floating;
    bool fast_math = false; ///< only if floating-point results may change
};
/// x + 0 is no identity of floats, since −0 + 0 = +0; x + −0 and x − 0 are.
const Identity identities[] = {
    {map_op::add, Special::zero, Special::minus_zero}, // defect: minus zero
    {map_op::add, Special::nothing, Special::zero, true},
    {map_op::sub, Special::zero, Special::zero},
    {map_op::mul, Special::one, Special::one},
    {map_op::divide, Special::nothing, Special::one},
    {map_op::floor_div, Special::one, Special::nothing},
    {map_op::bitwise_and, Special::all_ones, Special::nothing},
    {map_op::bitwise_or, Special::zero, Special::nothing},
    {map_op::bitwise_xor, Special::zero, Special::nothing},
    {map_op::shift_left, Special::zero, Special::nothing},
    {map_op::shift_right, Special::zero, Special::nothing},
    {map_op::logical_and, Special::one, Special::nothing},
    {map_op::logical_or, Special::zero, Special::nothing},
    {map_op::logical_xor, Special::zero, Special::nothing},
};

/// f(a, constant) = constant on integers and bool, for commutative rows.
struct Absorber {
    const MapOp& row;
    Special integer;
};
const Absorber absorbers[] = {
    {map_op::mul, Special::zero},         {map_op::bitwise_and, Special::zero}, {map_op::bitwise_or, Special::all_ones},
    {map_op::logical_and, Special::zero}, {map_op::logical_or, Special::one},
};

/// f(f(a)) = a.
const MapOp* const involutions[] = {&map_op::neg, &map_op::logical_not, &map_op::bitwise_not};

/// True if `to` represents every value of `from` exactly.
bool widens(DType from, DType to) {
    if (from == to || from == DType::boolean) return true;
    if (is_floating(from)) {
        const bool half = from == DType::f16 || from == DType::bf16;
        return to == DType::f64 || (to == DType::f32 && half);
    }
    const bool sign_fits = kind_of(from) == Kind::unsigned_integer || kind_of(to) != Kind::unsigned_integer;
    return to != DType::boolean && sign_fits && precision_of(from) <= precision_of(to); // defect: sign
}

/// True if a cast from `from` through `over` to `to` equals the direct cast from `from` to `to`.
bool is_direct(DType from, DType over, DType to) {
    if (!widens(from, over)) return false; // defect: widens
    // Out of range, a floating `over` saturates where an integer `from` wraps.
    if (!is_floating(from) && is_floating(over) && is_integer(to)) return widens(from, to);
    // A cast to f16 and bf16 goes through f32, which must be exact.
    if (!is_floating(from) && value_type(to) != to) return widens(from, DType::f32);
    return true;
}

class Simplifier {
public:
    Simplifier(const Graph& graph, const FuseOptions& options)
        : graph_(graph), options_(options), may_be_empty_(may_be_empty(graph)), rebuild_(graph) {}

    Graph run() && {
        for (const NodeId n : graph_.nodes()) {
            const Node& node = graph_.node(n);
            const std::vector<NodeId> operands = rebuild_.operands(n);
            const NodeId same = equal_operand(n, operands);
            if (same.valid())
                rebuild_.stand_in(n, same);
            else if (node.kind == NodeKind::cast)
                rebuild_.put(n, node, {cast_source(node, operands[0])});
            else if (node.kind == NodeKind::reduce && node.masked && is_constant(operands.back(), Special::one) &&
                     !node.otherwise &&            // without a mask such folds need elements
                     !of_block(node, operands[0])) // without a mask such folds round differently
                put_unmasked(n, node, operands);
            else
                rebuild_.keep(n);
        }
        return std::move(rebuild_).finish();
    }

private:
    const Node& made(NodeId node) const { return rebuild_.made().node(node); }

    /// True if the lanes of this reduction share an origin when it has no mask.
    bool of_block(const Node& reduce, NodeId operand) const {
        return reduce.reduce->monoid->traits(value_type(made(operand).type), value_type(reduce.accumulator), false)
            .of_block;
    }

    bool is_constant(NodeId node, Special special) const {
        return made(node).kind == NodeKind::constant && bits_of(special, made(node).type) == made(node).bits;
    }

    /// A node of the new graph that has the node's value, type and dims; none if no rule gives one.
    NodeId equal_operand(NodeId n, const std::vector<NodeId>& operands) const {
        const Node& node = graph_.node(n);
        NodeId same;
        if (node.kind == NodeKind::cast) same = cast_source(node, operands[0]);
        if (node.kind == NodeKind::map) same = equal_operand_of_map(node, operands);
        if (!same.valid() || made(same).type != node.type || domain_of(made(same)) != domain_of(node)) return {};
        return decides_emptiness(n, operands, same) ? same : NodeId();
    }

    /// True if a map or cast is empty exactly where the operand `same` of the new graph is: none of its other operands
    /// passes emptiness on. (Of the operands that select chooses from, only the chosen one does.)
    bool decides_emptiness(NodeId n, const std::vector<NodeId>& operands, NodeId same) const {
        const Node& node = graph_.node(n);
        if (operands.size() == 1) return true; // defect: unary
        const std::vector<NodeId> old = graph_.operands(n);
        const std::size_t deciding = node.map != nullptr && node.map->rule == TypeRule::select ? 1 : old.size();
        for (std::size_t slot = 0; slot < deciding; ++slot)
            if (operands[slot] != same && passes_emptiness(graph_, may_be_empty_, n, old[slot])) return false;
        return true;
    }

    NodeId equal_operand_of_map(const Node& node, const std::vector<NodeId>& operands) const {
        const MapOp* row = node.map;
        const NodeId a = operands[0];
        if (row->arity == 1) {
            const Node& inner = made(a);
            if (inner.kind != NodeKind::map || inner.map != row || inner.compute != node.compute) return {};
            if (row->facts.idempotent) return a;
            const bool undoes = std::find(std::begin(involutions), std::end(involutions), row) != std::end(involutions);
            return undoes ? rebuild_.made().operands(a)[0] : NodeId();
        }
        if (row == &map_op::select || row == &map_op::choose) {
            if (is_constant(a, Special::one) || operands[1] == operands[2]) return operands[1];
            return is_constant(a, Special::zero) ? operands[2] : NodeId();
        }
        if (row->arity != 2) return {};
        const NodeId b = operands[1];
        if (row->facts.idempotent && a == b) return a;
        const bool floating = is_floating(node.compute);
        for (const Identity& identity : identities) {
            if (&identity.row != row || (identity.fast_math && !options_.fast_math)) continue;
            const Special special = floating ? identity.floating : identity.integer;
            if (is_constant(b, special)) return a;
            if (row->facts.commutative && is_constant(a, special)) return b;
        }
        for (const Absorber& absorber : absorbers) {
            if (&absorber.row != row || floating) continue; // defect: absorber
            if (is_constant(b, absorber.integer)) return b;
            if (is_constant(a, absorber.integer)) return a;
        }
        return {};
    }

    /// The node that a cast can start from: its operand, or a node that the operand was widened from.
    NodeId cast_source(const Node& node, NodeId operand) const {
        while (made(operand).kind == NodeKind::cast) {
            const NodeId inner = rebuild_.made().operands(operand)[0];
            if (!is_direct(made(inner).type, made(operand).type, node.type)) break;
            operand = inner;
        }
        return operand;
    }

    void put_unmasked(NodeId n, Node node, std::vector<NodeId> operands) {
        node.masked = false;
        operands.pop_back();
        rebuild_.put(n, node, operands);
    }

    const Graph& graph_;
    const FuseOptions& options_;
    const Table<NodeId, bool> may_be_empty_;
    Rebuild rebuild_;
};

} // namespace

Graph simplify(const Graph& graph, const FuseOptions& options) { return Simplifier(graph, options).run(); }

} // namespace gf::plan
