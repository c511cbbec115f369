// Allocation failures around the run-time compiler: each C++ allocation of the library fails in turn while a new
// process loads the compiler, compiles a kernel and caches it. (NVRTC itself uses malloc.)
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "core/cache_folder.hpp"
#include "fault/fresh_process.hpp"

namespace gf::fault {
namespace {

class CompilerAllocation : public testing::CacheFolder {};

TEST_F(CompilerAllocation, failure_is_an_error_and_the_next_try_compiles) {
    setenv("GRIDFOLD_CACHE_DIR", folder().c_str(), 1);
    bool there = false; // found out in a child, so that this process does not load the compiler
    if (const pid_t child = fork(); child == 0) {
        _exit(nvrtc::unavailable_reason().empty() ? 0 : 1);
    } else {
        int status = -1;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        there = status == 0;
    }
    if (!there) GTEST_SKIP() << "there is no NVRTC";
    const std::uint64_t failed = fail_each_of_a_fresh_process([&] {
        KernelKey own = key; // not yet in the folder
        own.text += "// " + std::to_string(getpid());
        const Image image = image_for(own);
        return image.bytes->starts_with("\177ELF") && *image_for(own).bytes == *image.bytes;
    });
    EXPECT_GT(failed, 30u);
    for (const auto& file : std::filesystem::directory_iterator(folder()))
        EXPECT_EQ(file.path().filename().string().size(), 64u) << "a temporary";
}

} // namespace
} // namespace gf::fault
