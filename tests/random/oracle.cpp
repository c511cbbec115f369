// Evaluates each node of a graph for every element of its domain.
#include "oracle.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include <gridfold/core/view.hpp>

namespace gf::oracle {

namespace {

/// One node's value: an element for each place of its domain.
struct Evaluated {
    std::vector<Bits> elements;
    std::vector<bool> empty = {}; ///< by element; none: none is empty
};

class Walk {
public:
    Walk(const Graph& graph, std::span<const std::int64_t> extents, const Inputs& inputs)
        : graph_(graph), extents_(extents), inputs_(inputs) {}

    std::vector<Result> results() {
        for (const NodeId n : graph_.nodes()) values_.push_back(evaluate(n));
        std::vector<Result> results;
        for (const auto& output : graph_.outputs()) {
            const Node& node = graph_.node(output.node);
            const Evaluated& value = values_[output.node];
            const std::vector<DimId> dims = graph_.dims_of(output);
            Result result{output.name, node.type, !dims.empty(), false, {}};
            for (std::int64_t i = 0; i < size_of_domain(dims); ++i)
                result.elements.push_back(at(output.node, coordinates(dims, i)));
            if (!is_floating(node.type)) { // an empty floating result is NaN
                if (dims.empty())
                    result.empty = !value.empty.empty() && value.empty[0];
                else
                    for (std::int64_t i = 0; !value.empty.empty() && i < size_of_domain(dims); ++i)
                        result.valid.push_back(!value.empty[number_of(output.node, coordinates(dims, i))]);
            }
            results.push_back(std::move(result));
        }
        return results;
    }

private:
    using Coordinates = std::array<std::int64_t, max_rank>; // by the graph's dims

    std::int64_t extent(DimId dim) const { return extents_[dim.index()]; }

    std::int64_t size_of_domain(const std::vector<DimId>& dims) const {
        std::int64_t size = 1;
        for (const DimId dim : dims) size *= extent(dim);
        return size;
    }

    /// The coordinates of element i of a row-major domain.
    Coordinates coordinates(const std::vector<DimId>& dims, std::int64_t i) const {
        Coordinates place{};
        for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
            place[dim->index()] = i % extent(*dim);
            i /= extent(*dim);
        }
        return place;
    }

    /// The element of an evaluated node at coordinates of any domain that contains its dims.
    Bits at(NodeId node, const Coordinates& place) const { return values_[node].elements[number_of(node, place)]; }

    std::size_t number_of(NodeId node, const Coordinates& place) const {
        std::int64_t i = 0;
        for (const DimId dim : graph_.node(node).dims) i = i * extent(dim) + place[dim.index()];
        return static_cast<std::size_t>(i);
    }

    Evaluated evaluate(NodeId n) const {
        const Node& node = graph_.node(n);
        const std::vector<NodeId> operands = graph_.operands(n);
        switch (node.kind) {
        case NodeKind::input:
        case NodeKind::scalar: return {inputs_.at(node.name)};
        case NodeKind::constant: return {{node.bits}};
        case NodeKind::index: {
            Evaluated value;
            for (std::int64_t i = 0; i < extent(node.dim); ++i) value.elements.push_back(static_cast<Bits>(i));
            return value;
        }
        case NodeKind::extent: return {{static_cast<Bits>(extent(node.dim))}};
        case NodeKind::map: return map(node, operands);
        case NodeKind::cast: {
            const DType from = graph_.node(operands[0]).type;
            return elementwise(node, operands, [&](const Bits* x) { return convert(x[0], from, node.type); });
        }
        case NodeKind::shift: return shifted(node, operands[0]);
        case NodeKind::reduce: return reduce(node, operands);
        }
        throw InternalError("oracle: a node of no kind");
    }

    Evaluated shifted(const Node& node, NodeId operand) const {
        Evaluated value;
        const std::int64_t count = extent(node.dim);
        for (std::int64_t i = 0; i < size_of_domain(node.dims); ++i) {
            Coordinates place = coordinates(node.dims, i);
            std::int64_t& at_dim = place[node.dim.index()];
            at_dim += node.offset;
            const bool inside = at_dim >= 0 && at_dim < count;
            if (node.edge == EdgeKind::wrap) {
                at_dim %= count;
                if (at_dim < 0) at_dim += count;
            } else {
                at_dim = at_dim < 0 ? 0 : at_dim >= count ? count - 1 : at_dim;
            }
            const bool is_number = node.edge == EdgeKind::value && !inside;
            const std::vector<bool>& empty = values_[operand].empty;
            value.empty.push_back(!is_number && !empty.empty() && empty[number_of(operand, place)]);
            value.elements.push_back(is_number ? node.bits : at(operand, place));
        }
        return value;
    }

    /// Applies f to the operands' elements at each place. What is computed from an empty element is empty, too.
    template <class F> Evaluated elementwise(const Node& node, const std::vector<NodeId>& operands, F f) const {
        Evaluated value;
        for (std::int64_t i = 0; i < size_of_domain(node.dims); ++i) {
            const Coordinates place = coordinates(node.dims, i);
            Bits x[3] = {};
            for (std::size_t slot = 0; slot < operands.size(); ++slot) x[slot] = at(operands[slot], place);
            value.empty.push_back(is_empty(node, operands, place));
            value.elements.push_back(value.empty.back() ? nothing(node.type) : f(x));
        }
        return value;
    }

    /// True if an element is empty: an operand's is that has the same dims; of select, the condition's or that of the
    /// operand it chooses; of choose, whatever their dims.
    bool is_empty(const Node& node, const std::vector<NodeId>& operands, const Coordinates& place) const {
        const bool chooses = node.kind == NodeKind::map && std::string_view(node.map->name) == "choose";
        const auto is_empty_in = [&](std::size_t slot) {
            const std::vector<bool>& empty = values_[operands[slot]].empty;
            if (empty.empty()) return false; // most are: this runs for each element
            std::vector<DimId> dims = graph_.node(operands[slot]).dims;
            std::sort(dims.begin(), dims.end());
            return (dims == node.dims || chooses) && empty[number_of(operands[slot], place)];
        };
        if (node.kind == NodeKind::map && (chooses || std::string_view(node.map->name) == "select"))
            return is_empty_in(0) || is_empty_in(at(operands[0], place) != 0 ? 1 : 2);
        for (std::size_t slot = 0; slot < operands.size(); ++slot)
            if (is_empty_in(slot)) return true;
        return false;
    }

    /// The value of an empty element where it is broadcast or folded.
    static Bits nothing(DType type) {
        return is_floating(type) ? convert(to_bits(std::numeric_limits<double>::quiet_NaN()), DType::f64, type) : 0;
    }

    static DType widened(DType type) { return size_of(type) == 2 && is_floating(type) ? DType::f32 : type; }

    /// 16-bit floating types compute in f32 and round each result.
    Evaluated map(const Node& node, const std::vector<NodeId>& operands) const {
        const DType compute = widened(node.compute), type = widened(node.type);
        const Function f = map_function(node.map->name, compute);
        return elementwise(node, operands, [&](Bits* x) {
            for (std::size_t slot = 0; slot < operands.size(); ++slot) {
                const DType from = graph_.node(operands[slot]).type;
                x[slot] = convert(x[slot], from, widened(from));
            }
            return convert(f(x[0], x[1], x[2]), type, node.type);
        });
    }

    Evaluated reduce(const Node& node, const std::vector<NodeId>& operands) const {
        const Node& operand = graph_.node(operands[0]);
        std::vector<DimId> dims = operand.dims;
        std::sort(dims.begin(), dims.end());
        const bool has_second = operands.size() == (node.masked ? 3 : 2);
        const DType element = widened(operand.type), result = widened(node.type);
        std::vector<std::int64_t> own;
        std::vector<bool> kept;
        std::vector<DimId> folded;
        for (const DimId dim : dims) {
            own.push_back(extent(dim));
            kept.push_back(std::count(node.dims.begin(), node.dims.end(), dim) == 1);
            if (!kept.back()) folded.push_back(dim);
        }
        const Order order = node.dims.empty() || size_of_domain(dims) == 0 ? Order() : order_of(own, kept);
        Evaluated value;
        for (std::int64_t r = 0; r < size_of_domain(node.dims); ++r) {
            const Coordinates of_result = coordinates(node.dims, r);
            std::vector<Bits> elements, second, mask;
            for (std::int64_t i = 0; i < size_of_domain(folded); ++i) {
                Coordinates place = coordinates(folded, i);
                for (const DimId dim : node.dims) place[dim.index()] = of_result[dim.index()];
                elements.push_back(convert(at(operands[0], place), operand.type, element));
                if (has_second) {
                    const DType type = graph_.node(operands[1]).type;
                    second.push_back(convert(at(operands[1], place), type, widened(type)));
                }
                if (node.masked) mask.push_back(at(operands.back(), place));
            }
            const auto accepted =
                node.masked ? std::ssize(mask) - std::ranges::count(mask, Bits{0}) : std::ssize(elements);
            const bool is_largest = std::string_view(node.reduce->name) == "largest";
            if (node.otherwise && accepted <= (is_largest ? node.argument : 0)) {
                value.elements.push_back(*node.otherwise);
                value.empty.push_back(false);
                continue;
            }
            const Reduced reduced = oracle::reduce(node.reduce->name, elements, element, mask, node.accumulator, result,
                                                   node.argument, order, second);
            value.elements.push_back(convert(reduced.bits, result, node.type));
            value.empty.push_back(reduced.empty);
        }
        return value;
    }

    const Graph& graph_;
    std::span<const std::int64_t> extents_;
    const Inputs& inputs_;
    Table<NodeId, Evaluated> values_;
};

} // namespace

std::vector<Result> evaluate(const Graph& graph, std::span<const std::int64_t> extents, const Inputs& inputs) {
    return Walk(graph, extents, inputs).results();
}

} // namespace gf::oracle
