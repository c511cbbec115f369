// `gridfold run --many`: problems along an additional first dim of arrays; each has the same bits as alone.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <gridfold/core/view.hpp>
#include <gridfold/npy/npy.hpp>

#include "tool/command.hpp"

namespace {

using gf::test::Outcome;

class ToolMany : public gf::test::Command {
protected:
    ToolMany() {
        const std::vector<std::int32_t> rows{3, 1, -4, 1, -5, 9}, weights{1, 10, 100};
        const std::vector<float> limits{0.5F, -4.5F};
        const std::vector<double> wide{0.5, -4.5};
        gf::npy::write(path("rows.npy"), gf::host_view(rows.data(), {2, 3}));
        gf::npy::write(path("row.npy"), gf::host_view(rows.data(), {1, 3}));
        gf::npy::write(path("three.npy"), gf::host_view(rows.data(), {3, 2}));
        gf::npy::write(path("short.npy"), gf::host_view(rows.data(), {2, 2}));
        gf::npy::write(path("cube.npy"), gf::host_view(rows.data(), {1, 2, 3}));
        gf::npy::write(path("none.npy"), gf::host_view(rows.data(), {0, 3}));
        gf::npy::write(path("empty.npy"), gf::host_view(rows.data(), {2, 0}));
        gf::npy::write(path("weights.npy"), gf::View(weights));
        gf::npy::write(path("limits.npy"), gf::View(limits));
        gf::npy::write(path("wide.npy"), gf::View(wide));
        gf::npy::write(path("one.npy"), gf::host_view(limits.data(), {}));
        std::ofstream(path("limits.raw"), std::ios::binary).write(reinterpret_cast<const char*>(limits.data()), 8);
    }
    std::string bytes_of(const gf::View& view) const {
        return {static_cast<const char*>(view.address), gf::element_count(view.extents) * gf::size_of(view.type)};
    }
};

TEST_F(ToolMany, prints_the_results_of_each_problem_with_its_number) {
    expect_output("run --device cpu --many 'f(x: i32[n]) -> s = sum(x), m = max(x), y = x * 2' x=rows.npy",
                  "[0] s = 0\n[0] m = 3\n[0] y = i32[3]: 6 2 -8\n"
                  "[1] s = 5\n[1] m = 9\n[1] y = i32[3]: 2 -10 18\n");
    expect_output("run --device cpu --many 'f(x: i32[n]) -> s = sum(x)' x=row.npy", "[0] s = 0\n");
    expect_output("run --device cpu --many 'f(x: i32[n]) -> s = sum(x), y = x' x=empty.npy",
                  "[0] s = 0\n[0] y = i32[0]\n[1] s = 0\n[1] y = i32[0]\n");
}

TEST_F(ToolMany, prints_a_json_list_of_objects) {
    expect_output(
        "run --device cpu --many --json 'f(x: i32[n]) -> s = sum(x), low = min(x where x < -4), y = x' x=rows.npy",
        "[{\"s\": 0, \"low\": null, \"y\": [3, 1, -4]},\n {\"s\": 5, \"low\": -5, \"y\": [1, -5, 9]}]\n");
}

TEST_F(ToolMany, shares_what_has_no_dim_for_the_problems) {
    expect_output("run --device cpu --many 'f(x: i32[n], w: i32[n], k: i64) -> s = sum(x * w) + k' x=rows.npy "
                  "w=weights.npy k=1000",
                  "[0] s = 613\n[1] s = 1851\n");
    expect_output("run --device cpu --many 'f(x: i32[n], limit: f32) -> c = count(x > limit), d = limit' x=weights.npy "
                  "limit=limits.npy",
                  "[0] c = 3\n[0] d = 0.5\n[1] c = 3\n[1] d = -4.5\n");
    expect_output("run --device cpu --many 'f(x: i32[n], limit: f32) -> c = count(x > limit)' x=rows.npy "
                  "limit=raw:f32:limits.raw",
                  "[0] c = 2\n[1] c = 2\n");
    expect_output("run --device cpu --many 'f([n], k: i32) -> s = sum(index(n)) + k' n=5 k=weights.npy",
                  "[0] s = 11\n[1] s = 20\n[2] s = 110\n");
}

TEST_F(ToolMany, writes_results_with_the_problems_in_front) {
    const std::string graph = "'f(x: i32[n]) -> s = sum(x), y = x * 2, m = max(x)' ";
    expect_output("run --device cpu --many " + graph + "x=rows.npy -o y=y.npy -o s=s.npy",
                  "[0] m = 3\n[1] m = 9\ns = i64[2] in s.npy\ny = i32[2, 3] in y.npy\n");
    const gf::npy::Array y = gf::npy::open(path("y.npy")), s = gf::npy::open(path("s.npy"));
    EXPECT_EQ(y.view().extents, gf::Extents({2, 3}));
    EXPECT_EQ(static_cast<const std::int32_t*>(y.view().address)[5], 18);
    EXPECT_EQ(s.view().extents, gf::Extents({2}));
    EXPECT_EQ(static_cast<const std::int64_t*>(s.view().address)[1], 5);
    expect_output("run --device cpu --many --json " + graph + "x=rows.npy -o y=y.npy",
                  "[{\"s\": 0, \"y\": {\"file\": \"y.npy\", \"index\": 0}, \"m\": 3},\n"
                  " {\"s\": 5, \"y\": {\"file\": \"y.npy\", \"index\": 1}, \"m\": 9}]\n");
    // A single problem has the additional dim, too.
    expect_output("run --device cpu --many 'f(x: i32[n]) -> y = x' x=row.npy -o y=y.npy", "y = i32[1, 3] in y.npy\n");
}

// Numbers have the shortest text that reads back the same, so equal lines are equal bits.
TEST_F(ToolMany, gives_the_bits_of_one_by_one) {
    constexpr std::int64_t problems = 7, n = 4099; // rows that are not aligned, of several slabs
    std::vector<float> x(problems * n), limits(problems);
    std::uint32_t seed = 1;
    for (float& value : x) {
        seed = seed * 1664525u + 1013904223u;
        value = static_cast<float>(seed >> 8) / 65536.0F - 100.0F;
    }
    for (std::size_t i = 0; i < limits.size(); ++i) limits[i] = static_cast<float>(i) * 0.5F;
    gf::npy::write(path("x.npy"), gf::host_view(x.data(), {problems, n}));
    gf::npy::write(path("limits.npy"), gf::View(limits));
    const std::string graph =
        " --device cpu 'f(x: f32[n], limit: f32) -> m = mean(x), d = stddev(x), hot = sum(x where x > "
        "limit), at = argmin(x), z = (x - mean(x)) * limit' -o z=z.npy ";
    std::string lines, z;
    for (std::int64_t i = 0; i < problems; ++i) {
        gf::npy::write(path("one.npy"), gf::host_view(x.data() + i * n, {n}));
        const Outcome one = gridfold("run" + graph + "x=one.npy limit=" + std::to_string(static_cast<double>(i) / 2));
        ASSERT_EQ(one.code, 0) << one.err;
        std::istringstream text(one.out);
        for (std::string line; std::getline(text, line) && !line.starts_with("z = ");)
            lines += fmt::format("[{}] {}\n", i, line);
        z += bytes_of(gf::npy::open(path("z.npy")).view());
    }
    expect_output("run --many" + graph + "x=x.npy limit=limits.npy", lines + "z = f32[7, 4099] in z.npy\n");
    EXPECT_TRUE(bytes_of(gf::npy::open(path("z.npy")).view()) == z);
}

TEST_F(ToolMany, goes_with_the_other_options) {
    const std::string graph = " 'f(x: i32[n]) -> s = sum(x), y = x + i32(sum(x))' x=rows.npy -o y=y.npy";
    const std::string right = "[0] s = 0\n[1] s = 5\ny = i32[2, 3] in y.npy\n";
    expect_output("run --device cpu --many --verify" + graph, right);
    expect_output("run --device cpu --many --no-fuse" + graph, right);
    const Outcome timed = gridfold("run --device cpu --many --time" + graph);
    EXPECT_EQ(timed.code, 0);
    EXPECT_EQ(timed.out, right);
    EXPECT_NE(timed.err.find("GB/s"), std::string::npos) << timed.err;
}

// Short problems run as one graph over one more dim; long ones, and those without room for it, by themselves.
TEST_F(ToolMany, runs_what_one_graph_cannot_hold) {
    expect_output("run --device cpu --many 'f([a, b, c, d, e, f, g, h], x: i32[a, b, c, d, e, f, g, h], k: i32) -> s = "
                  "sum(x) + k, n = extent(h)' 'x=raw:i32[1, 1, 1, 1, 1, 1, 1, 2]:limits.raw' k=weights.npy",
                  "[0] s = -7340031\n[0] n = 2\n[1] s = -7340022\n[1] n = 2\n[2] s = -7339932\n[2] n = 2\n");
    const std::string graph =
        "'f([problem], x: i32[problem], k: i32) -> least = min(x where x < k), p = extent(problem)'";
    expect_output("run --device cpu --many " + graph + " x=rows.npy k=0",
                  "[0] least = -4\n[0] p = 3\n[1] least = -5\n[1] p = 3\n");
    const std::vector<std::int32_t> many(3000, 7);
    gf::npy::write(path("long.npy"), gf::host_view(many.data(), {3, 1000}));
    gf::npy::write(path("some.npy"), gf::host_view(many.data(), {300, 10}));
    const std::string folds = "'f(x: i32[n], k: i32) -> s = sum(x), none = max(x where x > k)' k=8 ";
    for (const char* file : {"long.npy", "some.npy"}) {
        const Outcome outcome = gridfold("run --device cpu --many --json " + folds + "x=" + file);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        EXPECT_NE(outcome.out.find("\"none\": null}"), std::string::npos) << outcome.out;
    }
}

TEST_F(ToolMany, refuses_what_are_no_problems) {
    const std::string sum = "run --many --device cpu 'f(x: i32[n]) -> s = sum(x)' ";
    expect_failure(1, sum + "x=none.npy", {"x=none.npy", "[0, 3]", "no problem", "first extent is not 0"});
    expect_failure(1, sum + "x=weights.npy", {"--many was given", "stack them, or leave --many out"});
    expect_failure(1, sum + "x=cube.npy", {"x=cube.npy", "1 dim ", "[1, 2, 3]", "one more in front"});
    expect_failure(1, sum + "x=limits.npy", {"--many was given"});
    expect_failure(1, "run 'f(x: i32[n]) -> s = sum(x)' x=rows.npy", {"1 dim ", "[2, 3]", "with --many"});
    expect_failure(1, "run --many --device cpu 'f(x: i32[n]) -> m = min(x)' x=empty.npy",
                   {"problem 0 of 2", "dim \"n\" has extent 0", "min"});
}

TEST_F(ToolMany, refuses_problems_that_do_not_go_together) {
    const std::string product = "run --many --device cpu 'f(x: i32[n], y: i32[n]) -> s = sum(x * y)' x=rows.npy ";
    expect_failure(1, product + "y=three.npy", {"x=rows.npy holds 2 problems", "y=three.npy holds 3", "equally many"});
    expect_failure(1, product + "y=short.npy", {"problem 0 of 2", "dim \"n\" is 3 by input \"x\"", "2 by input \"y\""});
    expect_failure(1, product, {"input \"y\"", "is not bound"});
    expect_failure(1, product + "y=rows.npy z=1", {"no input, run-time scalar or dim \"z\"", "it has x, y, n"});
    expect_failure(1, "run --many --device cpu 'f(x: f32[n]) -> s = sum(x)' x=rows.npy",
                   {"problem 0 of 2", "i32", "f32"});
}

TEST_F(ToolMany, refuses_run_time_scalars_that_are_neither_one_nor_one_a_problem) {
    const std::string above = "run --many --device cpu 'f(x: i32[n], limit: f32) -> c = count(x > limit)' x=rows.npy ";
    expect_failure(1, above + "limit=weights.npy", {"\"limit\" is f32", "elements of i32"});
    expect_failure(1, above + "limit=wide.npy", {"\"limit\" is f32", "elements of f64"});
    expect_failure(1, above + "limit=rows.npy",
                   {"\"limit\" is a run-time scalar", "[2, 3]", "a number or an array without dims for all problems"});
    expect_failure(1, above + "limit=cube.npy", {"\"limit\" is a run-time scalar", "[1, 2, 3]", "a value for each"});
    expect_failure(1, above + "limit=half", {"limit=half", "is not a number", "one for each problem"});
    expect_failure(1, above + "limit=" + std::string(300, 'a'), {"is not a number, true, false or a file"});
    expect_failure(1, "run --many 'f(x: i32[n], k: i32) -> s = sum(x * k)' x=rows.npy k=row.npy", {"\"k\"", "[1, 3]"});
    expect_failure(1, "run --many 'f(x: i32[n], k: i32) -> s = sum(x * k)' x=rows.npy k=weights.npy",
                   {"x=rows.npy holds 2 problems", "k=weights.npy holds 3"});
    expect_failure(1, "run --many 'f([n], k: i32) -> s = sum(index(n)) + k' n=weights.npy k=weights.npy",
                   {"n=weights.npy", "an integer"});
    expect_failure(1, "run 'f(x: i32[n], limit: f32) -> c = count(x > limit)' x=weights.npy limit=limits.npy",
                   {"limit=limits.npy", "a number"});
}

TEST_F(ToolMany, refuses_results_that_no_file_can_hold) {
    expect_failure(1,
                   "run --many --device cpu 'f(x: i32[n]) -> low = min(x where x < -4), y = x' x=rows.npy -o "
                   "low=low.npy -o y=y.npy",
                   {"\"low\" of problem 0 is empty", "leave its -o out"});
    expect_failure(1, "run --many --device cpu 'f(x: i32[n]) -> b = bf16(sum(x))' x=rows.npy -o b=b.npy",
                   {"bf16", "cast to f32"});
    expect_failure(
        1,
        "run --many --device cpu 'f([a, b, c, d, e, f, g, h], x: i32[a, b, c, d, e, f, g, h], k: i32) -> y = x + k' "
        "'x=raw:i32[1, 1, 1, 1, 1, 1, 1, 2]:limits.raw' k=weights.npy -o y=y.npy",
        {"\"y\" has 8 dims", "one more, for the problems"});
    EXPECT_FALSE(std::filesystem::exists(path("low.npy")));
    EXPECT_FALSE(std::filesystem::exists(path("y.npy")));
}

} // namespace
