// Numbers as indices of containers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gf::cpu {

constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }
constexpr std::size_t unsigned_of(std::int64_t n) { return static_cast<std::size_t>(n); }

} // namespace gf::cpu
