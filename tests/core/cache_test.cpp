// The kernel cache: look-ups and folders. Faults of its files are tested by tests/fault/cache_test.cpp.
#include <cstdlib>
#include <string>
#include <vector>

#include <sys/stat.h>

#include <gtest/gtest.h>

#include <gridfold/core/cache.hpp>

#include "cache_entry.hpp"
#include "core/cache_folder.hpp"
#include "sha256.hpp"

namespace gf {
namespace {

using Cache = testing::CacheFolder;

TEST(Sha256, the_standards_examples) {
    EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(to_hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(to_hex(sha256(std::string(1'000'000, 'a'))),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_F(Cache, what_is_stored_is_found_and_names_its_compiler) {
    const DiskCache cache(folder());
    EXPECT_FALSE(cache.find(key));
    cache.store(key, entry);
    const auto found = DiskCache(folder()).find(key);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->image, entry.image);
    EXPECT_EQ(found->compiler, entry.compiler);
}

TEST_F(Cache, text_device_and_options_each_make_another_entry) {
    const DiskCache cache(folder());
    cache.store(key, entry);
    std::vector<KernelKey> others(5, key);
    others[0].text += ' ';
    others[1].capability_major = 10;
    others[2].capability_minor = 1;
    others[3].options = {};
    others[4].options = {"--fmad=", "false"};
    for (const KernelKey& other : others) {
        EXPECT_NE(cache.path_of(other), cache.path_of(key));
        EXPECT_FALSE(cache.find(other));
    }
}

TEST_F(Cache, the_folder_and_its_files_are_the_users_own) {
    const DiskCache cache(folder());
    cache.store(key, entry);
    struct stat s {};
    ASSERT_EQ(stat(folder().c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 0777, 0700u);
    ASSERT_EQ(stat(cache.path_of(key).c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 0777, 0600u);
}

// A right checksum does not make an entry valid: these entries get new checksums.
TEST_F(Cache, bytes_that_no_entry_is_written_as_are_none) {
    const Digest digest = digest_of(key);
    const std::string good = entry_to_bytes(digest, entry);
    const auto is_read = [&](std::string bytes) {
        bytes.resize(bytes.size() - sizeof(Digest));
        const Digest sum = sha256(bytes);
        return entry_from_bytes(digest, bytes.append(sum.begin(), sum.end())).has_value();
    };
    EXPECT_TRUE(is_read(good));
    const std::size_t major = good.find('\x0d'), path = good.find("/nowhere") - 8,
                      image = good.find('\0', path + 32) - 8;
    for (const std::size_t high : {major + 7, major + 15, path + 7, image + 7}) {
        std::string bad = good;
        bad[high] = '\x01';
        EXPECT_FALSE(is_read(bad)) << "byte " << high;
    }
    for (std::size_t length = sizeof(Digest); length < good.size(); ++length)
        EXPECT_FALSE(is_read(good.substr(0, length))) << length << " bytes";
    EXPECT_FALSE(is_read(entry_to_bytes(digest, {entry.compiler, ""})));
}

TEST_F(Cache, the_folder_follows_the_environment) {
    setenv("GRIDFOLD_CACHE_DIR", "/a/b", 1);
    setenv("XDG_CACHE_HOME", "/xdg", 1);
    const char* had = std::getenv("HOME");
    const std::string home = had != nullptr ? had : "";
    setenv("HOME", "/home/x", 1);
    EXPECT_EQ(DiskCache::default_folder(), "/a/b");
    unsetenv("GRIDFOLD_CACHE_DIR");
    EXPECT_EQ(DiskCache::default_folder(), "/xdg/gridfold");
    setenv("XDG_CACHE_HOME", "relative", 1);
    EXPECT_EQ(DiskCache::default_folder(), "/home/x/.cache/gridfold");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "relative", 1);
    EXPECT_EQ(DiskCache::default_folder(), "");
    unsetenv("HOME");
    EXPECT_EQ(DiskCache::default_folder(), "");
    if (had != nullptr) setenv("HOME", home.c_str(), 1);
}

} // namespace
} // namespace gf
