// The kernel cache between processes: races, damage and unusable home folders only cause compilations.
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <gridfold/core/cache.hpp>

#include "core/warm_key.hpp"
#include "core/warm_process.hpp"

namespace gf::fault {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using testing::run;
using testing::warm_key;
using CacheProcess = testing::WarmProcess;

std::ptrdiff_t files_in(const fs::path& folder) {
    return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

TEST_F(CacheProcess, sixteen_that_start_at_once_all_get_the_image_and_leave_one_entry) {
    const std::string elsewhere = "GRIDFOLD_CACHE_DIR=" + (folder / "elsewhere").string();
    const std::string alone = run(elsewhere, "image");
    const std::string image = alone.substr(alone.rfind(' '));
    // Opening a pipe without a writer blocks: all processes continue when it has one.
    const fs::path gate = folder / "gate";
    ASSERT_EQ(mkfifo(gate.c_str(), 0600), 0);
    const std::string command = ": <" + gate.string() + " && env " + cache() + GRIDFOLD_WARM_CACHE + " image";
    std::array<FILE*, 16> processes{};
    for (FILE*& process : processes) {
        process = popen(command.c_str(), "r");
        ASSERT_NE(process, nullptr);
    }
    const int writer = open(gate.c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_GE(writer, 0);
    for (FILE* process : processes) EXPECT_THAT(testing::output_of(process), EndsWith(image));
    close(writer);
    EXPECT_EQ(files_in(folder / "cache"), 1);
    EXPECT_EQ(run(cache(), "image"), "cached unloaded" + image);
}

TEST_F(CacheProcess, damage_of_every_kind_is_compiled_again_and_repaired) {
    ASSERT_EQ(run(cache()), "compiled loaded\n");
    const DiskCache disk((folder / "cache").string());
    const fs::path place = disk.path_of(warm_key());
    const auto size = fs::file_size(place);
    KernelKey other = warm_key();
    other.text += "// of another key";
    const std::pair<const char*, std::function<void()>> damages[]{
        {"no bytes", [&] { fs::resize_file(place, 0); }},
        {"truncated", [&] { fs::resize_file(place, size / 2); }},
        {"longer", [&] { fs::resize_file(place, size + 1); }},
        {"garbage", [&] { std::ofstream(place, std::ios::trunc) << std::string(size, '?'); }},
        {"a flipped bit",
         [&] {
             std::fstream file(place, std::ios::in | std::ios::out | std::ios::binary);
             file.seekg(static_cast<std::streamoff>(size / 2));
             const auto byte = static_cast<char>(file.get() ^ 1);
             file.seekp(static_cast<std::streamoff>(size / 2));
             file.put(byte);
         }},
        {"the entry of another key",
         [&] {
             disk.store(other, {nvrtc::identity(), "the other image"});
             fs::rename(disk.path_of(other), place);
         }},
        {"a link",
         [&] {
             fs::rename(place, folder / "moved");
             fs::create_symlink(folder / "moved", place);
         }},
    };
    for (const auto& [what, damage] : damages) {
        SCOPED_TRACE(what);
        damage();
        EXPECT_EQ(run(cache()), "compiled loaded\n");
        EXPECT_EQ(run(cache()), "cached unloaded\n");
        EXPECT_EQ(files_in(folder / "cache"), 1);
    }
    // An entry's path that a file cannot replace stays: the kernel is compiled each time.
    fs::remove(place);
    fs::create_directory(place);
    EXPECT_EQ(run(cache()), "compiled loaded\n");
    EXPECT_EQ(run(cache()), "compiled loaded\n");
    EXPECT_EQ(files_in(folder / "cache"), 1);
}

TEST_F(CacheProcess, homes_that_are_absent_or_cannot_be_written_cost_a_compilation) {
    std::ofstream(folder / "file") << "not a folder";
    const std::string no_home = "-u GRIDFOLD_CACHE_DIR -u XDG_CACHE_HOME -u HOME ";
    for (const std::string& home : {std::string(), std::string("HOME=/proc"), std::string("HOME=relative"),
                                    "HOME=" + (folder / "file").string(), std::string("XDG_CACHE_HOME=/proc/self"),
                                    std::string("GRIDFOLD_CACHE_DIR=/proc/self/task"), std::string("HOME=/dev/full")}) {
        EXPECT_EQ(run(no_home + home), "compiled loaded\n") << home;
    }
    EXPECT_EQ(run(no_home + "HOME=" + folder.string()), "compiled loaded\n");
    EXPECT_EQ(run(no_home + "HOME=" + folder.string()), "cached unloaded\n");
    EXPECT_EQ(files_in(folder / ".cache" / "gridfold"), 1);
}

TEST_F(CacheProcess, a_file_size_limit_costs_a_compilation) {
    const std::string limited = "sh -c 'trap \"\" XFSZ; ulimit -f 0; exec \"$0\"'";
    EXPECT_EQ(run(cache() + limited), "compiled loaded\n");
    EXPECT_EQ(files_in(folder / "cache"), 0);
    EXPECT_EQ(run(cache()), "compiled loaded\n");
}

} // namespace
} // namespace gf::fault
