#include "shared_memory.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace gf::emulator {

namespace {

constexpr std::uint64_t uninitialised = 0xcdcdcdcdcdcdcdcd; // the contents before the first write
constexpr std::size_t word_bytes = 4;

} // namespace

void* SharedMemory::access(const void* declaration, std::size_t bytes, std::size_t offset, std::size_t count, Use use,
                           Accessor accessor) {
    const std::size_t alignment = std::has_single_bit(count) ? std::min<std::size_t>(count, 16) : word_bytes;
    if (offset + count > bytes || offset % alignment != 0)
        throw std::runtime_error(fmt::format("emulator: thread {} accesses bytes {} to {} of {} of shared memory",
                                             accessor.thread, offset, offset + count, bytes));
    Array& accessed = array(declaration, bytes);
    if (offset % word_bytes != 0 || count % word_bytes != 0) note_bytes(accessed);
    const std::size_t unit = accessed.bytes_of_record;
    for (std::size_t n = offset / unit; n * unit < offset + count; ++n) {
        if (use != Use::write && !is_written(accessed, n, count))
            throw std::runtime_error(
                fmt::format("emulator: thread {} reads shared memory that nobody wrote", accessor.thread));
        note(accessed.records[n], use, accessor);
    }
    return reinterpret_cast<std::byte*>(accessed.memory.data()) + offset;
}

SharedMemory::Array& SharedMemory::array(const void* declaration, std::size_t bytes) {
    const auto known = std::ranges::find_if(arrays_, [&](const Array& a) { return a.declaration == declaration; });
    if (known != arrays_.end()) return *known;
    arrays_.push_back({declaration, std::vector((bytes + 7) / 8, uninitialised),
                       std::vector<Record>((bytes + word_bytes - 1) / word_bytes), word_bytes});
    return arrays_.back();
}

/// Keeps a record for each byte from now on: threads may write the bytes of one word.
void SharedMemory::note_bytes(Array& array) {
    if (array.bytes_of_record == 1) return;
    std::vector<Record> of_bytes;
    of_bytes.reserve(word_bytes * array.records.size());
    for (const Record& of_word : array.records) of_bytes.insert(of_bytes.end(), word_bytes, of_word);
    array.records = std::move(of_bytes);
    array.bytes_of_record = 1;
}

/// True if somebody wrote what record number n is of. Whole words may be read of which a part was written: the rest is
/// not used.
bool SharedMemory::is_written(const Array& array, std::size_t n, std::size_t bytes) {
    const auto is_written = [](const Record& record) { return record.write.by.thread != nobody; };
    if (array.bytes_of_record > 1 || bytes < word_bytes) return is_written(array.records[n]);
    const auto word = array.records.begin() + std::ptrdiff_t(n / word_bytes * word_bytes);
    return std::any_of(word, word + word_bytes, is_written);
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

void SharedMemory::note(Record& record, Use use, Accessor accessor) const {
    const bool writes = use == Use::write;
    const auto race = [&](const char* what, Accessor other) {
        throw std::runtime_error(
            fmt::format("emulator: a race in shared memory: thread {} {} what {} {}, with no "
                        "barrier between",
                        accessor.thread, writes ? "writes" : "reads",
                        other.thread == several ? "several threads" : fmt::format("thread {}", other.thread), what));
    };
    if (is_unordered(record.write, accessor)) race("wrote", record.write.by);
    if (use == Use::relaxed) return;
    if (writes) {
        if (is_unordered(record.read, accessor)) race("read", record.read.by);
        record.write = access_now(accessor);
        return;
    }
    const bool beside_others = is_unordered(record.read, accessor);
    const std::uint32_t warp_of_others = record.read.warp;
    record.read = access_now(accessor);
    if (!beside_others) return;
    record.read.by.thread = several;
    if (record.read.warp != warp_of_others) record.read.warp = most_warps;
}

} // namespace gf::emulator
