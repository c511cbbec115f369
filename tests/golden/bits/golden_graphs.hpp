// The files of this folder: graphs as text with the sizes that they run at, and the hashes of their results.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gridfold/core/dtype.hpp>

namespace gf::golden {

/// A parameter of a graph: an array, or without dims a run-time scalar.
struct Parameter {
    std::string name;
    DType type;
    std::vector<std::string> dims; ///< outermost first
};

/// The extents of a graph's dims.
struct Size {
    std::string text; ///< "3x700", in the order of the file's line
    std::map<std::string, std::int64_t, std::less<>> extents;
};

struct GoldenGraph {
    std::string name;
    std::string text;
    std::vector<Parameter> parameters;
    std::vector<std::string> free_dims; ///< dims that no array has, which are bound by name
    std::vector<Size> sizes;
};

/// The graphs of graphs/<file>. A line "@ i j = 3x700, 33x257" lists the sizes of the graphs below it, each an extent
/// for every dim. Graphs are in the library's text form, with an empty line after each; lines that begin with # are
/// comments. Throws std::runtime_error, with the line, if a file breaks these rules or two graphs have one name.
std::vector<GoldenGraph> read_graphs(std::string_view file);

/// By graph and size ("sum_f32 2049"): the hashes of the results, in the graph's order.
using Hashes = std::map<std::string, std::vector<std::uint64_t>>;

/// The lines of hashes/<file>, "sum_f32 2049: 0123456789abcdef …". Throws std::runtime_error if there is no such file,
/// or for a line of another form.
Hashes read_hashes(std::string_view file);

/// Writes hashes/<file>, in the order of the graphs and their sizes.
void write_hashes(std::string_view file, const std::vector<GoldenGraph>& graphs, const Hashes& hashes);

/// The beginning of a line of hashes: "sum_f32 2049".
std::string line_name(const GoldenGraph& graph, const Size& size);

} // namespace gf::golden
