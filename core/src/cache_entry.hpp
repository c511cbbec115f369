// The bytes of a cache entry: format version, key, compiler, image, and the SHA-256 of all that.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <gridfold/core/cache.hpp>

#include "sha256.hpp"

namespace gf {

/// What an entry is named by: the hash of the key and of the format's version.
Digest digest_of(const KernelKey& key);

std::string entry_to_bytes(const Digest& key, const DiskCache::Entry& entry);
/// Total: bytes that are not exactly what entry_to_bytes() gives for this key are no entry.
std::optional<DiskCache::Entry> entry_from_bytes(const Digest& key, std::string_view bytes);

} // namespace gf
