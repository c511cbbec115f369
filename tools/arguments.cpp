// See arguments.hpp.
#include "arguments.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <gridfold/ops/nearest.hpp>
#include <gridfold/ops/text.hpp>

#include "problems.hpp"

namespace gf::tool {
namespace {

template <class T> std::optional<T> parse_whole(std::string_view text) {
    T value{};
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || stop != text.data() + text.size()) return {};
    return value;
}

std::optional<Literal> parse_number(std::string_view text) {
    if (text == "true") return true;
    if (text == "false") return false;
    if (const auto integer = parse_whole<std::int64_t>(text)) return *integer;
    if (const auto integer = parse_whole<std::uint64_t>(text)) return *integer;
    if (const auto number = parse_whole<double>(text)) return *number;
    return {};
}

/// The number in `text`. `is_scalar`: for a run-time scalar, which a file may hold instead; else for a dim.
Literal require_number(const std::string& name, const std::string& text, bool is_scalar, bool many) {
    if (const auto number = parse_number(text)) return *number;
    if (is_scalar)
        throw InvalidOption(fmt::format("{}={}", name, text),
                            fmt::format("\"{}\" is a run-time scalar of the graph, and \"{}\" is not a number, true, "
                                        "false or a file that is there",
                                        name, text),
                            fmt::format("give a number, as in {}=2, or a file that holds one{}", name,
                                        many ? ", or one for each problem" : ""));
    throw InvalidOption(fmt::format("{}={}", name, text),
                        fmt::format("\"{}\" is a dim of the graph, whose extent is an integer", name),
                        fmt::format("give one, as in {}=1000", name));
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
            throw InvalidOption(word, "the extents of a raw file are integers from 0, as in raw:f32[100, 20]:path",
                                "give such extents");
        extents.push_back(*extent);
        if (comma == std::string_view::npos) return Extents(extents);
        text.remove_prefix(comma + 1);
    }
}

/// The files of a command line. One of them may be "-", stdin.
class Source {
public:
    npy::FileBytes open(const std::string& word, const std::string& path) {
        if (path != "-") return npy::FileBytes(path);
        if (!stdin_word_.empty())
            throw InvalidOption(word, fmt::format("stdin is read by {} already, and has no second array", stdin_word_),
                                "name a file or a named pipe");
        stdin_word_ = word;
        return npy::FileBytes(STDIN_FILENO, "stdin");
    }

private:
    std::string stdin_word_;
};

npy::Array open_array(Source& source, const std::string& word, const std::string& value) {
    constexpr std::string_view raw = "raw:";
    if (!value.starts_with(raw)) return npy::open(source.open(word, value));
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
        throw InvalidOption(word,
                            fmt::format("a raw file is given as raw:<type>:<path>, where the type is one of {}",
                                        fmt::join(
                                            [] {
                                                std::vector<std::string_view> names;
                                                for (const DType t : all_dtypes()) names.push_back(to_text(t));
                                                return names;
                                            }(),
                                            " ")),
                            "write it in that form");
    npy::FileBytes file = source.open(word, std::string(rest.substr(colon + 1)));
    return extents_text.empty() ? npy::open_raw(std::move(file), *type)
                                : npy::open_raw(std::move(file), *type, parse_extents(word, extents_text));
}

/// The input or run-time scalar of that name, or null.
const Node* find_input(const Graph& graph, std::string_view name) {
    for (const NodeId n : graph.nodes()) {
        const Node& node = graph.node(n);
        if ((node.kind == NodeKind::input || node.kind == NodeKind::scalar) && node.name == name) return &node;
    }
    return nullptr;
}

bool is_dim(const Graph& graph, std::string_view name) {
    return std::ranges::any_of(graph.dims(), [&](const Graph::DimInfo& dim) { return dim.name == name; });
}

[[noreturn]] void refuse_unknown(const Graph& graph, const std::string& word, const std::string& name, bool many) {
    for (const Graph::Output& output : graph.outputs()) {
        if (output.name != name) continue;
        if (graph.node(output.node).dims.empty() && !many)
            throw InvalidOption(word, fmt::format("\"{}\" is a scalar output of the graph: scalars are printed", name),
                                "leave it out");
        throw InvalidOption(word, fmt::format("\"{}\" is an output of the graph, and no input", name),
                            fmt::format("write it with -o {}", word));
    }
    std::vector<std::string_view> names;
    for (const NodeId n : graph.nodes()) {
        const Node& node = graph.node(n);
        if (node.kind == NodeKind::input || node.kind == NodeKind::scalar) names.push_back(node.name);
    }
    for (const Graph::DimInfo& dim : graph.dims()) names.push_back(dim.name);
    const std::string near = detail::suggestion(name, names);
    throw InvalidOption(word,
                        fmt::format("the graph has no input, run-time scalar or dim \"{}\": it has {}", name,
                                    names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))),
                        near.empty() ? "leave it out" : near);
}

/// Throws InvalidOption unless every input and scalar has a value. The library's message would not explain the options.
void check_complete(const Graph& graph, const std::vector<std::string>& names) {
    const auto is_given = [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); };
    Table<DimId, bool> used(graph.dims().size()), has_extent(graph.dims().size());
    for (const NodeId n : graph.nodes()) {
        const Node& node = graph.node(n);
        const bool is_array = node.kind == NodeKind::input;
        if ((is_array || node.kind == NodeKind::scalar) && !is_given(node.name))
            throw InvalidOption(
                fmt::format("{} \"{}\" is not bound", is_array ? "input" : "run-time scalar", node.name),
                "a run needs every input", fmt::format("add {}={}", node.name, is_array ? "array.npy" : "0.5"));
        if (node.kind == NodeKind::extent) used[node.dim] = true;
        for (const DimId dim : node.dims) (is_array ? has_extent : used)[dim] = true;
    }
    for (const DimId d : graph.dims().ids()) {
        const auto& dim = graph.dims()[d];
        if (used[d] && !has_extent[d] && !dim.extent && !is_given(dim.name))
            throw InvalidOption(fmt::format("dim \"{}\" has no extent", dim.name), "no array has this dim",
                                fmt::format("add {}=1000", dim.name));
    }
}

bool has_problems(const Node& node, const View& view) {
    return view.extents.rank() == static_cast<int>(node.dims.size()) + 1;
}

/// Checks the rank of an array. A raw file has one dim unless its word gives extents. (The library checks the type.)
void check_rank(const std::string& word, const Node& node, const View& view, bool many) {
    const bool with_problems = has_problems(node, view);
    if (view.extents.rank() == static_cast<int>(node.dims.size()) || (many && with_problems) || view.type != node.type)
        return;
    throw InvalidOption(word,
                        fmt::format("\"{}\" has {} dim{} in the graph, but the array's extents are {}", node.name,
                                    node.dims.size(), node.dims.size() == 1 ? "" : "s", to_text(view.extents)),
                        fmt::format("bind an array with as many{}, a raw one as in {}=raw:f32[100, 20]:path{}",
                                    many ? " for all problems, or one more in front, the problems'" : "", node.name,
                                    with_problems ? ", or run a problem for each index of the first with --many" : ""));
}

/// Checks that an array holds one value of a run-time scalar for each problem.
void check_values(const std::string& word, const Node& node, const View& view, bool many) {
    if (!many || !has_problems(node, view))
        throw InvalidOption(word,
                            fmt::format("\"{}\" is a run-time scalar of the graph, but the array's extents are {}",
                                        node.name, to_text(view.extents)),
                            fmt::format("bind a number or an array without dims{}",
                                        many ? " for all problems, or one dim with a value for each" : ""));
    if (view.type != node.type)
        throw InvalidOption(
            word,
            fmt::format("\"{}\" is {} in the graph, but the array has elements of {}", node.name, to_text(node.type),
                        to_text(view.type)),
            fmt::format("bind elements of {}, or declare it as {}", to_text(node.type), to_text(view.type)));
}

/// True if the value of a run-time scalar names a file instead of a number.
bool names_file(const std::string& value) {
    std::error_code error; // set for names that no file can have
    return !parse_number(value) && (value == "-" || value.starts_with("raw:") || std::filesystem::exists(value, error));
}

/// The binding of `name` in a word. Opens the file if the word names one.
Given give(const Graph& graph, const std::string& word, const std::string& name, const std::string& value, bool many,
           Source& source, std::vector<npy::Array>& files) {
    Given given{word, Binding(name, 0)};
    const Node* const input = find_input(graph, name);
    if (input != nullptr && input->kind == NodeKind::input) {
        const View view = files.emplace_back(open_array(source, word, value)).view();
        check_rank(word, *input, view, many);
        if (many && has_problems(*input, view))
            given.each = view;
        else
            given.shared = Binding(name, view);
    } else if (input != nullptr && names_file(value)) {
        const View view = files.emplace_back(open_array(source, word, value)).view();
        if (view.extents.rank() == 0) {
            given.shared.scalar = number_at(view, 0);
        } else {
            check_values(word, *input, view, many);
            given.each = view;
            given.each_is_number = true;
        }
    } else if (input != nullptr || is_dim(graph, name)) {
        given.shared.scalar = require_number(name, value, input != nullptr, many);
    } else {
        refuse_unknown(graph, word, name, many);
    }
    return given;
}

} // namespace

Graph read_graph(const std::string& text) {
    if (!text.starts_with('@')) return parse(text);
    return parse(npy::FileBytes(text.substr(1)).bytes());
}

std::pair<std::string, std::string> split_at_equals(const char* what, const std::string& word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == word.size())
        throw InvalidOption(word, fmt::format("{} has the form name=value", what), "write it in that form");
    return {word.substr(0, equals), word.substr(equals + 1)};
}

std::vector<Bindings> Inputs::problems() const {
    std::vector<Bindings> problems(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
        for (const Given& one : given) problems[static_cast<std::size_t>(i)].push_back(one.binding(i));
    return problems;
}

Bindings Inputs::batch() const {
    Bindings bindings;
    for (const Given& one : given) bindings.push_back(one.of_batch());
    return bindings;
}

std::vector<std::string> Inputs::varying() const {
    std::vector<std::string> names;
    for (const Given& one : given)
        if (one.each) names.push_back(one.shared.name);
    return names;
}

std::size_t Inputs::elements_of_problem() const {
    std::size_t most = 1;
    for (const Given& one : given) {
        if (!one.each && one.shared.scalar) continue;
        const View& all = one.each ? *one.each : one.shared.array;
        const std::size_t problems = one.each ? static_cast<std::size_t>(count) : 1;
        most = std::max(most, element_count(all.extents) / problems);
    }
    return most;
}

Inputs read_inputs(const Graph& graph, const std::vector<std::string>& words, bool many) {
    Inputs inputs;
    std::vector<std::string> names;
    Source source;
    for (const std::string& word : words) {
        const auto [name, value] = split_at_equals("a binding", word);
        names.push_back(name);
        inputs.given.push_back(give(graph, word, name, value, many, source, inputs.files));
    }
    check_complete(graph, names);
    if (many) inputs.count = count_problems(inputs.given);
    return inputs;
}

} // namespace gf::tool
