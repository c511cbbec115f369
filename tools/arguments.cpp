// Command lines in words.
#include "arguments.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include <gridfold/ops/text.hpp>

namespace gf::tool {
namespace {

template <class T> std::optional<T> parse_whole(std::string_view text) {
    T value{};
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || stop != text.data() + text.size()) return {};
    return value;
}

Literal parse_number(const std::string& name, std::string_view text) {
    if (text == "true") return true;
    if (text == "false") return false;
    if (const auto integer = parse_whole<std::int64_t>(text)) return *integer;
    if (const auto integer = parse_whole<std::uint64_t>(text)) return *integer;
    if (const auto number = parse_whole<double>(text)) return *number;
    throw InvalidGraph(
        fmt::format("{}={}: \"{}\" is a run-time scalar or a dim of the graph, which is bound to a number, true or "
                    "false; give one, as in {}=2",
                    name, text, name, name));
}

/// "[100, 20]"
Extents parse_extents(const std::string& word, std::string_view text) {
    std::vector<std::int64_t> extents;
    text = text.substr(1, text.size() - 2);
    while (true) {
        const std::size_t comma = text.find(',');
        std::string_view item = text.substr(0, comma);
        while (item.starts_with(' ')) item.remove_prefix(1);
        const auto extent = parse_whole<std::int64_t>(item);
        if (!extent || *extent < 0)
            throw InvalidGraph(
                fmt::format("{}: the extents of a raw file are integers from 0, as in raw:f32[100, 20]:path; give "
                            "such extents",
                            word));
        extents.push_back(*extent);
        if (comma == std::string_view::npos) return Extents(extents);
        text.remove_prefix(comma + 1);
    }
}

npy::Array open_array(const std::string& word, const std::string& value) {
    constexpr std::string_view raw = "raw:";
    if (!value.starts_with(raw)) return npy::open(value);
    const std::string_view rest = std::string_view(value).substr(raw.size());
    const std::size_t colon = rest.find(':');
    std::string_view type_text = rest.substr(0, colon), extents_text;
    if (const std::size_t bracket = type_text.find('[');
        bracket != std::string_view::npos && type_text.ends_with(']')) {
        extents_text = type_text.substr(bracket);
        type_text = type_text.substr(0, bracket);
    }
    const auto type = dtype_from_text(type_text);
    if (colon == std::string_view::npos || !type)
        throw InvalidGraph(
            fmt::format("{}: a raw file is given as raw:<type>:<path>, where the type is one of {}; write it so", word,
                        fmt::join(
                            [] {
                                std::vector<std::string_view> names;
                                for (const DType t : all_dtypes()) names.push_back(to_text(t));
                                return names;
                            }(),
                            " ")));
    const std::string path(rest.substr(colon + 1));
    return extents_text.empty() ? npy::open_raw(path, *type)
                                : npy::open_raw(path, *type, parse_extents(word, extents_text));
}

/// The input or run-time scalar of that name; null if there is none.
const Node* find_input(const Graph& graph, std::string_view name) {
    for (int i = 0; i < graph.node_count(); ++i) {
        const Node& node = graph.node(i);
        if ((node.kind == NodeKind::input || node.kind == NodeKind::scalar) && node.name == name) return &node;
    }
    return nullptr;
}

bool is_dim(const Graph& graph, std::string_view name) {
    return std::ranges::any_of(graph.dims(), [&](const Graph::DimInfo& dim) { return dim.name == name; });
}

/// Everything has a value? The library would refuse it too, but knows no command line.
void check_complete(const Graph& graph, const std::vector<std::string>& names) {
    const auto is_given = [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); };
    std::vector<bool> used(graph.dims().size()), has_extent(graph.dims().size());
    for (int i = 0; i < graph.node_count(); ++i) {
        const Node& node = graph.node(i);
        const bool is_array = node.kind == NodeKind::input;
        if ((is_array || node.kind == NodeKind::scalar) && !is_given(node.name))
            throw InvalidGraph(fmt::format("{} \"{}\" is not bound: a run needs every input; add {}={}",
                                           is_array ? "input" : "run-time scalar", node.name, node.name,
                                           is_array ? "array.npy" : "0.5"));
        for (const int dim : node.dims) (is_array ? has_extent : used)[static_cast<std::size_t>(dim)] = true;
    }
    for (std::size_t d = 0; d < used.size(); ++d) {
        const auto& dim = graph.dims()[d];
        if (used[d] && !has_extent[d] && !dim.extent && !is_given(dim.name))
            throw InvalidGraph(
                fmt::format("dim \"{}\" has no extent: no array has this dim; add {}=1000", dim.name, dim.name));
    }
}

/// A raw file has one dim unless it says others. (Another type is the library's to refuse.)
void check_rank(const std::string& word, const Node& node, const View& view) {
    if (view.extents.rank() == static_cast<int>(node.dims.size()) || view.type != node.type) return;
    throw InvalidGraph(fmt::format(
        "{}: \"{}\" has {} dim{} in the graph, but the array's extents are {}; bind an array with "
        "as many, a raw one as in {}=raw:f32[100, 20]:path",
        word, node.name, node.dims.size(), node.dims.size() == 1 ? "" : "s", to_text(view.extents), node.name));
}

} // namespace

Graph read_graph(const std::string& text) {
    if (!text.starts_with('@')) return parse(text);
    const MappedFile file(text.substr(1));
    return parse({file.address(), file.bytes()});
}

std::pair<std::string, std::string> split_at_equals(const char* what, const std::string& word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == word.size())
        throw InvalidGraph(fmt::format("{}: {} has the form name=value; write it so", word, what));
    return {word.substr(0, equals), word.substr(equals + 1)};
}

Inputs read_inputs(const Graph& graph, const std::vector<std::string>& words) {
    Inputs inputs;
    inputs.names.reserve(words.size()); // bindings view the names
    for (const std::string& word : words) {
        auto [name, value] = split_at_equals("a binding", word);
        inputs.names.push_back(std::move(name));
        const std::string& own = inputs.names.back();
        const Node* const input = find_input(graph, own);
        if (input != nullptr && input->kind == NodeKind::input) {
            inputs.files.push_back(open_array(word, value));
            check_rank(word, *input, inputs.files.back().view());
            inputs.bindings.emplace_back(own, inputs.files.back().view());
        } else if (input != nullptr || is_dim(graph, own)) {
            inputs.bindings.emplace_back(own, 0);
            inputs.bindings.back().scalar = parse_number(own, value);
        } else {
            inputs.bindings.emplace_back(own, 0); // the run refuses it, with the nearest name there is
        }
    }
    check_complete(graph, inputs.names);
    return inputs;
}

} // namespace gf::tool
