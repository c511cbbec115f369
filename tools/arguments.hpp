// What the words of a command line mean: graphs, bindings and output files.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gridfold/fusion/executable.hpp>
#include <gridfold/npy/npy.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf::tool {

/// The graph of a text, or of the file that "@path" names.
Graph read_graph(const std::string& text);

/// "name=value" in its two parts. Throws InvalidOption, saying that `what` has this form.
std::pair<std::string, std::string> split_at_equals(const char* what, const std::string& word);

/// The bindings of each problem, with the files whose arrays they view.
struct Inputs {
    std::vector<npy::Array> files;
    std::vector<Bindings> problems; ///< one, or many
};

/// "x=array.npy", "x=raw:i32:path", "x=raw:f32[100, 20]:path" for an array of the graph, where the path "-" is stdin;
/// "alpha=0.5", "alpha=array.npy" of an array without dims for a run-time scalar; "n=100" for a dim. Opens the files.
/// `many`: arrays, and files of values for run-time scalars, may have a dim in front of the graph's, along which the
/// problems are.
Inputs read_inputs(const Graph& graph, const std::vector<std::string>& words, bool many);

} // namespace gf::tool
