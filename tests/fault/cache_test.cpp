// Damage to the kernel cache's files and folders is a miss: never an error, never a wrong kernel.
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <gridfold/core/error.hpp>

#include "core/cache_folder.hpp"
#include "fault/child.hpp"
#include "fault/system_calls.hpp"
#include "sha256.hpp"

namespace gf::fault {
namespace {

namespace fs = std::filesystem;
using testing::contents;
using testing::overwrite;

class CacheFault : public testing::CacheFolder {
protected:
    /// Expects `work` to return true in a child process without root's rights that owns the folder.
    template <class Work> void as_no_root(Work&& work) {
        constexpr uid_t nobody = 65534;
        const uid_t user = geteuid() == 0 ? nobody : geteuid();
        if (user != geteuid()) {
            ASSERT_EQ(chown(root.c_str(), user, static_cast<gid_t>(-1)), 0);
            for (const auto& file : fs::recursive_directory_iterator(root))
                ASSERT_EQ(chown(file.path().c_str(), user, static_cast<gid_t>(-1)), 0);
        }
        expect_in_child([&] { return seteuid(user) == 0 && work(); });
    }
    /// Replaces the entry by this file, with a right checksum.
    void put_signed(const DiskCache& cache, std::string bytes) {
        const Digest sum = sha256(bytes);
        bytes.append(reinterpret_cast<const char*>(sum.data()), sum.size());
        overwrite(cache.path_of(key), bytes);
    }
};

TEST_F(CacheFault, any_flipped_byte_is_a_miss) {
    const DiskCache cache(folder());
    cache.store(key, entry);
    const std::string good = contents(cache.path_of(key));
    for (std::size_t i = 0; i < good.size(); ++i) {
        for (const int bits : {0x01, 0x20, 0xff}) {
            std::string bad = good;
            bad[i] = static_cast<char>(bad[i] ^ bits);
            overwrite(cache.path_of(key), bad);
            EXPECT_FALSE(cache.find(key)) << "byte " << i;
        }
    }
    overwrite(cache.path_of(key), good);
    EXPECT_TRUE(cache.find(key));
}

TEST_F(CacheFault, any_truncation_and_any_tail_is_a_miss) {
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

TEST_F(CacheFault, another_keys_entry_under_this_name_is_a_miss) {
    const DiskCache cache(folder());
    KernelKey other = key;
    other.text = "other";
    cache.store(other, entry);
    fs::rename(cache.path_of(other), cache.path_of(key));
    EXPECT_FALSE(cache.find(key));
}

TEST_F(CacheFault, a_bad_entry_is_replaced) {
    const DiskCache cache(folder());
    cache.store(key, entry);
    overwrite(cache.path_of(key), "garbage");
    cache.store(key, entry);
    EXPECT_TRUE(cache.find(key));
}

TEST_F(CacheFault, links_folders_and_pipes_in_its_place_are_misses) {
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

TEST_F(CacheFault, a_folder_that_others_may_write_to_is_not_used) {
    const DiskCache cache(folder());
    cache.store(key, entry);
    fs::permissions(folder(), fs::perms::all);
    EXPECT_FALSE(cache.find(key));
    fs::permissions(folder(), fs::perms::owner_all);
    EXPECT_TRUE(cache.find(key));
}

TEST_F(CacheFault, a_folder_of_another_user_is_not_used) {
    if (geteuid() != 0) { // only root can give a folder away
        EXPECT_FALSE(DiskCache("/").find(key));
        return;
    }
    const DiskCache cache(folder());
    cache.store(key, entry);
    ASSERT_EQ(chown(folder().c_str(), 65534, static_cast<gid_t>(-1)), 0);
    EXPECT_FALSE(cache.find(key));
    cache.store(key, {entry.compiler, "other"});
    ASSERT_EQ(chown(folder().c_str(), geteuid(), static_cast<gid_t>(-1)), 0);
    ASSERT_TRUE(cache.find(key));
    EXPECT_EQ(cache.find(key)->image, entry.image);
}

TEST_F(CacheFault, a_folder_without_a_parent_is_below_the_working_folder) {
    const fs::path before = fs::current_path();
    fs::current_path(root);
    const DiskCache cache("plain");
    cache.store(key, entry);
    const auto found = cache.find(key);
    fs::current_path(before);
    ASSERT_TRUE(found);
    EXPECT_TRUE(fs::exists(root / "plain"));
}

TEST_F(CacheFault, a_folder_that_cannot_be_made_or_written_is_no_error) {
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
    as_no_root([&] {
        read_only.store(key, entry);
        return !read_only.find(key);
    });
    EXPECT_EQ(files(), 0);

    const DiskCache not_of_files("/proc/self/task");
    not_of_files.store(key, entry);
    EXPECT_FALSE(not_of_files.find(key));
}

TEST_F(CacheFault, an_unreadable_entry_is_a_miss) {
    const DiskCache cache(folder());
    cache.store(key, entry);
    fs::permissions(cache.path_of(key), fs::perms::none);
    as_no_root([&] { return !cache.find(key); });
    fs::permissions(cache.path_of(key), fs::perms::owner_read);
    as_no_root([&] { return cache.find(key).has_value(); });
}

TEST_F(CacheFault, writers_and_readers_at_once_see_whole_entries_and_leave_no_temporaries) {
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
    EXPECT_EQ(files(), 1);
}

TEST_F(CacheFault, bytes_that_make_no_entry_are_a_miss_under_a_right_checksum_too) {
    const DiskCache cache(folder());
    cache.store(key, entry);
    std::string good = contents(cache.path_of(key));
    good.resize(good.size() - sizeof(Digest));
    const std::size_t format_and_key = good.find('\n') + 1 + sizeof(Digest);
    for (std::size_t i = 0; i < format_and_key; ++i) {
        std::string bad = good;
        bad[i] = static_cast<char>(bad[i] ^ 1);
        put_signed(cache, bad);
        EXPECT_FALSE(cache.find(key)) << "byte " << i;
    }
    for (std::size_t length = 0; length < good.size(); ++length) {
        put_signed(cache, good.substr(0, length));
        EXPECT_FALSE(cache.find(key)) << length << " bytes";
    }
    put_signed(cache, good + "x");
    EXPECT_FALSE(cache.find(key));
    std::string endless = good;
    endless.replace(format_and_key + 32, 8, 8, '\xff'); // the length of the compiler's path
    put_signed(cache, endless);
    EXPECT_FALSE(cache.find(key));
    cache.store(key, {entry.compiler, ""});
    EXPECT_FALSE(cache.find(key)) << "no image";
    put_signed(cache, good);
    EXPECT_TRUE(cache.find(key));
}

TEST_F(CacheFault, a_file_too_large_for_an_entry_is_not_read) {
    const DiskCache cache(folder());
    cache.store(key, entry);
    fs::resize_file(cache.path_of(key), (std::uintmax_t{256} << 20) + 1); // takes no room on the disk
    EXPECT_FALSE(cache.find(key));
}

TEST_F(CacheFault, reads_that_are_interrupted_or_short_go_on) {
    const DiskCache cache(folder());
    cache.store(key, entry);
    answer(Call::read, {{.error = EINTR}, {.at_most = 1}, {.error = EINTR}, {.at_most = 7}});
    const auto found = cache.find(key);
    EXPECT_EQ(answers_left(Call::read), 0u);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->image, entry.image);
}

TEST_F(CacheFault, a_read_that_fails_or_a_file_that_shrinks_is_a_miss) {
    const DiskCache cache(folder());
    cache.store(key, entry);
    answer(Call::read, {{.at_most = 3}, {.error = EIO}});
    EXPECT_FALSE(cache.find(key));
    answer(Call::read, {{.at_most = 3}, {.at_most = 0}});
    EXPECT_FALSE(cache.find(key));
    answer(Call::fstat, {{.error = EIO}});
    EXPECT_FALSE(cache.find(key));
    EXPECT_TRUE(cache.find(key)) << "the next time";
}

TEST_F(CacheFault, writes_that_are_interrupted_or_short_go_on) {
    const DiskCache cache(folder());
    answer(Call::write, {{.error = EINTR}, {.at_most = 1}, {.error = EINTR}, {.at_most = 7}});
    cache.store(key, entry);
    EXPECT_EQ(answers_left(Call::write), 0u);
    EXPECT_TRUE(cache.find(key));
}

TEST_F(CacheFault, a_disk_that_is_full_at_any_byte_keeps_the_old_entry_and_no_temporary) {
    const DiskCache cache(folder());
    cache.store(key, entry);
    const std::size_t size = contents(cache.path_of(key)).size();
    const DiskCache::Entry newer{entry.compiler, "newer"};
    for (std::size_t room = 1; room < size; room += 5) {
        answer(Call::write, {{.at_most = room}, {.error = ENOSPC}});
        cache.store(key, newer);
        const auto found = cache.find(key);
        ASSERT_TRUE(found);
        EXPECT_EQ(found->image, room < size - entry.image.size() + newer.image.size() ? entry.image : newer.image)
            << room;
        EXPECT_EQ(files(), 1);
        answer(Call::write, {});
        cache.store(key, entry);
    }
    answer(Call::write, {{.at_most = 0}});
    cache.store(key, newer);
    EXPECT_EQ(cache.find(key)->image, entry.image);
    answer(Call::rename, {{.error = ENOSPC}});
    cache.store(key, newer);
    EXPECT_EQ(cache.find(key)->image, entry.image);
    EXPECT_EQ(files(), 1);
}

TEST_F(CacheFault, a_limit_on_the_size_of_files_keeps_the_old_entry_and_no_temporary) {
    const DiskCache cache(folder());
    cache.store(key, entry);
    expect_in_child([&] {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{64, 64};
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
        cache.store(key, {entry.compiler, "newer"});
        return true;
    });
    const auto found = cache.find(key);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->image, entry.image);
    EXPECT_EQ(files(), 1);
}

TEST_F(CacheFault, homes_that_are_absent_or_cannot_be_written_are_no_error) {
    overwrite((root / "file").string(), "not a folder");
    unsetenv("GRIDFOLD_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    const char* had = std::getenv("HOME");
    const std::string home = had != nullptr ? had : "";
    const auto is_a_miss = [&] {
        const DiskCache cache(DiskCache::default_folder());
        cache.store(key, entry);
        return !cache.find(key);
    };
    for (const std::string& nowhere : {std::string(), std::string("relative"), std::string("/proc"),
                                       std::string("/dev/null"), (root / "file").string()}) {
        setenv("HOME", nowhere.c_str(), 1);
        EXPECT_TRUE(is_a_miss()) << nowhere;
    }
    setenv("HOME", root.c_str(), 1);
    EXPECT_FALSE(is_a_miss()) << "a home";
    unsetenv("HOME");
    EXPECT_TRUE(is_a_miss());
    fs::create_directory(root / "read_only");
    setenv("HOME", (root / "read_only").c_str(), 1);
    fs::permissions(root / "read_only", fs::perms::owner_read | fs::perms::owner_exec);
    as_no_root(is_a_miss);
    EXPECT_TRUE(fs::is_empty(root / "read_only"));
    if (had != nullptr) setenv("HOME", home.c_str(), 1);
}

TEST_F(CacheFault, more_images_than_memory_keeps_are_found_on_disk_again) {
    setenv("GRIDFOLD_CACHE_DIR", folder().c_str(), 1); // both are read once a process
    setenv("GRIDFOLD_NVRTC", "none", 1);
    constexpr int most_in_memory = 4096;
    const DiskCache cache(folder());
    const auto key_of = [&](int i) {
        KernelKey numbered = key;
        numbered.text += std::to_string(i);
        return numbered;
    };
    const auto image_of = [&](int i) { return *image_for(key_of(i)).bytes; };
    for (int i = 0; i <= most_in_memory; ++i) {
        cache.store(key_of(i), {entry.compiler, std::to_string(i)});
        ASSERT_EQ(image_of(i), std::to_string(i));
    }
    EXPECT_EQ(image_of(0), "0");
    fs::remove_all(folder());
    EXPECT_EQ(image_of(0), "0");
    EXPECT_EQ(image_of(most_in_memory), std::to_string(most_in_memory));
    EXPECT_THROW(image_of(1), DeviceError) << "neither in memory nor on disk, and there is no compiler";
}

} // namespace
} // namespace gf::fault
