// Reads and writes the files. See golden_graphs.hpp.
#include "golden_graphs.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

namespace gf::golden {

namespace {

std::string path(std::string_view folder, std::string_view file) {
    return fmt::format("{}/{}/{}.txt", GRIDFOLD_GOLDEN_BITS_FOLDER, folder, file);
}

std::string trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\n";
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == text.npos) return {};
    return std::string(text.substr(begin, text.find_last_not_of(blanks) - begin + 1));
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(separator, begin), text.size());
        parts.push_back(trimmed(text.substr(begin, end - begin)));
        begin = end + 1;
    }
    return parts;
}

/// The dims of "[i, j = 3]".
std::vector<std::string> dims_of(std::string_view brackets) {
    std::vector<std::string> dims;
    for (const std::string& dim : split(brackets.substr(1, brackets.find(']') - 1), ','))
        dims.push_back(trimmed(dim.substr(0, dim.find('='))));
    return dims;
}

/// The items between the parentheses after the graph's name, cut at commas outside brackets.
std::vector<std::string> parameter_items(std::string_view text) {
    const std::size_t open = text.find('('), close = text.find(')');
    if (open == text.npos || close == text.npos) throw std::runtime_error("a graph without parameters");
    std::vector<std::string> items(1);
    int brackets = 0;
    for (const char c : text.substr(open + 1, close - open - 1)) {
        brackets += c == '[' ? 1 : c == ']' ? -1 : 0;
        if (c == ',' && brackets == 0)
            items.emplace_back();
        else
            items.back() += c;
    }
    return items;
}

GoldenGraph graph_of(const std::string& text, const std::vector<Size>& sizes) {
    GoldenGraph graph{trimmed(text.substr(0, text.find('('))), text, {}, {}, sizes};
    std::vector<std::string> declared;
    std::set<std::string> bound;
    for (const std::string& untrimmed : parameter_items(text)) {
        const std::string item = trimmed(untrimmed);
        const std::size_t bracket = item.find('[');
        const std::vector<std::string> dims =
            bracket == item.npos ? std::vector<std::string>{} : dims_of(std::string_view(item).substr(bracket));
        if (item.empty()) continue;
        if (bracket == 0) {
            declared.insert(declared.end(), dims.begin(), dims.end());
            continue;
        }
        const std::size_t colon = item.find(':');
        if (colon == item.npos) throw std::runtime_error(item + ": no parameter");
        const auto type =
            dtype_from_text(trimmed(item.substr(colon + 1, bracket - (bracket < item.npos) * (colon + 1))));
        if (!type) throw std::runtime_error(item + ": no type");
        graph.parameters.push_back({trimmed(item.substr(0, colon)), *type, dims});
        bound.insert(dims.begin(), dims.end());
    }
    std::ranges::copy_if(declared, std::back_inserter(graph.free_dims),
                         [&](const std::string& dim) { return !bound.contains(dim); });
    for (const Size& size : sizes)
        for (const std::set<std::string>& names : {bound, std::set(declared.begin(), declared.end())})
            for (const std::string& dim : names)
                if (!size.extents.contains(dim)) throw std::runtime_error(dim + ": a dim without an extent");
    return graph;
}

/// "@ i j = 3x700, 33x257"
std::vector<Size> sizes_of(std::string_view line) {
    const std::size_t equals = line.find('=');
    if (equals == line.npos) throw std::runtime_error("a line of sizes without =");
    const std::vector<std::string> dims = split(trimmed(line.substr(1, equals - 1)), ' ');
    std::vector<Size> sizes;
    for (const std::string& text : split(line.substr(equals + 1), ',')) {
        const std::vector<std::string> extents = split(text, 'x');
        if (extents.size() != dims.size()) throw std::runtime_error(text + ": not an extent for each dim");
        Size size{text, {}};
        for (std::size_t d = 0; d < dims.size(); ++d) size.extents[dims[d]] = std::stoll(extents[d]);
        sizes.push_back(std::move(size));
    }
    return sizes;
}

} // namespace

std::vector<GoldenGraph> read_graphs(std::string_view file) {
    std::ifstream stream(path("graphs", file));
    std::vector<GoldenGraph> graphs;
    std::set<std::string> names;
    std::vector<Size> sizes;
    std::string text;
    int number = 0;
    try {
        const auto end_graph = [&] {
            if (!text.empty()) graphs.push_back(graph_of(text, sizes));
            if (!text.empty() && !names.insert(graphs.back().name).second)
                throw std::runtime_error(graphs.back().name + ": a second graph of that name");
            text.clear();
        };
        for (std::string line; std::getline(stream, line);) {
            ++number;
            if (line.starts_with('#')) continue;
            if (line.empty() || line.starts_with('@')) end_graph();
            if (line.starts_with('@')) sizes = sizes_of(line);
            if (!line.empty() && !line.starts_with('@')) text += line + "\n";
        }
        end_graph();
    } catch (const std::exception& error) {
        throw std::runtime_error(fmt::format("{}:{}: {}", path("graphs", file), number, error.what()));
    }
    if (graphs.empty()) throw std::runtime_error(path("graphs", file) + ": no graphs");
    return graphs;
}

Hashes read_hashes(std::string_view file) {
    std::ifstream stream(path("hashes", file));
    if (!stream) throw std::runtime_error(path("hashes", file) + ": cannot be read");
    Hashes hashes;
    for (std::string line; std::getline(stream, line);) {
        const std::size_t colon = line.find(": ");
        if (colon == line.npos) throw std::runtime_error(fmt::format("{}: {}: no hashes", path("hashes", file), line));
        std::istringstream rest(line.substr(colon + 1));
        std::vector<std::uint64_t>& of_line = hashes[line.substr(0, colon)];
        for (std::uint64_t hash = 0; rest >> std::hex >> hash;) of_line.push_back(hash);
        if (!rest.eof()) throw std::runtime_error(fmt::format("{}: {}: not a hash", path("hashes", file), line));
    }
    return hashes;
}

void write_hashes(std::string_view file, const std::vector<GoldenGraph>& graphs, const Hashes& hashes) {
    std::filesystem::create_directories(std::filesystem::path(path("hashes", file)).parent_path());
    std::ofstream stream(path("hashes", file));
    for (const GoldenGraph& graph : graphs)
        for (const Size& size : graph.sizes) {
            stream << line_name(graph, size) << ':';
            for (const std::uint64_t hash : hashes.at(line_name(graph, size))) stream << fmt::format(" {:016x}", hash);
            stream << '\n';
        }
    if (!stream.flush()) throw std::runtime_error(path("hashes", file) + ": cannot be written");
}

std::string line_name(const GoldenGraph& graph, const Size& size) { return graph.name + " " + size.text; }

} // namespace gf::golden
