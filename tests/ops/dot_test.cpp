// The Graphviz form of a graph.
#include <sstream>

#include <boost/graph/adjacency_list.hpp>
#include <gtest/gtest.h>

#include <gridfold/ops/dot.hpp>
#include <gridfold/ops/text.hpp>

namespace gf {
namespace {

TEST(Dot, draws_every_node_edge_and_output) {
    std::ostringstream out;
    write_dot(out, parse("f(x: f32[i, j], w: f32[j]) let y = x * w; -> total = sum(y where y > 0.5), y = y"));
    EXPECT_EQ(out.str(), R"(digraph G {
rankdir=TB;
label=f;
0[label="x\nf32[i, j]", shape=box];
1[label="w\nf32[j]", shape=box];
2[label="y = mul\nf32[i, j]\n-> y", shape=ellipse, peripheries=2];
3[label="f32(0.5)\nf32", shape=plaintext];
4[label="greater\nbool[i, j]", shape=ellipse];
5[label="sum\nf32\n-> total", shape=invtrapezium, peripheries=2];
0->2 [label=0];
1->2 [label=1];
2->4 [label=0];
3->4 [label=1];
2->5 [label=0];
4->5 [label=where, style=dashed];
}
)");
}

TEST(Dot, names_scalars_indices_casts_and_constants) {
    std::ostringstream out;
    write_dot(out, parse("f(alpha: f32, k: i8[n]) -> y = f32(index(n)) * alpha + f32(k) + 2"));
    for (const char* drawn : {"alpha\\nf32\"", "index(n)\\ni64[n]", "cast\\nf32[n]", "f32(2.0)\\nf32"})
        EXPECT_NE(out.str().find(drawn), std::string::npos) << drawn << "\n" << out.str();
}

} // namespace
} // namespace gf
