// Runs warm_cache.cpp, for tests of the kernel cache across processes.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include <gridfold/core/nvrtc.hpp>

namespace gf::testing {

/// The output of a process that was started with popen().
inline std::string output_of(FILE* pipe) {
    if (pipe == nullptr) return "no process";
    std::string out;
    char line[512];
    while (std::fgets(line, sizeof line, pipe) != nullptr) out += line;
    pclose(pipe);
    return out;
}

/// Runs warm_cache with the given environment and returns what it prints.
inline std::string run(const std::string& environment, const std::string& arguments = {}) {
    return output_of(popen(("env " + environment + " " GRIDFOLD_WARM_CACHE " " + arguments).c_str(), "r"));
}

/// Skips if there is no compiler. Each test has its own cache folder, which does not exist yet.
class WarmProcess : public ::testing::Test {
protected:
    void SetUp() override {
        if (const std::string reason = nvrtc::unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
        std::string name = (std::filesystem::temp_directory_path() / "gridfold_warm_XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder = name;
    }
    void TearDown() override {
        std::error_code ignored;
        if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
    }
    std::string cache() const { return "GRIDFOLD_CACHE_DIR=" + (folder / "cache").string() + " "; }

    std::filesystem::path folder;
};

} // namespace gf::testing
