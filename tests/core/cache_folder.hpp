// A kernel cache in a temporary folder, one key and its entry.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include <gridfold/core/cache.hpp>

namespace gf::testing {

class CacheFolder : public ::testing::Test {
protected:
    CacheFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "gridfold_cache_XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) std::abort();
        root = name;
    }
    ~CacheFolder() override {
        std::error_code ignored;
        std::filesystem::permissions(root, std::filesystem::perms::owner_all, ignored);
        std::filesystem::remove_all(root, ignored);
    }
    std::string folder() const { return (root / "below" / "gridfold").string(); }
    std::ptrdiff_t files() const {
        return std::distance(std::filesystem::directory_iterator(folder()), std::filesystem::directory_iterator());
    }

    std::filesystem::path root;
    KernelKey key{"extern \"C\" __global__ void k() {}", 9, 0, {"--fmad=false"}};
    DiskCache::Entry entry{{13, 0, "/nowhere/libnvrtc.so.13", 1234, -5}, std::string("\0cubin\xff bytes", 13)};
};

inline std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline void overwrite(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

} // namespace gf::testing
