// See outputs.hpp.
#include "outputs.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <gridfold/core/error.hpp>
#include <gridfold/npy/npy.hpp>
#include <gridfold/ops/emptiness.hpp>
#include <gridfold/ops/nearest.hpp>

#include "arguments.hpp"
#include "problems.hpp"

namespace gf::tool {
namespace {

const Results::Entry& entry(const Entries& results, const std::string& name) {
    return *std::ranges::find(results, name, &Results::Entry::name);
}

/// The values of one scalar output, problem by problem.
std::vector<std::byte> scalars(const std::string& name, std::span<const Entries> problems) {
    static_assert(std::endian::native == std::endian::little, "a value is the first bytes of its bits");
    const std::size_t bytes = size_of(entry(problems.front(), name).type);
    std::vector<std::byte> values(problems.size() * bytes);
    for (std::size_t i = 0; i < problems.size(); ++i) {
        const Results::Entry& one = entry(problems[i], name);
        if (one.empty)
            throw InvalidOption(
                fmt::format("\"{}\" of problem {} is empty, no element contributed to it", name, i),
                "a file holds nothing but numbers",
                "leave its -o out, or choose a number in the graph, as in min(x where mask, otherwise = 0)");
        std::memcpy(values.data() + i * bytes, &one.bits, bytes);
    }
    return values;
}

/// The array of a file, in consecutive parts.
struct FileContent {
    DType type;
    Extents extents;
    std::vector<View> parts;
    std::vector<std::byte> scalars; ///< the memory of the only part, for scalars of many problems
};

FileContent content(const std::string& name, std::span<const Entries> problems, bool many) {
    const Results::Entry& first = entry(problems.front(), name);
    FileContent content{first.type, first.array.extents, {}, {}};
    if (many) content.extents = with_problems_in_front(static_cast<std::int64_t>(problems.size()), first.array.extents);
    if (first.is_array) {
        for (const Entries& one : problems) content.parts.push_back(entry(one, name).array);
    } else {
        content.scalars = scalars(name, problems);
        content.parts.emplace_back(content.scalars.data(), first.type, content.extents, Memory::host, false);
    }
    return content;
}

bool is_same_place(const std::string& a, const std::string& b) {
    if (a == stdout_path || b == stdout_path) return a == b;
    return npy::written_path(a) == npy::written_path(b);
}

/// Checks that stdout takes one array and nothing else.
void check_alone_on_stdout(const Graph& graph, const Files& files, bool many) {
    const auto on_stdout = std::ranges::find_if(files, [](const auto& file) { return file.second == stdout_path; });
    if (on_stdout == files.end()) return;
    for (const Graph::Output& output : graph.outputs()) {
        if (files.contains(output.name)) continue;
        const bool to_file = !graph.node(output.node).dims.empty() || many;
        throw InvalidOption(
            fmt::format("-o {}=-", on_stdout->first),
            fmt::format("stdout takes this array and nothing else, but \"{}\" would be printed there", output.name),
            fmt::format("{}leave it out of the graph",
                        to_file ? fmt::format("write it to a file with -o {}=path.npy, or ", output.name) : ""));
    }
}

} // namespace

Files read_files(const Graph& graph, const std::vector<std::string>& words, bool many) {
    const Table<NodeId, bool> may = may_be_empty(graph);
    Files files;
    for (const std::string& word : words) {
        const auto parts = split_at_equals("-o", word);
        const std::string &name = parts.first, &path = parts.second;
        const auto output = std::ranges::find(graph.outputs(), name, &Graph::Output::name);
        if (output == graph.outputs().end()) {
            std::vector<std::string_view> names;
            for (const Graph::Output& other : graph.outputs()) names.push_back(other.name);
            const std::string near = detail::suggestion(name, names);
            throw InvalidOption(
                fmt::format("-o {}", word),
                fmt::format("\"{}\" is not an output of the graph: they are {}", name, fmt::join(names, ", ")),
                near.empty() ? "name one of them" : near);
        }
        const Node& node = graph.node(output->node);
        if (node.dims.empty() && !many)
            throw InvalidOption(
                fmt::format("-o {}", word),
                fmt::format("\"{}\" is a scalar output of the graph: array outputs go to files, scalars are printed",
                            name),
                "leave it out");
        if (!node.dims.empty() && may[output->node] && !is_floating(node.type))
            throw InvalidOption(
                fmt::format("-o {}", word),
                fmt::format("elements of \"{}\" may be empty, where no element contributed to them, and a file holds "
                            "nothing but numbers",
                            name),
                "choose a number in the graph, as in min(x over [n] where mask, otherwise = 0), or print it with "
                "--json");
        const std::size_t rank = node.dims.size();
        if (path == stdout_path)
            npy::check_type("stdout", node.type);
        else
            npy::check_writable(path, node.type);
        if (many && rank == max_rank)
            throw InvalidOption(
                fmt::format("-o {}", word),
                fmt::format("\"{}\" has {} dims, and the file one more, for the problems: an array has at most {}",
                            name, rank, max_rank),
                "leave it out");
        for (const auto& [other, taken] : files)
            if (other != name && is_same_place(taken, path))
                throw InvalidOption(fmt::format("-o {}", word),
                                    fmt::format("\"{}\" goes to {} already: each output has a file of its own", other,
                                                path == stdout_path ? "stdout" : "this file"),
                                    "name another");
        if (!files.emplace(name, path).second)
            throw InvalidOption(fmt::format("-o {}", word),
                                fmt::format("\"{}\" goes to a file already: an output has one file", name),
                                "leave one of the two out");
    }
    check_alone_on_stdout(graph, files, many);
    return files;
}

void write_files(const Files& files, std::span<const Entries> problems, bool many) {
    std::vector<npy::PendingFile> pending;
    for (const auto& [name, path] : files) {
        if (path == stdout_path) continue;
        const FileContent array = content(name, problems, many);
        pending.emplace_back(path, array.type, array.extents, array.parts);
    }
    for (npy::PendingFile& file : pending) file.commit();
}

bool write_to_stdout(const Files& files, std::span<const Entries> problems, bool many) {
    const auto file = std::ranges::find_if(files, [](const auto& one) { return one.second == stdout_path; });
    if (file == files.end()) return false;
    const FileContent array = content(file->first, problems, many);
    npy::write(STDOUT_FILENO, "stdout", array.type, array.extents, array.parts);
    return true;
}

} // namespace gf::tool
