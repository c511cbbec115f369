// The plan's text and Graphviz form: golden files, and a cluster for each sweep.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/text.hpp>

namespace gf {
namespace {

using namespace plan;

std::string content_of(const std::filesystem::path& path) {
    std::stringstream content;
    content << std::ifstream(path).rdbuf();
    return content.str();
}

TEST(PlanText, golden_graphs_have_their_golden_plans) {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(GRIDFOLD_GOLDEN_PLAN)) {
        SCOPED_TRACE(entry.path());
        const std::string text = content_of(entry.path()), rule = "=====\n";
        const std::size_t cut = text.find(rule);
        ASSERT_NE(cut, std::string::npos);
        const Graph graph = parse(text.substr(0, cut));
        FuseOptions unfused;
        unfused.fuse = false;
        EXPECT_EQ(to_text(fuse(graph)) + rule + to_text(fuse(graph, unfused)), text.substr(cut + rule.size()));
        ++files;
    }
    EXPECT_GE(files, 4);
}

TEST(PlanText, fusing_the_printed_graph_gives_the_same_plan) {
    const Graph graph =
        parse("f(x: f16[i, j], w: f32[j], a: f32) let y = x * w; -> m = mean(y where y > a), z = y - sum(y)");
    const Plan plan = fuse(graph);
    EXPECT_EQ(to_text(fuse(parse(plan.graph_text))), to_text(plan));
}

TEST(PlanDot, draws_each_sweep_as_a_cluster_with_its_arrays_outside) {
    std::ostringstream out;
    write_dot(out, fuse(parse("f(x: f32[n]) -> z = (x - mean(x)) / stddev(x)")));
    const std::string dot = out.str();
    EXPECT_NE(dot.find("subgraph cluster_0 {"), std::string::npos);
    EXPECT_NE(dot.find("subgraph cluster_1 {"), std::string::npos);
    EXPECT_EQ(dot.find("subgraph cluster_2 {"), std::string::npos);
    EXPECT_NE(dot.find("a0 -> s0v0;"), std::string::npos);
    EXPECT_NE(dot.find("-> a1;"), std::string::npos);
    EXPECT_EQ(std::count(dot.begin(), dot.end(), '{'), std::count(dot.begin(), dot.end(), '}'));
}

TEST(PlanDot, draws_run_time_scalars_and_masks) {
    std::ostringstream out;
    write_dot(out, fuse(parse("f(x: f32[n], alpha: f32) -> s = sum(x where x > alpha)")));
    const std::string dot = out.str();
    EXPECT_NE(dot.find("p0 [shape=ellipse, label=\"alpha\"]"), std::string::npos) << dot;
    EXPECT_NE(dot.find("  p0 -> s0v0;"), std::string::npos) << dot;
    EXPECT_NE(dot.find("-> s0f0 [label=where]"), std::string::npos) << dot;
}

} // namespace
} // namespace gf
