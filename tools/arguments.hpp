// Parses the words of a command line: graphs and bindings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gridfold/fusion/executable.hpp>
#include <gridfold/npy/npy.hpp>
#include <gridfold/ops/graph.hpp>

#include "problems.hpp"

namespace gf::tool {

/// The graph of a text, or of the file in "@path".
Graph read_graph(const std::string& text);

/// Splits "name=value". Throws InvalidOption for any other word; the message names it `what`.
std::pair<std::string, std::string> split_at_equals(const char* what, const std::string& word);

/// The bindings of one problem or many, and the files whose arrays they view.
struct Inputs {
    std::vector<npy::Array> files;
    std::vector<Given> given;
    std::int64_t count = 1; ///< the number of problems

    /// The bindings of each problem.
    std::vector<Bindings> problems() const;
    /// The bindings of all problems as one graph over one more dim, along which the inputs varying() vary.
    Bindings batch() const;
    std::vector<std::string> varying() const;
    /// The elements of a problem's largest array.
    std::size_t elements_of_problem() const;
};

/// Parses "x=array.npy", "x=raw:i32:path", "x=raw:f32[100, 20]:path" for an array (the path "-" is stdin); "alpha=0.5"
/// or "alpha=array.npy" (an array without dims) for a run-time scalar; "n=100" for a dim. Opens the files. `many`:
/// arrays, and files with values of run-time scalars, may have an additional first dim, the problems.
Inputs read_inputs(const Graph& graph, const std::vector<std::string>& words, bool many);

} // namespace gf::tool
