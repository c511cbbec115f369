// The command gridfold in a shell: its output, exit codes and files.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/core/view.hpp>
#include <gridfold/npy/npy.hpp>

#include "tool/command.hpp"

namespace {

using gf::test::Outcome;

class Tool : public gf::test::Command {
protected:
    Tool() {
        const std::vector<std::int32_t> x{3, 1, -4, 1, -5, 9, -2, 6};
        const std::vector<float> table{1, 2, 3, 4, 5, 6};
        gf::npy::write(path("x.npy"), gf::View(x));
        gf::npy::write(path("table.npy"), gf::host_view(table.data(), {2, 3}));
        gf::npy::write(path("none.npy"), gf::host_view(x.data(), {0}));
        std::ofstream(path("x.raw"), std::ios::binary).write(reinterpret_cast<const char*>(x.data()), 32);
        std::ofstream(path("none.raw"));
        std::ofstream(path("graph.txt")) << "cubes(x: i32[n]) -> c = sum(x * x * x)\n";
    }
};

TEST_F(Tool, prints_a_line_for_each_result_in_the_order_of_the_graph) {
    expect_output("run --device cpu 'g(x: i32[n]) -> c = sum(x*x*x), m = mean(x), top = max(x), at = argmax(x), neg = "
                  "any(x < 0)' "
                  "x=x.npy",
                  "c = 777\nm = 1.125\ntop = 9\nat = 5\nneg = true\n");
}

TEST_F(Tool, reads_graphs_from_files_and_arrays_from_raw_files) {
    expect_output("run --device cpu @graph.txt x=raw:i32:x.raw", "c = 777\n");
    expect_output("run --device cpu 'f(x: i32[i, j]) -> s = sum(x)' 'x=raw:i32[2, 4]:x.raw'", "s = 9\n");
}

TEST_F(Tool, takes_run_time_scalars_and_extents_by_value) {
    expect_output(
        "run --device cpu 'f(x: f32[i, j], a: f32, b: bool, k: i64) -> s = sum(select(b, x * a, 0.0)), last = k' "
        "x=table.npy a=-0.5 b=true k=-9223372036854775808",
        "s = -10.5\nlast = -9223372036854775808\n");
    expect_output("run --device cpu 'f([n]) -> s = sum(index(n))' n=5", "s = 10\n");
    expect_output("run --device cpu 'f([n]) -> s = n * 2' n=5", "s = 10\n");
}

TEST_F(Tool, prints_one_json_object_with_words_for_what_json_lacks) {
    expect_output("run --device cpu --json 'f(x: i32[n]) -> a = min(x where x > 99), b = max(f32(x) where x > 99), c = "
                  "1 / sum(x - "
                  "x), d = -1.0 / sum(x - x), e = all(x != 0), y = x + x, z = mean(x)' x=x.npy",
                  "{\"a\": null, \"b\": \"nan\", \"c\": \"inf\", \"d\": \"-inf\", \"e\": true, \"y\": [6, 2, -8, 2, "
                  "-10, 18, -4, 12], "
                  "\"z\": 1.125}\n");
    expect_output("run --device cpu --json 'f(x: f32[i, j]) -> y = x * 2' x=table.npy",
                  "{\"y\": [[2, 4, 6], [8, 10, 12]]}\n");
}

TEST_F(Tool, says_empty_nan_and_the_first_elements_in_lines) {
    expect_output("run --device cpu 'f(x: i32[n]) -> a = min(x where x > 99), b = max(f32(x) where x > 99), y = f64(x) "
                  "/ 2' x=x.npy",
                  "a = empty\nb = nan\ny = f64[8]: 1.5 0.5 -2 0.5 -2.5 4.5 -1 3\n");
}

TEST_F(Tool, writes_array_results_to_npy_files) {
    expect_output("run --device cpu 'f(x: f32[i, j]) -> y = x * x, s = sum(x)' x=table.npy -o y=y.npy",
                  "y = f32[2, 3] in y.npy\ns = 21\n");
    const gf::npy::Array y = gf::npy::open(path("y.npy"));
    EXPECT_EQ(y.view().extents, gf::Extents({2, 3}));
    EXPECT_EQ(static_cast<const float*>(y.view().address)[5], 36);
    expect_output("run --device cpu --json 'f(x: f32[i, j]) -> y = x + 1' -o y=y.npy x=table.npy",
                  "{\"y\": {\"file\": \"y.npy\"}}\n");
    EXPECT_EQ(static_cast<const float*>(gf::npy::open(path("y.npy")).view().address)[5], 7);
}

TEST_F(Tool, writes_through_links_and_keeps_permissions) {
    std::ofstream(path("private.npy")) << "precious";
    std::filesystem::permissions(path("private.npy"),
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    std::filesystem::create_symlink("private.npy", path("link.npy"));
    expect_output("run --device cpu 'f(x: i32[n]) -> y = x + 1' x=x.npy -o y=link.npy", "y = i32[8] in link.npy\n");
    EXPECT_TRUE(std::filesystem::is_symlink(path("link.npy")));
    EXPECT_EQ(gf::npy::open(path("private.npy")).view().extents, gf::Extents({8}));
    EXPECT_EQ(std::filesystem::status(path("private.npy")).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    expect_failure(1, "run 'f(x: i32[n]) -> y = x + 1, z = x' x=x.npy -o y=y.npy -o z=./y.npy", {"goes to this file"});
}

TEST_F(Tool, takes_arrays_without_elements) {
    expect_output("run --device cpu 'f(x: i32[n]) -> s = sum(x), y = x + 1' x=none.npy -o y=y.npy",
                  "s = 0\ny = i32[0] in y.npy\n");
    EXPECT_EQ(gf::npy::open(path("y.npy")).view().extents, gf::Extents({0}));
    expect_failure(1, "run --device cpu 'f(x: i32[n]) -> m = min(x)' x=none.npy", {"dim \"n\" has extent 0", "min"});
}

TEST_F(Tool, prints_an_array_without_elements_as_an_empty_list) {
    expect_output("run --json --device cpu 'f(x: f32[m, n]) -> z = x + 1, s = sum(x)' "
                  "'x=raw:f32[1000000000000,0]:none.raw'",
                  "{\"z\": [], \"s\": 0}\n");
}

TEST_F(Tool, verifies_and_runs_unfused_with_the_same_answer) {
    expect_output("run --device cpu --verify @graph.txt x=x.npy", "c = 777\n");
    expect_output("run --device cpu --no-fuse @graph.txt x=x.npy", "c = 777\n");
}

TEST_F(Tool, says_the_time_on_stderr) {
    const Outcome outcome = gridfold("run --device cpu --time @graph.txt x=x.npy");
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out, "c = 777\n");
    EXPECT_NE(outcome.err.find("GB/s"), std::string::npos);
}

TEST_F(Tool, explains_in_words_text_dot_and_source) {
    const std::string graph = "'z(x: f32[n]) -> z = (x - mean(x)) / stddev(x)' --device cpu ";
    EXPECT_NE(gridfold("explain " + graph).out.find("sweep 1: domain [n], stage 1"), std::string::npos);
    EXPECT_NE(gridfold("explain --text " + graph).out.find("load x"), std::string::npos);
    EXPECT_EQ(gridfold("explain --dot " + graph).out.substr(0, 7), "digraph");
    const std::string sweeps = gridfold("explain --source " + graph).out;
    EXPECT_NE(sweeps.find("gridfold_sweep"), std::string::npos);
    EXPECT_NE(sweeps.find("// %0 = load x"), std::string::npos) << sweeps;
    EXPECT_LE(std::ranges::count(sweeps, '\n'), 120) << sweeps;
    EXPECT_EQ(gridfold("explain --source=sweeps " + graph).out, sweeps);
    const std::string full = gridfold("explain --source=full " + graph).out;
    EXPECT_NE(full.find("fold_slabs("), std::string::npos);
    EXPECT_EQ(full.find("load x"), std::string::npos) << "the compiler's text has no names";
    EXPECT_EQ(gridfold("explain --source=half " + graph).code, 1);
    expect_failure(1, "explain --source full " + graph, {"write --source=full"});
}

TEST_F(Tool, says_its_version) {
    EXPECT_EQ(gridfold("--version").code, 0);
    EXPECT_EQ(gridfold("--version").out.substr(0, 2), "0.");
}

TEST_F(Tool, lists_devices) {
    const Outcome outcome = gridfold("devices");
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out.substr(0, 3), "cpu");
    EXPECT_NE(outcome.out.find("cuda"), std::string::npos);
}

TEST_F(Tool, exits_with_1_for_the_users_mistake_and_prints_nothing_to_stdout) {
    expect_failure(1, "", {"subcommand"});
    expect_failure(1, "frobnicate", {"'frobnicate' is not a command: they are devices, explain, run, ops; see"});
    expect_failure(1, "runn @graph.txt x=x.npy", {"'runn' is not a command", "did you mean 'run'?"});
    expect_failure(1, "run", {"graph"});
    expect_failure(1, "run --fast 'f(x: i32[n]) -> s = sum(x)' x=x.npy", {"--fast"});
    expect_failure(1, "run 'f(x: i32[n]) -> s = sum(x' x=x.npy", {"1:"});
    expect_failure(1, "run @nowhere.txt x=x.npy", {"nowhere.txt", "No such file"});
    expect_failure(1, "run @graph.txt", {"input \"x\"", "is not bound", "add x=array.npy"});
    expect_failure(1, "run 'f([n]) -> s = sum(index(n))'", {"dim \"n\" has no extent", "add n=1000"});
    expect_failure(1, "run 'f([n]) -> s = n * 2'", {"dim \"n\" has no extent", "add n=1000"});
    expect_failure(1, "run 'f(x: i32[n, m]) -> s = sum(x)' x=raw:i32:x.raw",
                   {"2 dims", "[8]", "x=raw:f32[100, 20]:path"});
    expect_failure(1, "run @graph.txt x=x.npy x=x.npy", {"bound twice"});
    expect_failure(1, "run @graph.txt x=x.npy y=1",
                   {"y=1: ", "the graph has no input, run-time scalar or dim \"y\"", "it has x, n"});
    expect_failure(1, "run 'f(temperature: i32[n]) -> s = sum(temperature)' temprature=x.npy",
                   {"temprature=x.npy: ", "it has temperature, n", "did you mean 'temperature'?"});
    expect_failure(1, "run 'f(x: i32[n]) -> y = x + 1' x=x.npy y=y.npy",
                   {"y=y.npy: \"y\" is an output of the graph", "write it with -o y=y.npy"});
    expect_failure(1, "run @graph.txt x=x.npy c=c.npy",
                   {"c=c.npy: \"c\" is a scalar output of the graph", "scalars are printed", "leave it out"});
    expect_failure(1, "run @graph.txt x", {"name=value"});
    expect_failure(1, "run @graph.txt x=nowhere.npy", {"nowhere.npy", "can't be read"});
    expect_failure(1, "run @graph.txt x=x.raw", {"not a .npy file"});
    expect_failure(1, "run @graph.txt x=raw:int:x.raw", {"raw:<type>:<path>", "i32"});
    expect_failure(1, "run @graph.txt x=table.npy", {"elements of f32"});
    expect_failure(1, "run 'f(x: f32[n]) -> s = sum(x)' x=table.npy", {"1 dim", "[2, 3]"});
    expect_failure(1, "run 'f(x: i32[n], a: f32) -> s = sum(x * a)' x=x.npy a=half", {"a=half", "is not a number"});
    expect_failure(1, "run @graph.txt x=x.npy --device gpu", {"\"gpu\"", "\"cpu\""});
    expect_failure(1, "run @graph.txt x=x.npy -o c=c.npy", {"\"c\" is a scalar output"});
    expect_failure(1, "run 'f(x: i32[n]) -> y = x, s = sum(x)' x=x.npy -o zz=z.npy",
                   {"-o zz=z.npy: \"zz\" is not an output of the graph: they are y, s"});
    expect_failure(1, "run 'f(x: i32[n]) -> result = x' x=x.npy -o resutl=z.npy", {"did you mean 'result'?"});
    expect_failure(1, "run 'f(x: i32[n]) -> y = x + 1' x=x.npy -o y=nowhere/y.npy",
                   {"nowhere/y.npy", "can't be written"});
    expect_failure(1, "run 'f(x: i32[n]) -> y = x + 1, z = x' x=x.npy -o y=y.npy -o z=y.npy",
                   {"z=y.npy", "\"y\" goes to this file", "name another"});
    expect_failure(1, "explain --text --dot @graph.txt", {"--text"});
    EXPECT_FALSE(std::filesystem::exists(path("c.npy")));
}

TEST_F(Tool, exits_with_2_where_a_device_is_not_there) {
    expect_failure(2, "run @graph.txt x=x.npy --device cuda:999", {"cuda:999"});
}

} // namespace
