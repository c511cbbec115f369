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

#include "sha256.hpp"

namespace gf {
namespace {

constexpr std::string_view format_version = "gridfold kernel 1\n";
constexpr std::size_t largest_file = std::size_t{256} << 20;
/// Images kept in memory; a process that makes more graphs than this starts over.
constexpr std::size_t most_in_memory = 4096;

/// A file, closed when done; −1 where it could not be opened.
struct File {
    int descriptor;
    explicit File(int d) : descriptor(d) {}
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
        if (descriptor >= 0) close(descriptor);
    }
};

void put_number(std::string& out, std::uint64_t number) {
    for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(number >> 8 * i));
}
void put_text(std::string& out, std::string_view text) {
    put_number(out, text.size());
    out.append(text);
}
std::string_view as_text(const Digest& digest) { return {reinterpret_cast<const char*>(digest.data()), digest.size()}; }

/// Takes an entry apart; every read is within the file, or the entry is no entry.
class Reader {
public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}
    std::string_view take(std::uint64_t count) {
        if (count > bytes_.size()) good_ = false;
        if (!good_) return {};
        const std::string_view taken = bytes_.substr(0, static_cast<std::size_t>(count));
        bytes_.remove_prefix(taken.size());
        return taken;
    }
    std::uint64_t number() {
        std::uint64_t value = 0;
        const std::string_view taken = take(8);
        for (std::size_t i = 0; i < taken.size(); ++i)
            value |= std::uint64_t{static_cast<unsigned char>(taken[i])} << 8 * i;
        return value;
    }
    std::string_view text() { return take(number()); }
    bool finished() const { return good_ && bytes_.empty(); }

private:
    std::string_view bytes_;
    bool good_ = true;
};

Digest digest_of(const KernelKey& key) {
    std::string all(format_version);
    put_number(all, static_cast<std::uint64_t>(key.capability_major));
    put_number(all, static_cast<std::uint64_t>(key.capability_minor));
    put_number(all, key.options.size());
    for (const std::string& option : key.options) put_text(all, option);
    put_text(all, key.text);
    return sha256(all);
}

// An entry: format version, key, compiler, image, and the SHA-256 of all that.
std::string to_bytes(const Digest& key, const DiskCache::Entry& entry) {
    std::string bytes(format_version);
    bytes.append(as_text(key));
    put_number(bytes, static_cast<std::uint64_t>(entry.compiler.major));
    put_number(bytes, static_cast<std::uint64_t>(entry.compiler.minor));
    put_number(bytes, entry.compiler.file_bytes);
    put_number(bytes, static_cast<std::uint64_t>(entry.compiler.file_time));
    put_text(bytes, entry.compiler.path);
    put_text(bytes, entry.image);
    bytes.append(as_text(sha256(bytes)));
    return bytes;
}

std::optional<DiskCache::Entry> from_bytes(const Digest& key, std::string_view bytes) {
    if (bytes.size() < sizeof(Digest)) return {};
    const std::string_view sum = bytes.substr(bytes.size() - sizeof(Digest));
    bytes.remove_suffix(sizeof(Digest));
    if (as_text(sha256(bytes)) != sum) return {};
    Reader reader(bytes);
    if (reader.take(format_version.size()) != format_version || reader.take(sizeof(Digest)) != as_text(key)) return {};
    DiskCache::Entry entry;
    entry.compiler.major = static_cast<int>(reader.number());
    entry.compiler.minor = static_cast<int>(reader.number());
    entry.compiler.file_bytes = reader.number();
    entry.compiler.file_time = static_cast<std::int64_t>(reader.number());
    entry.compiler.path = reader.text();
    entry.image = reader.text();
    if (!reader.finished() || entry.image.empty()) return {};
    return entry;
}

/// The whole of a regular file; nothing where it cannot be read, or is too large to be an entry.
std::optional<std::string> read_file(const std::string& path) {
    const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat s {};
    if (file.descriptor < 0 || fstat(file.descriptor, &s) != 0 || !S_ISREG(s.st_mode)) return {};
    if (s.st_size < 0 || static_cast<std::uint64_t>(s.st_size) > largest_file) return {};
    std::string bytes(static_cast<std::size_t>(s.st_size), '\0');
    for (std::size_t at = 0; at < bytes.size();) {
        const ssize_t got = read(file.descriptor, bytes.data() + at, bytes.size() - at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return {};
        at += static_cast<std::size_t>(got);
    }
    return bytes;
}

/// Writes all of it, beside its place, and renames: readers see the old file or the new one.
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

/// Is it a folder that only this user can have written to?
bool is_private(const std::string& folder) {
    struct stat s {};
    return stat(folder.c_str(), &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == geteuid() &&
           (s.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

const DiskCache& default_disk() {
    static const auto& disk = *new DiskCache(DiskCache::default_folder()); // compiling threads may outlive main
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
    static auto& cache = *new MemoryCache;
    return cache;
}

} // namespace

std::string DiskCache::default_folder() {
    const auto value = [](const char* name) -> std::string_view {
        const char* text = std::getenv(name);
        return text != nullptr ? text : "";
    };
    if (const auto folder = value("GRIDFOLD_CACHE_DIR"); !folder.empty()) return std::string(folder);
    // The XDG rule: a relative path is to be ignored.
    if (const auto base = value("XDG_CACHE_HOME"); base.starts_with('/')) return std::string(base) + "/gridfold";
    if (const auto home = value("HOME"); home.starts_with('/')) return std::string(home) + "/.cache/gridfold";
    return {};
}

std::string DiskCache::path_of(const KernelKey& key) const { return folder_ + '/' + to_hex(digest_of(key)); }

std::optional<DiskCache::Entry> DiskCache::find(const KernelKey& key) const {
    if (folder_.empty() || !is_private(folder_)) return {};
    const Digest digest = digest_of(key);
    const std::optional<std::string> bytes = read_file(folder_ + '/' + to_hex(digest));
    return bytes ? from_bytes(digest, *bytes) : std::nullopt;
}

void DiskCache::store(const KernelKey& key, const Entry& entry) const noexcept {
    if (folder_.empty()) return;
    try {
        std::error_code ignored;
        const std::filesystem::path folder(folder_);
        if (folder.has_parent_path()) std::filesystem::create_directories(folder.parent_path(), ignored);
        mkdir(folder_.c_str(), 0700); // is_private() says whether it is there now
        if (!is_private(folder_)) return;
        const Digest digest = digest_of(key);
        write_file(folder_ + '/' + to_hex(digest), to_bytes(digest, entry));
    } catch (...) { // out of memory: it is not stored, which is no error
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
    DiskCache::Entry entry{nvrtc::identity(), nvrtc::compile(key.text, target, key.options).image};
    default_disk().store(key, entry);
    auto image = std::make_shared<const std::string>(std::move(entry.image));
    memory().store(digest, image);
    return {std::move(image), false};
}

} // namespace gf
