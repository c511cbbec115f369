// The kernel cache: what it finds, and that nothing that happens to its files is ever an error or a wrong kernel.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <gridfold/core/cache.hpp>

#include "cache_entry.hpp"
#include "sha256.hpp"

namespace gf {
namespace {

namespace fs = std::filesystem;

class Cache : public ::testing::Test {
protected:
    Cache() {
        std::string name = (fs::temp_directory_path() / "gridfold_cache_XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) std::abort();
        root = name;
    }
    ~Cache() override {
        std::error_code ignored;
        fs::permissions(root, fs::perms::owner_all, ignored);
        fs::remove_all(root, ignored);
    }
    std::string folder() const { return (root / "below" / "gridfold").string(); }

    fs::path root;
    KernelKey key{"extern \"C\" __global__ void k() {}", 9, 0, {"--fmad=false"}};
    DiskCache::Entry entry{{13, 0, "/nowhere/libnvrtc.so.13", 1234, -5}, std::string("\0cubin\xff bytes", 13)};
};

std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void overwrite(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

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

TEST_F(Cache, any_flipped_byte_is_a_miss) {
    const DiskCache cache(folder());
    cache.store(key, entry);
    const std::string good = contents(cache.path_of(key));
    for (std::size_t i = 0; i < good.size(); ++i) {
        std::string bad = good;
        bad[i] = static_cast<char>(bad[i] ^ 0x20);
        overwrite(cache.path_of(key), bad);
        EXPECT_FALSE(cache.find(key)) << "byte " << i;
    }
    overwrite(cache.path_of(key), good);
    EXPECT_TRUE(cache.find(key));
}

TEST_F(Cache, any_truncation_and_any_tail_is_a_miss) {
    const DiskCache cache(folder());
    cache.store(key, entry);
    const std::string good = contents(cache.path_of(key));
    for (std::size_t length = 0; length < good.size(); ++length) {
        overwrite(cache.path_of(key), good.substr(0, length));
        EXPECT_FALSE(cache.find(key)) << length << " bytes";
    }
    overwrite(cache.path_of(key), good + "x");
    EXPECT_FALSE(cache.find(key));
}

// Sums do not vouch for what they sum: they are made anew here.
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

TEST_F(Cache, another_keys_entry_under_this_name_is_a_miss) {
    const DiskCache cache(folder());
    KernelKey other = key;
    other.text = "other";
    cache.store(other, entry);
    fs::rename(cache.path_of(other), cache.path_of(key));
    EXPECT_FALSE(cache.find(key));
}

TEST_F(Cache, a_bad_entry_is_replaced) {
    const DiskCache cache(folder());
    cache.store(key, entry);
    overwrite(cache.path_of(key), "garbage");
    cache.store(key, entry);
    EXPECT_TRUE(cache.find(key));
}

TEST_F(Cache, links_folders_and_pipes_in_its_place_are_misses) {
    const DiskCache cache(folder());
    cache.store(key, entry);
    const fs::path place = cache.path_of(key);
    fs::rename(place, root / "elsewhere");
    fs::create_symlink(root / "elsewhere", place);
    EXPECT_FALSE(cache.find(key));
    fs::remove(place);
    fs::create_directory(place);
    EXPECT_FALSE(cache.find(key));
    fs::remove(place);
    ASSERT_EQ(mkfifo(place.c_str(), 0600), 0);
    EXPECT_FALSE(cache.find(key)) << "and it does not wait for a writer";
}

TEST_F(Cache, a_folder_that_others_may_write_to_is_not_used) {
    const DiskCache cache(folder());
    cache.store(key, entry);
    fs::permissions(folder(), fs::perms::all);
    EXPECT_FALSE(cache.find(key));
    fs::permissions(folder(), fs::perms::owner_all);
    EXPECT_TRUE(cache.find(key));
}

TEST_F(Cache, a_folder_that_cannot_be_made_or_written_is_no_error) {
    overwrite((root / "file").string(), "not a folder");
    const DiskCache below_a_file((root / "file" / "gridfold").string());
    below_a_file.store(key, entry);
    EXPECT_FALSE(below_a_file.find(key));

    const DiskCache nowhere("");
    nowhere.store(key, entry);
    EXPECT_FALSE(nowhere.find(key));

    const DiskCache devices("/dev/full");
    devices.store(key, entry);
    EXPECT_FALSE(devices.find(key));

    fs::create_directories(folder());
    fs::permissions(folder(), fs::perms::owner_read | fs::perms::owner_exec);
    const DiskCache read_only(folder());
    read_only.store(key, entry);
    EXPECT_EQ(read_only.find(key).has_value(), geteuid() == 0) << "root writes where it may not";
    fs::permissions(folder(), fs::perms::owner_all);
}

TEST_F(Cache, an_unreadable_entry_is_a_miss) {
    if (geteuid() == 0) GTEST_SKIP() << "root reads everything";
    const DiskCache cache(folder());
    cache.store(key, entry);
    fs::permissions(cache.path_of(key), fs::perms::none);
    EXPECT_FALSE(cache.find(key));
}

TEST_F(Cache, writers_and_readers_at_once_see_whole_entries_and_leave_no_temporaries) {
    const DiskCache cache(folder());
    cache.store(key, entry);
    const auto work = [&](char byte) {
        const DiskCache own(folder());
        const DiskCache::Entry mine{entry.compiler, std::string(100'000, byte)};
        for (int i = 0; i < 50; ++i) {
            own.store(key, mine);
            const auto found = own.find(key);
            ASSERT_TRUE(found);
            for (const char c : found->image) ASSERT_EQ(c, found->image[0]);
        }
    };
    overwrite(cache.path_of(key), "");
    cache.store(key, {entry.compiler, "a"});
    {
        std::vector<std::thread> threads;
        for (const char byte : {'a', 'b', 'c', 'd'}) threads.emplace_back(work, byte);
        for (std::thread& thread : threads) thread.join();
    }
    EXPECT_EQ(std::distance(fs::directory_iterator(folder()), fs::directory_iterator()), 1);
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
    unsetenv("HOME");
    EXPECT_EQ(DiskCache::default_folder(), "");
    if (had != nullptr) setenv("HOME", home.c_str(), 1);
}

} // namespace
} // namespace gf
