// The shared memory of one block, with a record of accesses. Two accesses that no barrier orders, one of them a write,
// are a race; a read before any write is a read of uninitialised memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace gf::emulator {

class SharedMemory {
public:
    /// The address of `count` bytes at `offset` of the memory named by `declaration`, which is `bytes` large, about to
    /// be accessed by `thread`. Throws std::runtime_error for a race, a read of uninitialised memory, and an access
    /// outside the array.
    void* access(const void* declaration, std::size_t bytes, std::size_t offset, std::size_t count, bool writes,
                 std::uint32_t thread);
    /// All threads have met: earlier accesses are ordered before later ones.
    void barrier() { ++epoch_; }

private:
    static constexpr std::uint32_t nobody = ~std::uint32_t{0}, several = nobody - 1;
    struct Word {
        std::uint32_t writer = nobody, write_epoch = 0;
        std::uint32_t reader = nobody, read_epoch = 0; // the epoch's reader, or `several`
    };
    struct Array {
        const void* declaration;
        std::vector<std::uint64_t> memory; // aligned to 8 bytes, the most that states need
        std::vector<Word> words;           // of 4 bytes
    };
    Array& array(const void* declaration, std::size_t bytes);
    void note(Word& word, bool writes, std::uint32_t thread) const;

    std::deque<Array> arrays_; // a deque keeps their addresses
    std::uint32_t epoch_ = 0;
};

} // namespace gf::emulator
