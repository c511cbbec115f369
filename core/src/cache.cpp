#include <gridfold/core/cache.hpp>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cache_entry.hpp"

namespace gf {
namespace {

constexpr std::size_t largest_file = std::size_t{256} << 20;
/// The most images in memory; beyond it the memory cache is cleared.
constexpr std::size_t most_in_memory = 4096;

/// Owns a file descriptor; −1 if the file could not be opened.
struct File {
    int descriptor;
    explicit File(int d) : descriptor(d) {}
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
        if (descriptor >= 0) close(descriptor);
    }
};

/// The bytes of a regular file; nothing if it cannot be read or is too large for an entry.
std::optional<std::string> read_file(const std::string& path) {
    const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat s {};
    if (file.descriptor < 0 || fstat(file.descriptor, &s) != 0 || !S_ISREG(s.st_mode)) return {};
    if (static_cast<std::uint64_t>(s.st_size) > largest_file) return {};
    std::string bytes(static_cast<std::size_t>(s.st_size), '\0');
    for (std::size_t at = 0; at < bytes.size();) {
        const ssize_t got = read(file.descriptor, bytes.data() + at, bytes.size() - at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return {};
        at += static_cast<std::size_t>(got);
    }
    return bytes;
}

/// Writes a temporary file in the same folder and renames it: readers see the old file or the new one.
void write_file(const std::string& path, std::string_view bytes) {
    std::string temporary = path + ".XXXXXX";
    const File file(mkostemp(temporary.data(), O_CLOEXEC)); // mode 0600
    if (file.descriptor < 0) return;
    bool complete = true;
    while (!bytes.empty()) {
        const ssize_t put = write(file.descriptor, bytes.data(), bytes.size());
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) {
            complete = false;
            break;
        }
        bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    if (!complete || rename(temporary.c_str(), path.c_str()) != 0) unlink(temporary.c_str());
}

/// True if only this user can write to the folder.
bool is_private(const std::string& folder) {
    struct stat s {};
    return stat(folder.c_str(), &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == geteuid() &&
           (s.st_mode & (S_IWGRP | S_IWOTH)) == 0; // defect: write bits
}

const DiskCache& default_disk() {
    // Never destroyed: compiling threads may outlive main.
    static const auto& disk = *new DiskCache(DiskCache::default_folder()); // GCOVR_EXCL_BR_LINE: threads that meet
    return disk;
}

/// The images of this process.
class MemoryCache {
public:
    std::shared_ptr<const std::string> find(const Digest& key) {
        const std::lock_guard lock(mutex_);
        const auto it = images_.find(key);
        return it != images_.end() ? it->second : nullptr;
    }
    void store(const Digest& key, std::shared_ptr<const std::string> image) {
        const std::lock_guard lock(mutex_);
        if (images_.size() >= most_in_memory) images_.clear();
        images_.insert_or_assign(key, std::move(image));
    }

private:
    std::mutex mutex_;
    std::map<Digest, std::shared_ptr<const std::string>> images_;
};

MemoryCache& memory() {
    static auto& cache = *new MemoryCache; // GCOVR_EXCL_BR_LINE: threads that meet
    return cache;
}

} // namespace

std::string DiskCache::default_folder() {
    const auto value = [](const char* name) -> std::string_view {
        const char* text = std::getenv(name);
        return text != nullptr ? text : "";
    };
    if (const auto folder = value("GRIDFOLD_CACHE_DIR"); !folder.empty()) return std::string(folder);
    // XDG's rule: a relative path is ignored.
    if (const auto base = value("XDG_CACHE_HOME"); base.starts_with('/')) return std::string(base) + "/gridfold";
    if (const auto home = value("HOME"); home.starts_with('/')) return std::string(home) + "/.cache/gridfold";
    return {};
}

std::string DiskCache::path_of(const KernelKey& key) const { return folder_ + '/' + to_hex(digest_of(key)); }

std::optional<DiskCache::Entry> DiskCache::find(const KernelKey& key) const {
    if (folder_.empty() || !is_private(folder_)) return {};
    const Digest digest = digest_of(key);
    const std::optional<std::string> bytes = read_file(folder_ + '/' + to_hex(digest));
    return bytes ? entry_from_bytes(digest, *bytes) : std::nullopt;
}

void DiskCache::store(const KernelKey& key, const Entry& entry) const noexcept {
    if (folder_.empty()) return;
    try {
        std::error_code ignored;
        const std::filesystem::path folder(folder_);
        if (folder.has_parent_path()) std::filesystem::create_directories(folder.parent_path(), ignored);
        mkdir(folder_.c_str(), 0700); // is_private() checks the outcome
        if (!is_private(folder_)) return;
        const Digest digest = digest_of(key);
        write_file(folder_ + '/' + to_hex(digest), entry_to_bytes(digest, entry));
    } catch (...) { // out of memory: the entry is not stored, which is no error
    }
}

Image image_for(const KernelKey& key) {
    const Digest digest = digest_of(key);
    if (auto image = memory().find(digest)) return {std::move(image), true};
    if (auto entry = default_disk().find(key); entry && nvrtc::is_current(entry->compiler)) {
        auto image = std::make_shared<const std::string>(std::move(entry->image));
        memory().store(digest, image);
        return {std::move(image), true};
    }
    const std::string target = nvrtc::target_for(key.capability_major, key.capability_minor);
    DiskCache::Entry entry;
    entry.compiler = nvrtc::identity();
    entry.image = nvrtc::compile(key.text, target, key.options).image;
    default_disk().store(key, entry);
    auto image = std::make_shared<const std::string>(std::move(entry.image));
    memory().store(digest, image);
    return {std::move(image), false};
}

} // namespace gf
