// The run-time compiler, if installed: architectures, errors, and its cache.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <gridfold/core/cache.hpp>
#include <gridfold/core/error.hpp>
#include <gridfold/core/nvrtc.hpp>

#include "driver/nvrtc_table.hpp"

namespace gf {
namespace {

using ::testing::HasSubstr;

const std::string text = "extern \"C\" __global__ void twice(float* x) {\n    x[threadIdx.x] *= 2.0f;\n}\n";

class Nvrtc : public ::testing::Test {
protected:
    void SetUp() override {
        if (const std::string reason = nvrtc::unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    }
};

TEST(NvrtcMissing, none_and_a_wrong_path_are_reasons) {
    EXPECT_THAT(nvrtc::load("none", 0).reason, HasSubstr("GRIDFOLD_NVRTC=none"));
    const nvrtc::Compiler wrong = nvrtc::load("/nowhere/libnvrtc.so", 0);
    EXPECT_FALSE(wrong.usable);
    EXPECT_THAT(wrong.reason, HasSubstr("/nowhere/libnvrtc.so"));
    EXPECT_THAT(nvrtc::load("libc.so.6", 0).reason, HasSubstr("has no nvrtc"));
}

TEST_F(Nvrtc, one_that_is_newer_than_the_driver_is_refused) {
    EXPECT_THAT(nvrtc::load(nvrtc::identity().path.c_str(), 11).reason, HasSubstr("only supports CUDA 11"));
}

TEST_F(Nvrtc, it_compiles_for_architectures_that_are_not_here) {
    for (const char* target : {"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"}) {
        const std::string image = nvrtc::compile(text, target, {}).image;
        EXPECT_TRUE(image.starts_with("\177ELF")) << target;
    }
}

TEST_F(Nvrtc, a_device_of_an_unknown_family_gets_ptx_and_an_unknown_member_its_familys_code) {
    EXPECT_EQ(nvrtc::target_for(9, 0), "sm_90");
    EXPECT_EQ(nvrtc::target_for(8, 8).substr(0, 4), "sm_8");
    const std::string target = nvrtc::target_for(99, 0);
    EXPECT_TRUE(target.starts_with("compute_")) << target;
    EXPECT_THAT(nvrtc::compile(text, target, {}).image, HasSubstr(".entry twice"));
    EXPECT_THROW(nvrtc::target_for(1, 0), DeviceError);
}

TEST_F(Nvrtc, a_compile_error_quotes_the_line) {
    const std::string wrong = "extern \"C\" __global__ void k() {\n    undeclared = 1; // mul(x, x)\n}\n";
    try {
        nvrtc::compile(wrong, "sm_90", {});
        FAIL() << "it must throw";
    } catch (const CompileError& error) {
        EXPECT_EQ(error.source(), wrong);
        EXPECT_THAT(error.log(), HasSubstr("kernel(2): error"));
        EXPECT_THAT(error.log(), HasSubstr("line 2:     undeclared = 1; // mul(x, x)"));
    }
}

TEST_F(Nvrtc, options_reach_it) {
    const std::vector<std::string> options = {"-DVALUE=1"};
    const std::string needs = "#if VALUE != 1\n#error no\n#endif\n";
    EXPECT_NO_THROW(nvrtc::compile(needs, "sm_90", options));
    EXPECT_THROW(nvrtc::compile(needs, "sm_90", {}), CompileError);
}

TEST_F(Nvrtc, threads_compile_at_once_to_the_same_image) {
    std::vector<std::string> images(4);
    {
        std::vector<std::thread> threads;
        for (std::string& image : images)
            threads.emplace_back([&image] { image = nvrtc::compile(text, "sm_90", {}).image; });
        for (std::thread& thread : threads) thread.join();
    }
    for (const std::string& image : images) EXPECT_EQ(image, images[0]);
}

TEST_F(Nvrtc, an_entry_is_current_for_its_own_version_only) {
    nvrtc::Identity other = nvrtc::identity();
    EXPECT_TRUE(nvrtc::is_current(other));
    other.path = "/gone";
    EXPECT_TRUE(nvrtc::is_current(other)) << "the same version from another file compiles the same";
    other.minor += 1;
    EXPECT_FALSE(nvrtc::is_current(other));
}

TEST_F(Nvrtc, a_kernel_is_compiled_once_a_process) {
    const KernelKey key{text + "// once a process", 9, 0, {}};
    const Image first = image_for(key);
    const Image second = image_for(key);
    EXPECT_TRUE(second.was_cached);
    EXPECT_EQ(first.bytes, second.bytes);
}

} // namespace
} // namespace gf
