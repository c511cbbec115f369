// The memory through which sweeps return scalars to the host: mapped memory, each word tagged with its launch's number.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gridfold/core/buffer.hpp>
#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/plan.hpp>

namespace gf::cuda {

using namespace plan;

/// The tag of launch number `launch` (from 1) on one workspace: 1 … 2^32 − 1, then from 1 again.
constexpr std::uint32_t tag_of(std::uint64_t launch) {
    return static_cast<std::uint32_t>((launch - 1) % 0xffffffffu + 1);
}

/// Three words for each scalar, each {tag, 32 bits}: the value's low half, its high half, and its empty flag.
class HostWords {
public:
    HostWords() = default;
    HostWords(int device, std::size_t scalars) : memory_(device, scalars * 3 * sizeof(std::uint64_t)) { clear(); }
    void* device_address() const noexcept { return memory_.device_address(); }

    /// Clears the tags, for a new count of launches. Not while a launch is in progress.
    void clear() noexcept {
        for (std::size_t i = 0; i < memory_.bytes() / sizeof(std::uint64_t); ++i) words()[i] = 0;
    }
    /// True if the launch with this tag has written the scalar.
    bool has(ScalarId scalar, std::uint32_t tag) const noexcept {
        for (std::size_t i = 0; i < 3; ++i) // defect: words
            if (load(scalar, i) >> 32 != tag) return false;
        return true;
    }
    /// The scalar that was written; requires has().
    ScalarResult read(ScalarId scalar) const noexcept {
        const std::uint64_t low = load(scalar, 0) & 0xffffffffu;
        return {load(scalar, 1) << 32 | low, (load(scalar, 2) & 1) != 0};
    }

private:
    std::uint64_t* words() const noexcept { return static_cast<std::uint64_t*>(memory_.address()); }
    std::uint64_t load(ScalarId scalar, std::size_t word) const noexcept {
        return std::atomic_ref(words()[scalar.index() * 3 + word]).load(std::memory_order_acquire);
    }
    PinnedBuffer memory_;
};

} // namespace gf::cuda
