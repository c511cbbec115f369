// gridfold as a contender: one Prepared for each copy of the input, with its own bindings and workspace.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gridfold/gridfold.hpp>

#include "harness/contender.hpp"
#include "harness/input.hpp"

namespace bench {

/// The bindings for a copy; the closure owns the memory.
using Bind = std::function<gf::Bindings(int copy)>;

gf::Options on_gpu();
gf::Options on_gpu_unfused();

/// A contender whose results are the graph's scalars, in its order.
Contender gridfold_contender(std::string name, const gf::Graph& graph, const gf::Options& options, int copies,
                             const Bind& inputs, const Bind& outputs = {});

/// The bindings of several problems for each copy, which run in one launch.
using BindMany = std::function<std::vector<gf::Bindings>(int copy)>;
Contender gridfold_many_contender(const gf::Graph& graph, int copies, const BindMany& inputs);

/// The scalar results as doubles; an empty one is NaN.
std::vector<double> scalars(const gf::Results& results);
/// The scalar results of several problems, one problem after the other.
std::vector<double> scalars(const std::vector<gf::Results>& all);

/// Adds the wanted contenders of `gridfold` and `gridfold_unfused`, for a graph with one input "x".
template <class T>
void add_gridfold(Case& made, const gf::Graph& graph, const Input<T>& x, const std::vector<Expected>& expected) {
    const Bind bind = [x](int copy) { return gf::Bindings{{"x", x.view(copy)}}; };
    if (made.wants("gridfold"))
        made.add(gridfold_contender("gridfold", graph, on_gpu(), made.copies(), bind), expected);
    if (made.wants("gridfold_unfused"))
        made.add(gridfold_contender("gridfold_unfused", graph, on_gpu_unfused(), made.copies(), bind), expected);
}

} // namespace bench
