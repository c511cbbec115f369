// Memory with nothing around it: an access before its beginning or after its end faults, or is seen when it is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace gf::emulator {

/// Where the bytes touch the megabyte that nobody may access; the other side is watched for writes only. `at_end`: up
/// to 15 bytes from it, aligned.
enum class Snug : std::uint8_t { at_begin, at_end, exactly_at_end };

class GuardedMemory {
public:
    static constexpr std::size_t alignment = 256; // at the beginning; at the end 16, or none

    GuardedMemory() = default;
    /// Filled with bytes of no meaning. Throws std::bad_alloc.
    GuardedMemory(std::size_t bytes, Snug snug);
    GuardedMemory(GuardedMemory&& other) noexcept { swap(other); }
    GuardedMemory& operator=(GuardedMemory&& other) noexcept {
        GuardedMemory(std::move(other)).swap(*this);
        return *this;
    }
    ~GuardedMemory();

    std::byte* data() const { return data_; }
    std::size_t size() const { return size_; }
    /// True if the padding between the bytes and the guards is unchanged.
    bool is_intact() const;
    /// Gives the memory back and keeps the addresses: every access faults from now on, and nobody else gets them.
    void close();

private:
    void swap(GuardedMemory& other) noexcept {
        std::swap(mapped_, other.mapped_);
        std::swap(mapped_bytes_, other.mapped_bytes_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }
    std::byte* mapped_ = nullptr; // a guard, whole pages, a guard
    std::size_t mapped_bytes_ = 0;
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace gf::emulator
