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
    bool empty = false;
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
            std::vector<DimId> dims = node.dims;
            std::sort(dims.begin(), dims.end());
            // An empty floating result is NaN.
            Result result{output.name, node.type, !dims.empty(), value.empty && !is_floating(node.type), {}};
            for (std::int64_t i = 0; i < size_of_domain(dims); ++i)
                result.elements.push_back(at(output.node, coordinates(dims, i)));
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
    Bits at(NodeId node, const Coordinates& place) const {
        std::int64_t i = 0;
        for (const DimId dim : graph_.node(node).dims) i = i * extent(dim) + place[dim.index()];
        return values_[node].elements[static_cast<std::size_t>(i)];
    }

    Evaluated evaluate(NodeId n) const {
        const Node& node = graph_.node(n);
        const std::vector<NodeId> operands = graph_.operands(n);
        switch (node.kind) {
        case NodeKind::input:
        case NodeKind::scalar: return {inputs_.at(node.name), false};
        case NodeKind::constant: return {{node.bits}, false};
        case NodeKind::index: {
            Evaluated value;
            for (std::int64_t i = 0; i < extent(node.dim); ++i) value.elements.push_back(static_cast<Bits>(i));
            return value;
        }
        case NodeKind::extent: return {{static_cast<Bits>(extent(node.dim))}, false};
        case NodeKind::map: return map(node, operands);
        case NodeKind::cast: {
            const DType from = graph_.node(operands[0]).type;
            return elementwise(node, operands, [&](const Bits* x) { return convert(x[0], from, node.type); });
        }
        case NodeKind::reduce: return reduce(node, operands);
        }
        throw InternalError("oracle: a node of no kind");
    }

    /// Applies f to the operands' elements at each place. A scalar computed from an empty scalar is empty, too.
    template <class F> Evaluated elementwise(const Node& node, const std::vector<NodeId>& operands, F f) const {
        Evaluated value;
        if (node.dims.empty()) value.empty = is_empty(node, operands);
        for (std::int64_t i = 0; i < size_of_domain(node.dims); ++i) {
            const Coordinates place = coordinates(node.dims, i);
            Bits x[3] = {};
            for (std::size_t slot = 0; slot < operands.size(); ++slot) x[slot] = at(operands[slot], place);
            value.elements.push_back(value.empty ? nothing(node.type) : f(x));
        }
        return value;
    }

    /// True if the scalar is empty: an operand is empty; of select, the condition or the operand it chooses.
    bool is_empty(const Node& node, const std::vector<NodeId>& operands) const {
        const auto operand = [&](std::size_t slot) -> const Evaluated& { return values_[operands[slot]]; };
        if (node.kind == NodeKind::map && std::string_view(node.map->name) == "select")
            return operand(0).empty || operand(operand(0).elements[0] != 0 ? 1 : 2).empty;
        for (std::size_t slot = 0; slot < operands.size(); ++slot)
            if (operand(slot).empty) return true;
        return false;
    }

    /// The value of an empty scalar when it is combined with an array.
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
        if (node.masked)
            dims.insert(dims.end(), graph_.node(operands[1]).dims.begin(), graph_.node(operands[1]).dims.end());
        std::sort(dims.begin(), dims.end());
        dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
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
            std::vector<Bits> elements, mask;
            for (std::int64_t i = 0; i < size_of_domain(folded); ++i) {
                Coordinates place = coordinates(folded, i);
                for (const DimId dim : node.dims) place[dim.index()] = of_result[dim.index()];
                elements.push_back(convert(at(operands[0], place), operand.type, element));
                if (node.masked) mask.push_back(at(operands[1], place));
            }
            const Reduced reduced =
                oracle::reduce(node.reduce->name, elements, element, mask, node.accumulator, result, node.ddof, order);
            value.elements.push_back(convert(reduced.bits, result, node.type));
            if (node.dims.empty()) value.empty = reduced.empty;
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
