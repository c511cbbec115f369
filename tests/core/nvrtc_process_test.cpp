// The kernel cache across processes: each step is a separate process (warm_cache.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <gridfold/core/cache.hpp>

#include "core/warm_key.hpp"
#include "core/warm_process.hpp"

namespace {

using ::testing::StartsWith;
using NvrtcProcess = gf::testing::WarmProcess;
using gf::testing::run;

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

} // namespace
