// How many random graphs, and from which seed on: from the environment, for long runs and for going back to one seed.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace gf::oracle {

inline std::uint64_t setting(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}
inline std::uint64_t first_seed() { return setting("GRIDFOLD_RANDOM_SEED", 1); }
inline std::uint64_t graph_count(std::uint64_t otherwise) { return setting("GRIDFOLD_RANDOM_GRAPHS", otherwise); }

} // namespace gf::oracle
