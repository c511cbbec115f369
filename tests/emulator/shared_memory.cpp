#include "shared_memory.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace gf::emulator {

namespace {

constexpr std::uint64_t uninitialised = 0xcdcdcdcdcdcdcdcd; // the contents before the first write
constexpr std::size_t word_bytes = 4;

} // namespace

void* SharedMemory::access(const void* declaration, std::size_t bytes, std::size_t offset, std::size_t count,
                           bool writes, std::uint32_t thread) {
    if (offset + count > bytes || offset % word_bytes != 0 || count % word_bytes != 0)
        throw std::runtime_error(fmt::format("emulator: thread {} accesses bytes {} to {} of {} of shared memory",
                                             thread, offset, offset + count, bytes));
    Array& accessed = array(declaration, bytes);
    for (std::size_t word = offset / word_bytes; word < (offset + count) / word_bytes; ++word)
        note(accessed.words[word], writes, thread);
    return reinterpret_cast<std::byte*>(accessed.memory.data()) + offset;
}

SharedMemory::Array& SharedMemory::array(const void* declaration, std::size_t bytes) {
    const auto known = std::ranges::find_if(arrays_, [&](const Array& a) { return a.declaration == declaration; });
    if (known != arrays_.end()) return *known;
    arrays_.push_back(
        {declaration, std::vector((bytes + 7) / 8, uninitialised), std::vector<Word>(bytes / word_bytes)});
    return arrays_.back();
}

void SharedMemory::note(Word& word, bool writes, std::uint32_t thread) const {
    const auto race = [&](const char* what, std::uint32_t other) {
        throw std::runtime_error(
            fmt::format("emulator: a race in shared memory: thread {} {} a word that {} {}, with no "
                        "barrier between",
                        thread, writes ? "writes" : "reads",
                        other == several ? "several threads" : fmt::format("thread {}", other), what));
    };
    const bool written_now = word.writer != nobody && word.write_epoch == epoch_;
    if (written_now && word.writer != thread) race("wrote", word.writer);
    if (writes) {
        if (word.reader != nobody && word.read_epoch == epoch_ && word.reader != thread) race("read", word.reader);
        word.writer = thread;
        word.write_epoch = epoch_;
        return;
    }
    if (word.writer == nobody)
        throw std::runtime_error(fmt::format("emulator: thread {} reads shared memory that nobody wrote", thread));
    const bool read_now = word.reader != nobody && word.read_epoch == epoch_;
    word.reader = read_now && word.reader != thread ? several : thread;
    word.read_epoch = epoch_;
}

} // namespace gf::emulator
