// Results in files.
#include "outputs.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>
#include <gridfold/fusion/plan.hpp>
#include <gridfold/npy/npy.hpp>

#include "arguments.hpp"
#include "problems.hpp"

namespace gf::tool {
namespace {

/// The type of an output, and its rank.
std::pair<DType, std::size_t> shape_of(const plan::Plan& plan, const plan::Output& output) {
    if (output.array < 0) return {plan.scalars[static_cast<std::size_t>(output.scalar)].type, 0};
    const plan::Array& array = plan.arrays[static_cast<std::size_t>(output.array)];
    return {array.type, array.dims.size()};
}

const Results::Entry& entry(const Results& results, const std::string& name) {
    return *std::ranges::find(results.entries(), name, &Results::Entry::name);
}

/// The values of one scalar output, problem by problem.
std::vector<std::byte> scalars(const std::string& name, std::span<const Results> results) {
    static_assert(std::endian::native == std::endian::little, "a value is the first bytes of its bits");
    const std::size_t bytes = size_of(entry(results.front(), name).type);
    std::vector<std::byte> values(results.size() * bytes);
    for (std::size_t i = 0; i < results.size(); ++i) {
        const Results::Entry& one = entry(results[i], name);
        if (one.empty)
            throw InvalidGraph(fmt::format(
                "\"{}\" of problem {} is empty, no element contributed to it: a file holds nothing but numbers; leave "
                "its -o out, or choose a number in the graph, as in select(any(mask), min(x where mask), 0)",
                name, i));
        std::memcpy(values.data() + i * bytes, &one.bits, bytes);
    }
    return values;
}

npy::PendingFile pending_file(const std::string& name, const std::string& path, std::span<const Results> results) {
    const Results::Entry& first = entry(results.front(), name);
    const Extents extents = with_problems_in_front(static_cast<std::int64_t>(results.size()), first.array.extents);
    if (!first.is_array) {
        std::vector<std::byte> values = scalars(name, results);
        return {path, View(values.data(), first.type, extents, Memory::host, false)};
    }
    std::vector<View> arrays;
    for (const Results& one : results) arrays.push_back(one.array(name));
    return {path, first.type, extents, arrays};
}

} // namespace

Files read_files(const plan::Plan& plan, const std::vector<std::string>& words, bool many) {
    Files files;
    for (const std::string& word : words) {
        const auto parts = split_at_equals("-o", word);
        const std::string &name = parts.first, &path = parts.second;
        const auto output = std::find_if(plan.outputs.begin(), plan.outputs.end(),
                                         [&](const plan::Output& o) { return o.name == name; });
        if (output == plan.outputs.end())
            throw InvalidGraph(
                fmt::format("-o {}: \"{}\" is no output of the graph: results go to files; leave it out", word, name));
        if (output->array < 0 && !many)
            throw InvalidGraph(
                fmt::format("-o {}: \"{}\" is a scalar output of the graph: array outputs go to files, scalars are "
                            "printed; leave it out",
                            word, name));
        const auto [type, rank] = shape_of(plan, *output);
        npy::check_writable(path, type);
        if (many && rank == max_rank)
            throw InvalidGraph(fmt::format(
                "-o {}: \"{}\" has {} dims, and the file one more, for the problems: an array has at most {}; leave it "
                "out",
                word, name, rank, max_rank));
        for (const auto& [other, taken] : files)
            if (npy::written_path(taken) == npy::written_path(path) && other != name)
                throw InvalidGraph(fmt::format("-o {}: \"{}\" goes to this file already: each output has a file of its "
                                               "own; name another",
                                               word, other));
        if (!files.emplace(name, path).second)
            throw InvalidGraph(fmt::format(
                "-o {}: \"{}\" goes to a file already: an output has one file; leave one of the two out", word, name));
    }
    return files;
}

void write_files(const Files& files, std::span<const Results> results, bool many) {
    std::vector<npy::PendingFile> pending;
    for (const auto& [name, path] : files) {
        if (many)
            pending.push_back(pending_file(name, path, results));
        else
            pending.emplace_back(path, results.front().array(name));
    }
    for (npy::PendingFile& file : pending) file.commit();
}

} // namespace gf::tool
