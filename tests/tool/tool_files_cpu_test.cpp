// Input and output of the command: stdin, pipes, stdout, arrays in Fortran order, files of other formats.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <gridfold/core/view.hpp>
#include <gridfold/npy/npy.hpp>

#include "tool/command.hpp"

namespace {

using gf::test::Outcome;

class ToolFiles : public gf::test::Command {
protected:
    ToolFiles() {
        const std::vector<std::int32_t> x{3, 1, -4, 1, -5, 9, -2, 6};
        const std::vector<float> table{1, 2, 3, 4, 5, 6};
        gf::npy::write(path("x.npy"), gf::View(x));
        gf::npy::write(path("table.npy"), gf::host_view(table.data(), {2, 3}));
        std::ofstream(path("x.raw"), std::ios::binary).write(reinterpret_cast<const char*>(x.data()), 32);
        std::ofstream(path("graph.txt")) << "cubes(x: i32[n]) -> c = sum(x * x * x)\n";
    }
};

TEST_F(ToolFiles, reads_arrays_from_stdin_and_pipes) {
    expect_output("run --device cpu @graph.txt x=- <x.npy", "c = 777\n");
    expect_output("run --device cpu @graph.txt x=raw:i32:- <x.raw", "c = 777\n");
    const auto expect_piped = [&](const std::string& before, const std::string& words) {
        const Outcome outcome = gridfold(words, before);
        EXPECT_EQ(outcome.out, "c = 777\n") << outcome.err;
        EXPECT_EQ(outcome.code, 0);
    };
    expect_piped("cat x.npy | ", "run --device cpu @graph.txt x=-");
    expect_piped("cat x.npy | ", "run --device cpu @graph.txt x=/dev/stdin");
    expect_piped("cat x.raw | ", "run --device cpu @graph.txt 'x=raw:i32[8]:-'");
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    expect_piped("cat x.npy >pipe & ", "run --device cpu @graph.txt x=pipe");
    expect_piped("cat graph.txt >pipe & ", "run --device cpu @pipe x=x.npy");
    expect_failure(1, "run 'f(x: i32[n], y: i32[n]) -> s = sum(x * y)' x=- y=- <x.npy",
                   {"y=-: stdin is read by x=- already", "name a file"});
    expect_failure(1, "run @graph.txt x=-", {"\"stdin\" is empty"});
    expect_failure(1, "run @graph.txt x=- <x.raw", {"\"stdin\" is not a .npy file"});
}

TEST_F(ToolFiles, writes_one_array_to_stdout_and_nothing_else) {
    const auto expect_written = [&](const std::string& words) {
        const Outcome outcome = gridfold(words);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        std::filesystem::rename(path("out.txt"), path("y.npy"));
        const gf::npy::Array y = gf::npy::open(path("y.npy"));
        EXPECT_EQ(y.view().extents, gf::Extents({2, 3}));
        EXPECT_EQ(static_cast<const float*>(y.view().address)[5], 36);
    };
    expect_written("run --device cpu 'f(x: f32[i, j]) -> y = x * x' x=table.npy -o y=-");
    expect_written("run --device cpu --time 'f(x: f32[i, j]) -> y = x * x, z = x' x=- -o y=- -o z=z.npy <table.npy");
    EXPECT_EQ(gf::npy::open(path("z.npy")).view().extents, gf::Extents({2, 3}));
    expect_written("run --device cpu --many 'f(x: f32[j]) -> y = x * x' x=table.npy -o y=-");
    EXPECT_FALSE(std::filesystem::exists(path("-")));
}

TEST_F(ToolFiles, refuses_what_would_mix_with_the_array_on_stdout) {
    expect_failure(
        1, "run 'f(x: i32[n]) -> y = x + 1, s = sum(x)' x=x.npy -o y=-",
        {"-o y=-: stdout takes this array and nothing else", "\"s\" would be printed", "; leave it out of the graph"});
    expect_failure(1, "run 'f(x: i32[n]) -> y = x + 1, z = x' x=x.npy -o y=-", {"\"z\" would", "-o z=path.npy"});
    expect_failure(1, "run 'f(x: i32[n]) -> y = x + 1, z = x' x=x.npy -o y=- -o z=-", {"\"y\" goes to stdout already"});
    expect_failure(1, "run --json 'f(x: i32[n]) -> y = x + 1' x=x.npy -o y=-", {"--json prints there"});
    expect_failure(1, "run 'f(x: i32[n]) -> y = bf16(x)' x=x.npy -o y=-", {"\"stdout\" can't hold bf16"});
    const Outcome full = gridfold("run --device cpu 'f(x: i32[n]) -> y = x + 1' x=x.npy -o y=- >/dev/full");
    EXPECT_EQ(full.code, 1);
    EXPECT_NE(full.err.find("stdout can't be written: No space left"), std::string::npos) << full.err;
}

TEST_F(ToolFiles, takes_run_time_scalars_from_arrays_without_dims) {
    const double half = 0.5;
    gf::npy::write(path("half.npy"), gf::host_view(&half, {}));
    const std::string graph = " 'f(x: i32[n], a: f32) -> s = sum(x * a)' a=half.npy x=";
    expect_output("run --device cpu" + graph + "x.npy", "s = 4.5\n");
    expect_output("run --device cpu --many" + graph + "raw:i32[1,8]:x.raw", "[0] s = 4.5\n");
    const std::string of_integer = "run 'f(x: i32[n], k: i32) -> s = sum(x * k)' x=x.npy ";
    expect_failure(1, of_integer + "k=half.npy", {"0.5, which i32 does not hold"});
    expect_failure(1, of_integer + "k=x.npy", {"\"k\" is a run-time scalar", "[8]", "an array without dims"});
    expect_failure(1, of_integer + "k=none.npy", {"k=none.npy", "is not a number", "k=2"});
    expect_failure(1, "run 'f(x: f64[n]) -> s = sum(x)' x=half.npy", {"1 dim", "extents are []"});
    expect_failure(1, "run 'f([n]) -> s = sum(index(n))' n=x.npy", {"\"n\" is a dim", "an integer", "n=1000"});
}

TEST_F(ToolFiles, reads_fortran_order) {
    const std::string header = "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }";
    const float elements[] = {1, 2, 3, 10, 20, 30};
    std::ofstream(path("columns.npy"), std::ios::binary)
        << "\x93NUMPY\x01" << '\0' << static_cast<char>(header.size()) << '\0' << header
        << std::string(reinterpret_cast<const char*>(elements), sizeof elements);
    expect_output("run --device cpu 'f(x: f32[i, j]) -> y = x' x=columns.npy", "y = f32[3, 2]: 1 10 2 20 3 30\n");
    expect_output("run --device cpu --verify 'f(x: f32[i, j]) -> y = x, s = sum(x over [i])' x=columns.npy",
                  "y = f32[3, 2]: 1 10 2 20 3 30\ns = f32[2]: 6 60\n");
    // Each problem is a row, whose elements are not neighbours in the file.
    expect_output("run --device cpu --many 'f(x: f32[j]) -> y = x, s = sum(x)' x=columns.npy",
                  "[0] y = f32[2]: 1 10\n[0] s = 11\n[1] y = f32[2]: 2 20\n[1] s = 22\n[2] y = f32[2]: 3 30\n"
                  "[2] s = 33\n");
}

TEST_F(ToolFiles, reads_long_problems_in_fortran_order) {
    constexpr std::size_t n = 300'000; // so long that each problem runs by itself
    const std::string header = "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 300000), }";
    std::vector<std::int32_t> elements;
    for (std::size_t i = 0; i < n; ++i) elements.insert(elements.end(), {static_cast<std::int32_t>(i), -1});
    std::ofstream(path("long.npy"), std::ios::binary)
        << "\x93NUMPY\x01" << '\0' << static_cast<char>(header.size()) << '\0' << header
        << std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(std::int32_t));
    expect_output("run --device cpu --many 'f(x: i32[n]) -> s = sum(x), top = argmax(x)' x=long.npy",
                  "[0] s = 44999850000\n[0] top = 299999\n[1] s = -300000\n[1] top = 0\n");
}

TEST_F(ToolFiles, gives_advice_on_files_of_other_formats) {
    std::ofstream(path("x.csv")) << "a,b\n1,2\n3,4\n5,6\n";
    expect_failure(1, "run @graph.txt x=x.csv", {"x.csv", "text, such as CSV", "numpy.loadtxt"});
    expect_failure(1, "run @graph.txt x=raw:i32:x.csv", {"x.csv", "text, such as CSV", "numpy.loadtxt"});
    expect_failure(1, "run @graph.txt x=raw:i32:x.npy", {"is a .npy file", "without raw:"});
}

TEST_F(ToolFiles, shows_empty_elements_and_writes_none) {
    const std::vector<std::int32_t> table{3, 1, -4, 1, 2, 9};
    gf::npy::write(path("table.npy"), gf::host_view(table.data(), {2, 3}));
    const std::string low =
        "'f(x: i32[i, k]) -> low = min(x over [k] where x < 0), at = argmin(x over [i] where x > 2)' "
        "x=table.npy --device cpu ";
    expect_output("run " + low, "low = i32[2]: -4 empty\nat = i64[3]: 0 empty 1\n");
    expect_output("run --json " + low, "{\"low\": [-4, null], \"at\": [0, null, 1]}\n");
    expect_failure(1, "run " + low + "-o low=low.npy",
                   {"-o low=low.npy", "elements of \"low\" may be empty", "otherwise = 0", "--json"});
    EXPECT_FALSE(std::filesystem::exists(path("low.npy")));
    expect_output("run --device cpu 'f(x: i32[i, k]) -> low = min(x over [k] where x < 0, otherwise = 7)' x=table.npy "
                  "-o low=low.npy",
                  "low = i32[2] in low.npy\n");
    EXPECT_EQ(static_cast<const std::int32_t*>(gf::npy::open(path("low.npy")).view().address)[1], 7);
}

TEST_F(ToolFiles, help_lists_the_forms_of_bindings) {
    const Outcome outcome = gridfold("run --help");
    EXPECT_EQ(outcome.code, 0);
    for (const char* form : {"x=array.npy", "x=raw:f32:path", "x=raw:f32[100,20]:path", "x=-", "scalar=2", "n=100",
                             "-o y=-", "gridfold ops"})
        EXPECT_NE(outcome.out.find(form), std::string::npos) << form;
}

} // namespace
