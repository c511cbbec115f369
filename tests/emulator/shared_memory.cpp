#include "shared_memory.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include <fmt/format.h>

namespace gf::emulator {

namespace {

constexpr std::uint64_t uninitialised = 0xcdcdcdcdcdcdcdcd; // the contents before the first write
constexpr std::size_t word_bytes = 4;

} // namespace

void* SharedMemory::access(const void* declaration, std::size_t bytes, std::size_t offset, std::size_t count,
                           bool writes, Accessor accessor) {
    const std::size_t alignment = std::has_single_bit(count) ? std::min<std::size_t>(count, 16) : word_bytes;
    if (offset + count > bytes || offset % alignment != 0)
        throw std::runtime_error(fmt::format("emulator: thread {} accesses bytes {} to {} of {} of shared memory",
                                             accessor.thread, offset, offset + count, bytes));
    Array& accessed = array(declaration, bytes);
    for (std::size_t word = offset / word_bytes; word * word_bytes < offset + count; ++word)
        note(accessed.words[word], writes, accessor);
    return reinterpret_cast<std::byte*>(accessed.memory.data()) + offset;
}

SharedMemory::Array& SharedMemory::array(const void* declaration, std::size_t bytes) {
    const auto known = std::ranges::find_if(arrays_, [&](const Array& a) { return a.declaration == declaration; });
    if (known != arrays_.end()) return *known;
    arrays_.push_back(
        {declaration, std::vector((bytes + 7) / 8, uninitialised), std::vector<Word>(bytes / word_bytes)});
    return arrays_.back();
}

/// True if no barrier lies between an access of another thread and one of this thread.
bool SharedMemory::is_unordered(const Access& earlier, Accessor accessor) const {
    if (earlier.by.thread == nobody || earlier.by == accessor) return false;
    if (earlier.by.block != block_ || accessor.block != block_) return earlier.cluster_epoch == cluster_epoch_;
    const std::uint32_t warp = accessor.thread / 32;
    return earlier.epoch == epoch_ && (earlier.warp != warp || earlier.warp_epoch == warp_epochs_[warp]);
}

SharedMemory::Access SharedMemory::access_now(Accessor accessor) const {
    const std::uint32_t warp = accessor.thread / 32;
    return {accessor, warp, epoch_, warp_epochs_[warp], cluster_epoch_};
}

void SharedMemory::note(Word& word, bool writes, Accessor accessor) const {
    const auto race = [&](const char* what, Accessor other) {
        throw std::runtime_error(
            fmt::format("emulator: a race in shared memory: thread {} {} a word that {} {}, with no "
                        "barrier between",
                        accessor.thread, writes ? "writes" : "reads",
                        other.thread == several ? "several threads" : fmt::format("thread {}", other.thread), what));
    };
    if (is_unordered(word.write, accessor)) race("wrote", word.write.by);
    if (writes) {
        if (is_unordered(word.read, accessor)) race("read", word.read.by);
        word.write = access_now(accessor);
        return;
    }
    if (word.write.by.thread == nobody)
        throw std::runtime_error(
            fmt::format("emulator: thread {} reads shared memory that nobody wrote", accessor.thread));
    const bool beside_others = is_unordered(word.read, accessor);
    const std::uint32_t warp_of_others = word.read.warp;
    word.read = access_now(accessor);
    if (!beside_others) return;
    word.read.by.thread = several;
    if (word.read.warp != warp_of_others) word.read.warp = most_warps;
}

} // namespace gf::emulator
