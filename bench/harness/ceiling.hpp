// Ceilings: fixed best-effort kernels that only read, only copy, or read and write, the bytes of a contender. Several
// shapes run as variants; the best at a size is the ceiling.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "harness/contender.hpp"

namespace bench {

/// The address of copy number `copy`, aligned to 16 bytes; the closure owns the memory.
using Address = std::function<const void*(int copy)>;

/// Variants of `ceiling`: read `bytes`, a multiple of 16, of each copy.
std::vector<Contender> read_ceilings(const Address& from, std::int64_t bytes);

/// Variants of `ceiling` for contenders that write much, too: read `bytes`, and write `arrays` arrays of `each` bytes,
/// which lie side by side; both are multiples of 16.
std::vector<Contender> read_and_write_ceilings(const Address& from, std::int64_t bytes,
                                               const std::function<void*(int copy)>& to, std::int64_t arrays,
                                               std::int64_t each);

/// Variants of `copy_ceiling`: copy `bytes`, a multiple of 16.
std::vector<Contender> copy_ceilings(const Address& from, const std::function<void*(int copy)>& to, std::int64_t bytes);

} // namespace bench
