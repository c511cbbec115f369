// The graph of a dozen statistics of one column, for the benchmarks of CPU and GPU.
#pragma once

#include <gridfold/gridfold.hpp>

namespace bench {

/// With `indices`, argmin and argmax replace any and all.
inline gf::Graph dozen(bool indices) {
    gf::Graph g("dozen");
    const gf::Value x = g.input<float>("x", {g.dim("n")});
    g.output("sum", gf::sum(x));
    g.output("sum_of_squares", gf::sum_of_squares(x));
    g.output("l2_norm", gf::l2_norm(x));
    g.output("mean", gf::mean(x));
    g.output("variance", gf::variance(x));
    g.output("stddev", gf::stddev(x));
    g.output("min", gf::min(x));
    g.output("max", gf::max(x));
    g.output("positive", gf::count(x > 0));
    if (indices) {
        g.output("argmin", gf::argmin(x));
        g.output("argmax", gf::argmax(x));
    } else {
        g.output("any", gf::any(x));
        g.output("all", gf::all(x));
    }
    g.output("product", gf::product(x));
    return g;
}

} // namespace bench
