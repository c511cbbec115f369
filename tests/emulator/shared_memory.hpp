// The shared memory of one block, with a record of accesses. Two accesses that no barrier orders, one of them a write,
// are a race; a read before any write is a read of uninitialised memory. Accesses of the block's own threads are
// ordered by its barriers, those of a warp's threads by the warp's, too; those of another block of its cluster by the
// cluster's alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "emulator.hpp"

namespace gf::emulator {

class SharedMemory {
public:
    /// A thread of the grid.
    struct Accessor {
        std::uint32_t block, thread;
        friend bool operator==(const Accessor&, const Accessor&) = default;
    };

    SharedMemory() = default;
    explicit SharedMemory(std::uint32_t block) : block_(block) {}
    /// The address of `count` bytes at `offset` of the memory named by `declaration`, which is `bytes` large, about to
    /// be used by `accessor`. Throws std::runtime_error for a race, a read of uninitialised memory, and an access
    /// outside the array. Relaxed uses are no race with each other, and need memory that is
    /// initialised, to write it, too.
    void* access(const void* declaration, std::size_t bytes, std::size_t offset, std::size_t count, Use use,
                 Accessor accessor);
    /// All threads of the block, or of its cluster, have met: earlier accesses are ordered before later ones.
    void barrier() { ++epoch_; }
    /// All threads of a warp have met.
    void warp_barrier(std::uint32_t warp) { ++warp_epochs_[warp]; }
    void cluster_barrier() {
        ++epoch_;
        ++cluster_epoch_;
    }
    std::uint32_t cluster_barriers() const { return cluster_epoch_; } ///< so far

private:
    static constexpr std::uint32_t nobody = ~std::uint32_t{0}, several = nobody - 1, most_warps = 32;
    struct Access {
        Accessor by{0, nobody}; // `several`: threads of this block
        std::uint32_t warp = 0; // most_warps: several
        std::uint32_t epoch = 0, warp_epoch = 0, cluster_epoch = 0;
    };
    struct Record {
        Access write, read;
    };
    struct Array {
        const void* declaration;
        std::vector<std::uint64_t> memory; // aligned to 8 bytes, the most that states need
        std::vector<Record> records;
        std::size_t bytes_of_record; // a word, or 1 once a part of a word was accessed
    };
    Array& array(const void* declaration, std::size_t bytes);
    static void note_bytes(Array& array);
    static bool is_written(const Array& array, std::size_t n, std::size_t bytes);
    void note(Record& record, Use use, Accessor accessor) const;
    Access access_now(Accessor accessor) const;
    bool is_unordered(const Access& earlier, Accessor accessor) const;

    std::deque<Array> arrays_; // a deque keeps their addresses
    std::uint32_t block_ = 0, epoch_ = 0, cluster_epoch_ = 0, warp_epochs_[most_warps]{};
};

} // namespace gf::emulator
