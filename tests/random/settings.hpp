// The number of random graphs and the first seed, from the environment: for long runs and for repeating one seed.
#pragma once

#include <cstdint>
#include <cstdlib>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GRIDFOLD_SANITIZED true
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define GRIDFOLD_SANITIZED true
#endif

namespace gf::oracle {

/// AddressSanitizer is much slower, so tests run fewer graphs under it.
#if defined(GRIDFOLD_SANITIZED)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
inline constexpr std::uint64_t sanitizer_share = sanitized ? 12 : 1; ///< of random graphs

inline std::uint64_t setting(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}
inline std::uint64_t first_seed() { return setting("GRIDFOLD_RANDOM_SEED", 1); }
/// `otherwise` graphs, fewer under a sanitizer.
inline std::uint64_t graph_count(std::uint64_t otherwise) {
    return setting("GRIDFOLD_RANDOM_GRAPHS", otherwise / sanitizer_share);
}

} // namespace gf::oracle
