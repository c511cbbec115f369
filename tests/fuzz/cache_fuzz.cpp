// The reader of cache entries: any bytes are an entry or none, and writing an entry gives the bytes that it was read
// from.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cache_entry.hpp"

namespace {

gf::Digest key() {
    gf::Digest digest;
    digest.fill('k');
    return digest;
}

void check(const std::string& bytes) {
    const auto entry = gf::entry_from_bytes(key(), bytes);
    if (entry && gf::entry_to_bytes(key(), *entry) != bytes) std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
    std::string entry(reinterpret_cast<const char*>(bytes), count);
    check(entry);
    const gf::Digest sum = gf::sha256(entry); // mutations almost never give a right checksum
    check(entry.append(sum.begin(), sum.end()));
    return 0;
}
