// Results as bits.
#pragma once

#include <cstdint>
#include <vector>

#include <gridfold/core/view.hpp>
#include <gridfold/fusion/executable.hpp>

namespace gf::fault {

/// All bits of results whose array elements have 4 bytes.
inline std::vector<std::uint64_t> bits_of(const Results& results) {
    std::vector<std::uint64_t> bits;
    for (const Results::Entry& entry : results.entries()) {
        bits.push_back(entry.bits);
        if (!entry.is_array) continue;
        const auto* elements = static_cast<const std::uint32_t*>(entry.array.address);
        bits.insert(bits.end(), elements, elements + element_count(entry.array.extents));
    }
    return bits;
}

} // namespace gf::fault
