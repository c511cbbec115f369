// The canonical text form of a graph. One pass over the nodes: their numbering is a topological order.
#include <gridfold/ops/text.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <unordered_set>

#include <fmt/format.h>

#include <gridfold/ops/type_rule.hpp>

#include "operators.hpp"
#include "refusal.hpp"

namespace gf {

namespace {

/// The shortest text that reads back (as f64, then rounded to F) as the same number, and is a floating literal.
template <class F> std::string shortest(F value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    std::string text = fmt::format("{}", value);
    if constexpr (std::is_same_v<F,
                                 float>) { // f64 may round the shortest decimal of an f32 to a midpoint of two f32
        double read = 0;
        std::from_chars(text.data(), text.data() + text.size(), read);
        if (static_cast<float>(read) != value) text = fmt::format("{}", static_cast<double>(value));
    }
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string number_text(DType type, std::uint64_t bits) {
    return with_type(type, [&](auto zero) -> std::string {
        using T = decltype(zero);
        if constexpr (std::is_same_v<T, bool>)
            return bits != 0 ? "true" : "false";
        else if constexpr (std::is_integral_v<T>)
            return fmt::format("{}", static_cast<T>(bits));
        else if constexpr (std::is_same_v<T, double>)
            return shortest(std::bit_cast<double>(bits));
        else if constexpr (std::is_same_v<T, float>)
            return shortest(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
        else
            return shortest(static_cast<float>(std::bit_cast<T>(static_cast<std::uint16_t>(bits))));
    });
}

/// True for v0, v1, …, the printer's names of values without a name.
bool is_automatic(std::string_view name) {
    return name.size() > 1 && name.front() == 'v' &&
           std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_parameter(const Node& node) { return node.kind == NodeKind::input || node.kind == NodeKind::scalar; }

class Printer {
public:
    explicit Printer(const Graph& graph) : graph_(graph) {}

    std::string print() {
        name_values();
        text_ = fmt::format("{}(", graph_.name());
        print_parameters();
        text_ += ")\n";
        int next = 0;
        for (const NodeId n : graph_.nodes()) {
            if (!words_[n].empty()) continue; // a parameter
            const Node& node = graph_.node(n);
            const std::string value = expression(n);
            if (node.kind == NodeKind::constant && names_[n].empty() && uses_[n] == 1) {
                words_[n] = value;
                continue;
            }
            words_[n] = names_[n].empty() ? automatic_name(next) : names_[n];
            text_ += fmt::format("    let {} = {};\n", words_[n], value);
        }
        text_ += "    ->";
        for (const char* separator = " "; const Graph::Output& output : graph_.outputs()) {
            text_ += fmt::format("{}{}{} = {}", separator, output.name, order_text(output), words_[output.node]);
            separator = ", ";
        }
        return std::move(text_);
    }

private:
    /// Decides which values keep their own names (a pass may have used one twice), and counts the uses of each node.
    void name_values() {
        const auto count = static_cast<std::size_t>(graph_.node_count());
        uses_.resize(count), words_.resize(count), names_.resize(count);
        for (const NodeId n : graph_.nodes()) {
            for (const NodeId operand : graph_.operands(n)) ++uses_[operand];
            const Node& node = graph_.node(n);
            if (is_parameter(node)) taken_.insert(words_[n] = node.name);
        }
        for (const NodeId n : graph_.nodes()) {
            const Node& node = graph_.node(n);
            if (is_parameter(node) || node.name.empty() || is_automatic(node.name)) continue;
            if (taken_.insert(node.name).second) names_[n] = node.name;
        }
        for (const Graph::Output& output : graph_.outputs())
            uses_[output.node] += 2; // an output is written as a `let`, never in place
    }

    std::string automatic_name(int& next) const {
        std::string name;
        do name = fmt::format("v{}", next++);
        while (taken_.contains(name));
        return name;
    }

    void print_parameters() {
        // Dims are declared at their first appearance. If that gives another order, a list of dims comes first.
        std::vector<DimId> appearing;
        for (const NodeId n : graph_.nodes())
            if (const Node& node = graph_.node(n); is_parameter(node))
                for (const DimId dim : node.dims)
                    if (std::find(appearing.begin(), appearing.end(), dim) == appearing.end()) appearing.push_back(dim);
        const bool in_order =
            appearing.size() == graph_.dims().size() && std::is_sorted(appearing.begin(), appearing.end());

        Table<DimId, bool> declared(graph_.dims().size());
        const auto dim_list = [&](const std::vector<DimId>& dims) {
            std::string list;
            for (const DimId dim : dims) {
                const Graph::DimInfo& info = graph_.dims()[dim];
                list += (list.empty() ? "" : ", ") + info.name;
                if (info.extent && !declared[dim]) list += fmt::format(" = {}", *info.extent);
                declared[dim] = true;
            }
            return list.empty() ? list : "[" + list + "]";
        };
        const char* separator = "";
        if (!in_order) {
            std::vector<DimId> all;
            for (const DimId dim : graph_.dims().ids()) all.push_back(dim);
            text_ += dim_list(all);
            separator = ", ";
        }
        for (const NodeId n : graph_.nodes()) {
            const Node& node = graph_.node(n);
            if (!is_parameter(node)) continue;
            text_ += fmt::format("{}{}: {}{}", separator, node.name, to_text(node.type), dim_list(node.dims));
            separator = ", ";
        }
    }

    /// The dims of an output's array, unless they are in the graph's order.
    std::string order_text(const Graph::Output& output) const {
        std::string list;
        for (const DimId dim : output.order) list += (list.empty() ? "" : ", ") + graph_.dims()[dim].name;
        return list.empty() ? list : "[" + list + "]";
    }

    static std::string edge_text(const Node& shift) {
        switch (shift.edge) {
        case EdgeKind::value: return number_text(shift.type, shift.bits);
        case EdgeKind::clamp: return "clamp";
        case EdgeKind::wrap: return "wrap";
        }
        return {};
    }

    /// The dims that a reduction folds, unless it folds every dim of its operand.
    std::string over_text(const Node& operand, const Node& reduce) const {
        if (reduce.dims.empty()) return {};
        std::string list;
        for (const DimId dim : domain_of(operand))
            if (!std::binary_search(reduce.dims.begin(), reduce.dims.end(), dim))
                list += (list.empty() ? "" : ", ") + graph_.dims()[dim].name;
        return " over [" + list + "]";
    }

    std::string expression(NodeId n) const {
        const Node& node = graph_.node(n);
        const std::vector<NodeId> operands = graph_.operands(n);
        const auto word = [&](std::size_t slot) -> const std::string& { return words_[operands[slot]]; };
        switch (node.kind) {
        case NodeKind::input:
        case NodeKind::scalar: return node.name;
        case NodeKind::constant: return constant_text(node.type, node.bits);
        case NodeKind::index: return fmt::format("index({})", graph_.dims()[node.dim].name);
        case NodeKind::extent: return fmt::format("extent({})", graph_.dims()[node.dim].name);
        case NodeKind::cast: return fmt::format("{}({})", to_text(node.type), word(0));
        case NodeKind::shift:
            return fmt::format("shift({}, {}, {}, edge = {})", word(0), graph_.dims()[node.dim].name, node.offset,
                               edge_text(node));
        case NodeKind::map: {
            if (const detail::OperatorRow* row = detail::find_operator(*node.map))
                return row->precedence == 0 ? fmt::format("{}{}", row->symbol, word(0))
                                            : fmt::format("{} {} {}", word(0), row->symbol, word(1));
            std::string text = fmt::format("{}({}", node.map->name, word(0));
            for (std::size_t slot = 1; slot < operands.size(); ++slot) text += ", " + word(slot);
            return text + ")";
        }
        case NodeKind::reduce: {
            std::string text = fmt::format("{}(", node.reduce->name);
            std::vector<DType> types;
            for (const NodeId operand : folded_operands(node, operands)) {
                text += (types.empty() ? "" : ", ") + words_[operand];
                types.push_back(graph_.node(operand).type);
            }
            if (node.masked) text += " where " + words_[mask_operand(node, operands)];
            text += over_text(graph_.node(operands[0]), node);
            const ReduceTyping usual = reduce_typing(*node.reduce, types, {});
            if (node.accumulator != usual.accumulator || node.type != usual.result)
                text += fmt::format(", accumulate = {}", to_text(node.accumulator));
            if (node.argument != 0) text += fmt::format(", {} = {}", to_text(node.reduce->argument), node.argument);
            if (node.otherwise) text += fmt::format(", otherwise = {}", number_text(node.type, *node.otherwise));
            return text + ")";
        }
        }
        return {};
    }

    const Graph& graph_;
    std::string text_;
    Table<NodeId, int> uses_;
    Table<NodeId, std::string> names_; ///< a value's own name if it keeps it
    Table<NodeId, std::string> words_; ///< the text of an operand: a name, or a constant in place
    std::unordered_set<std::string> taken_;
};

} // namespace

std::string constant_text(DType type, std::uint64_t bits) {
    return fmt::format("{}({})", to_text(type), number_text(type, bits));
}

std::string to_text(const Graph& graph) { return Printer(graph).print(); }

} // namespace gf
