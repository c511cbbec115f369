// Memory between guards: an access before its beginning or after its end faults, or is found by is_intact().
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace gf::emulator {

/// The end of the bytes that touches an inaccessible guard; at the other end only writes are found, by padding.
/// `at_end`: aligned, so up to 15 bytes before the guard.
enum class Snug : std::uint8_t { at_begin, at_end, exactly_at_end };

class GuardedMemory {
public:
    static constexpr std::size_t alignment = 256; // of at_begin; at_end has 16, exactly_at_end none

    GuardedMemory() = default;
    /// Filled with arbitrary bytes. Throws std::bad_alloc.
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
    /// Frees the memory and keeps the addresses reserved: every access faults from now on.
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

/// True if these bytes begin in such memory and end behind it: in the padding before its guard, maybe.
bool end_behind_memory(const void* first, std::size_t bytes);

} // namespace gf::emulator
