// The bytes of a cache entry: format version, key, compiler, image, and the SHA-256 of all that.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <gridfold/core/cache.hpp>

#include "sha256.hpp"

namespace gf {

/// An entry's name: the hash of the key and of the format's version.
Digest digest_of(const KernelKey& key);

std::string entry_to_bytes(const Digest& key, const DiskCache::Entry& entry);
/// The entry that entry_to_bytes() wrote for this key; nothing for any other bytes. Never throws for bad bytes.
std::optional<DiskCache::Entry> entry_from_bytes(const Digest& key, std::string_view bytes);

} // namespace gf
