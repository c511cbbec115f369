// The run-time compiler fails or is missing: a typed error if the device was named, else the CPU's answer, and the next
// graph compiles. The device is a driver table that answers only the calls before compiling. Each test is a separate
// process, because a process looks for its compiler once.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/core/cache.hpp>
#include <gridfold/core/nvrtc.hpp>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/gridfold.hpp>

#include "core/fake_driver.hpp"
#include "cuda/emit_cuda.hpp"
#include "fault/child.hpp"

// The host's compiler knows std::hypot, NVRTC does not.
GRIDFOLD_MAP(of_the_host_alone, 1, floating, "the square root of a * a + 1", std::hypot(a, T(1)))

namespace gf::fault {

using namespace plan;
namespace {

constexpr const char* good_text = "f(x: f32[n]) -> s = sum(x), m = max(x)";
const Options on_cuda{.device = "cuda"};
const std::vector<float> data{1, 2, 4};

void install_fake_driver() {
    driver::Table table = testing::fake_table();
    table.pointer_get_attribute.function = [](void*, int, driver::Address) { return 1; }; // no pointer of the device's
    driver::install(&table);
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

class CompilerFault : public ::testing::Test {
protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "gridfold_compiler_XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder = name;
        setenv("GRIDFOLD_CACHE_DIR", (folder / "cache").c_str(), 1);
    }
    void TearDown() override {
        std::error_code ignored;
        std::filesystem::remove_all(folder, ignored);
    }
    std::filesystem::path folder;
};

/// Without a compiler: "auto" runs on the CPU and says why, "cuda" is refused, also the next time.
bool falls_back(const char* nvrtc, std::string_view reason) {
    setenv("GRIDFOLD_NVRTC", nvrtc, 1);
    install_fake_driver();
    const Graph graph = parse(good_text);
    for (int time = 0; time < 2; ++time) {
        try {
            compile(graph, on_cuda);
            return false;
        } catch (const DeviceError& error) {
            if (!contains(error.what(), reason)) return std::fprintf(stderr, "%s\n", error.what()), false;
        }
        const Executable exe = compile(graph);
        if (!contains(exe.explain(), reason) || !exe.device().starts_with("cpu")) return false;
        const Results results = exe.run({{"x", data}});
        if (results.get<float>("s") != 7 || results.get<float>("m") != 4) return false;
    }
    return true;
}

TEST_F(CompilerFault, a_compiler_that_is_forbidden_leaves_the_cpu) {
    expect_in_child([] { return falls_back("none", "GRIDFOLD_NVRTC=none"); });
}
TEST_F(CompilerFault, a_library_that_is_no_compiler_leaves_the_cpu) {
    expect_in_child([] { return falls_back("libm.so.6", "has no nvrtc"); });
}
TEST_F(CompilerFault, a_compiler_that_is_not_there_leaves_the_cpu) {
    expect_in_child([] { return falls_back("/nowhere/libnvrtc.so", "/nowhere/libnvrtc.so"); });
}
TEST_F(CompilerFault, a_compiler_that_is_a_folder_leaves_the_cpu) {
    expect_in_child([] { return falls_back("/proc", "/proc"); });
}

TEST_F(CompilerFault, an_own_op_that_does_not_compile_is_quoted_and_spoils_nothing) {
    if (const std::string reason = nvrtc::unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    const auto fails = [](const Graph& graph) {
        try {
            compile(graph, on_cuda);
        } catch (const CompileError& error) {
            const std::string source = cuda::emit_cuda(fuse(graph), plan::SweepId(0)).source;
            return error.source() == source && contains(error.log(), "error") && contains(error.log(), "std::hypot") &&
                   contains(error.what(), error.log());
        }
        return false;
    };
    expect_in_child([&] {
        install_fake_driver();
        const Graph wrong = parse("f(x: f32[n]) -> s = sum(of_the_host_alone(x))");
        if (!fails(wrong) || !fails(wrong)) return false; // a failure is not cached: the second try fails, too
        const std::vector<float> zero{0};
        if (compile(wrong, {.device = "cpu"}).run({{"x", zero}}).get<float>("s") != 1) return false;
        // A good kernel compiles afterwards and is cached; only the device's loading fails.
        const std::string source = cuda::emit_cuda(fuse(parse(good_text)), plan::SweepId(0)).source;
        const KernelKey key{source, 9, 0, cuda::compiler_options(false)};
        if (image_for(key).was_cached || !image_for(key).bytes->starts_with("\177ELF")) return false;
        return true;
    });
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "cache"), {}), 1) << "nothing of what failed";
}

} // namespace
} // namespace gf::fault
