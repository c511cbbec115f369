// Where sweeps leave their scalars for the host: mapped memory in which each word carries the number of its launch.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gridfold/core/buffer.hpp>
#include <gridfold/fusion/backend.hpp>

namespace gf::cuda {

/// The tag of launch number `launch` (from 1) on one workspace: 1 … 2^32 − 1, then from 1 again.
constexpr std::uint32_t tag_of(std::uint64_t launch) {
    return static_cast<std::uint32_t>((launch - 1) % 0xffffffffu + 1);
}

/// Three words a scalar, each {tag, 32 bits}: the value's low and high half, and whether it is empty.
class HostWords {
public:
    HostWords() = default;
    HostWords(int device, std::size_t scalars) : memory_(device, scalars * 3 * sizeof(std::uint64_t)) { clear(); }
    void* device_address() const noexcept { return memory_.device_address(); }

    /// As if no launch had written: for when launches are counted anew. Not while one is under way.
    void clear() noexcept {
        for (std::size_t i = 0; i < memory_.bytes() / sizeof(std::uint64_t); ++i) words()[i] = 0;
    }
    /// Has the launch with this tag written the scalar?
    bool has(int scalar, std::uint32_t tag) const noexcept {
        for (std::size_t i = 0; i < 3; ++i)
            if (load(scalar, i) >> 32 != tag) return false;
        return true;
    }
    /// What it wrote; has() was true.
    ScalarResult read(int scalar) const noexcept {
        const std::uint64_t low = load(scalar, 0) & 0xffffffffu;
        return {load(scalar, 1) << 32 | low, (load(scalar, 2) & 1) != 0};
    }

private:
    std::uint64_t* words() const noexcept { return static_cast<std::uint64_t*>(memory_.address()); }
    std::uint64_t load(int scalar, std::size_t word) const noexcept {
        return std::atomic_ref(words()[static_cast<std::size_t>(scalar) * 3 + word]).load(std::memory_order_acquire);
    }
    PinnedBuffer memory_;
};

} // namespace gf::cuda
