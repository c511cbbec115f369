// The kernel cache from process to process: each step is a process of its own (warm_cache.cpp).
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <gridfold/core/cache.hpp>
#include <gridfold/core/nvrtc.hpp>

#include "core/warm_key.hpp"

namespace {

namespace fs = std::filesystem;
using ::testing::StartsWith;

/// Runs warm_cache with the given environment and returns what it prints.
std::string run(const std::string& environment) {
    const std::string command = "env " + environment + " " GRIDFOLD_WARM_CACHE;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return "no process";
    std::string out;
    char line[512];
    while (std::fgets(line, sizeof line, pipe) != nullptr) out += line;
    pclose(pipe);
    return out;
}

class NvrtcProcess : public ::testing::Test {
protected:
    void SetUp() override {
        if (const std::string reason = gf::nvrtc::unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
        std::string name = (fs::temp_directory_path() / "gridfold_warm_XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder = name;
    }
    void TearDown() override {
        std::error_code ignored;
        if (!folder.empty()) fs::remove_all(folder, ignored);
    }
    std::string cache() const { return "GRIDFOLD_CACHE_DIR=" + (folder / "cache").string() + " "; }

    fs::path folder;
};

TEST_F(NvrtcProcess, a_warm_cache_loads_no_compiler) {
    EXPECT_EQ(run(cache()), "compiled loaded\n");
    EXPECT_EQ(run(cache()), "cached unloaded\n");
}

TEST_F(NvrtcProcess, a_warm_cache_needs_no_compiler_and_a_cold_one_says_what_is_missing) {
    EXPECT_THAT(run(cache() + "GRIDFOLD_NVRTC=none"), StartsWith("error a kernel must be compiled, but"));
    EXPECT_EQ(run(cache()), "compiled loaded\n");
    EXPECT_EQ(run(cache() + "GRIDFOLD_NVRTC=none"), "cached unloaded\n");
}

TEST_F(NvrtcProcess, a_compiler_whose_file_changed_is_asked_for_its_version) {
    EXPECT_EQ(run(cache()), "compiled loaded\n");
    const gf::DiskCache disk((folder / "cache").string());
    auto entry = disk.find(gf::testing::warm_key());
    ASSERT_TRUE(entry);
    entry->compiler.file_time -= 1;
    disk.store(gf::testing::warm_key(), *entry);
    EXPECT_EQ(run(cache()), "cached loaded\n") << "another file, but the same version";
    entry->compiler.minor += 1;
    disk.store(gf::testing::warm_key(), *entry);
    EXPECT_EQ(run(cache() + "GRIDFOLD_NVRTC=none"), "cached unloaded\n") << "better than nothing";
    EXPECT_EQ(run(cache()), "compiled loaded\n") << "another version";
    EXPECT_EQ(run(cache()), "cached unloaded\n");
}

TEST_F(NvrtcProcess, a_damaged_entry_is_compiled_again) {
    EXPECT_EQ(run(cache()), "compiled loaded\n");
    for (const auto& file : fs::directory_iterator(folder / "cache")) fs::resize_file(file.path(), 100);
    EXPECT_EQ(run(cache()), "compiled loaded\n");
    EXPECT_EQ(run(cache()), "cached unloaded\n");
}

} // namespace
