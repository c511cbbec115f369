#include "guarded_memory.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <shared_mutex>

#include <sys/mman.h>
#include <unistd.h>

namespace gf::emulator {

namespace {

const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
constexpr std::size_t guard = std::size_t{1} << 20; // whole pages on every system; takes addresses, no memory
constexpr std::byte unwritten{0xcd};

/// The memory that there is: its bytes, by its first. It outlives memory of static objects.
struct Known {
    std::shared_mutex mutex;
    std::map<const std::byte*, std::size_t> bytes;
};
Known& known() {
    static auto* const all = new Known;
    return *all;
}

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

} // namespace

GuardedMemory::GuardedMemory(std::size_t bytes, Snug snug) : size_(bytes) {
    const std::size_t inner = round_up(std::max<std::size_t>(bytes, 1), page);
    if (inner < bytes) throw std::bad_alloc();
    mapped_bytes_ = inner + 2 * guard;
    void* mapped = mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    mapped_ = static_cast<std::byte*>(mapped);
    if (mprotect(mapped_ + guard, inner, PROT_READ | PROT_WRITE) != 0) {
        munmap(mapped_, mapped_bytes_);
        throw std::bad_alloc();
    }
    std::memset(mapped_ + guard, static_cast<int>(unwritten), inner);
    data_ = mapped_ + guard;
    if (snug != Snug::at_begin) data_ += inner - (snug == Snug::at_end ? round_up(bytes, 16) : bytes);
    const std::unique_lock lock(known().mutex);
    known().bytes[data_] = bytes;
}

GuardedMemory::~GuardedMemory() {
    if (mapped_ == nullptr) return;
    {
        const std::unique_lock lock(known().mutex);
        known().bytes.erase(data_);
    }
    munmap(mapped_, mapped_bytes_);
}

void GuardedMemory::close() {
    mmap(mapped_, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

bool end_behind_memory(const void* first, std::size_t bytes) {
    const auto* const begin = static_cast<const std::byte*>(first);
    const std::shared_lock lock(known().mutex);
    auto next = known().bytes.upper_bound(begin);
    if (next == known().bytes.begin()) return false;
    const auto& [memory, size] = *--next;
    return begin < memory + size && begin + bytes > memory + size;
}

bool GuardedMemory::is_intact() const {
    if (mapped_ == nullptr) return true;
    const auto is_unwritten = [](std::byte b) { return b == unwritten; };
    return std::all_of(mapped_ + guard, data_, is_unwritten) &&
           std::all_of(data_ + size_, mapped_ + mapped_bytes_ - guard, is_unwritten);
}

} // namespace gf::emulator
