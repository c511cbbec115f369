// Memory with nothing around it: an access before its beginning or after its end faults, or is seen when it is checked.
#pragma once

#include <cstddef>
#include <utility>

namespace gf::emulator {

/// Where the bytes touch the pages that nobody may access; the other side is watched for writes only.
enum class Snug : bool { at_begin, at_end };

class GuardedMemory {
public:
    static constexpr std::size_t alignment = 256; // at the beginning; at the end 16

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
    /// Is all that lies between the bytes and the guards as it was?
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
