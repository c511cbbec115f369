// What the golden graphs' inputs hold: numbers that follow from three names and from nothing else. The committed hashes
// depend on every line of inputs.cpp, so it uses no other code of the project but the list of element types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include <gridfold/core/dtype.hpp>

namespace gf::golden {

/// FNV-1a of 64 bits.
class Hash {
public:
    void add(std::uint8_t byte) noexcept { value_ = (value_ ^ byte) * 0x100000001b3; }
    void add(std::string_view bytes) noexcept {
        for (const char byte : bytes) add(static_cast<std::uint8_t>(byte));
    }
    std::uint64_t value() const noexcept { return value_; }

private:
    std::uint64_t value_ = 0xcbf29ce484222325;
};

/// Which numbers an input holds: the names of the graph and of the input, and the extents of the graph's dims as text.
struct InputKey {
    std::string_view graph, input, size;
};

/// The `count` elements of an array, as bytes. Most arrays hold fractions; others hold whole numbers, numbers of any
/// magnitude, numbers far from 0, or special ones (NaN, infinities, -0, denormals, extremes). bool arrays are true in
/// some places, most, none, all, in whole slabs or in some lanes. Inputs called near_1… hold numbers near 1, for
/// products.
std::vector<std::byte> elements(const InputKey& key, DType type, std::size_t count);

/// The value of a run-time scalar, as what a caller would bind.
using Scalar = std::variant<bool, std::int64_t, std::uint64_t, double>;
Scalar scalar(const InputKey& key, DType type);

/// How many elements an array lies off its allocation's alignment: 0 to 3, 0 most often.
std::size_t misalignment(const InputKey& key);

} // namespace gf::golden
