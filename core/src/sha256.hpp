// SHA-256 (FIPS 180-4), for naming and checking cache files.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace gf {

using Digest = std::array<std::uint8_t, 32>;

Digest sha256(std::string_view bytes);
std::string to_hex(const Digest& digest);

} // namespace gf
