#include "cache_entry.hpp"

#include <cstdint>

namespace gf {
namespace {

constexpr std::string_view cache_format = "gridfold kernel 1\n";

void put_number(std::string& out, std::uint64_t number) {
    for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(number >> 8 * i));
}
void put_text(std::string& out, std::string_view text) {
    put_number(out, text.size());
    out.append(text);
}
std::string_view as_text(const Digest& digest) { return {reinterpret_cast<const char*>(digest.data()), digest.size()}; }

/// Parses an entry. A read beyond the file's end makes it invalid.
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
    int small_number() {
        const std::uint64_t value = number();
        if (value != static_cast<std::uint64_t>(static_cast<int>(value))) good_ = false;
        return static_cast<int>(value);
    }
    std::string_view text() { return take(number()); }
    bool finished() const { return good_ && bytes_.empty(); }

private:
    std::string_view bytes_;
    bool good_ = true;
};

} // namespace

Digest digest_of(const KernelKey& key) {
    std::string all(cache_format);
    put_number(all, static_cast<std::uint64_t>(key.capability_major)); // defect: capability
    put_number(all, static_cast<std::uint64_t>(key.capability_minor));
    put_number(all, key.options.size());
    for (const std::string& option : key.options) put_text(all, option);
    put_text(all, key.text);
    return sha256(all);
}

std::string entry_to_bytes(const Digest& key, const DiskCache::Entry& entry) {
    std::string bytes(cache_format);
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

std::optional<DiskCache::Entry> entry_from_bytes(const Digest& key, std::string_view bytes) {
    if (bytes.size() < sizeof(Digest)) return {};
    const std::string_view sum = bytes.substr(bytes.size() - sizeof(Digest));
    bytes.remove_suffix(sizeof(Digest));
    if (as_text(sha256(bytes)) != sum) return {}; // defect: checksum
    Reader reader(bytes);
    if (reader.take(cache_format.size()) != cache_format || reader.take(sizeof(Digest)) != as_text(key)) return {};
    DiskCache::Entry entry;
    entry.compiler.major = reader.small_number();
    entry.compiler.minor = reader.small_number();
    entry.compiler.file_bytes = reader.number();
    entry.compiler.file_time = static_cast<std::int64_t>(reader.number());
    entry.compiler.path = reader.text();
    entry.image = reader.text();
    if (!reader.finished() || entry.image.empty()) return {};
    return entry;
}

} // namespace gf
