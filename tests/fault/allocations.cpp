// The global operators new and delete, counted. See allocations.hpp.
#include "fault/allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <limits>

namespace gf::fault {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

std::atomic<std::int64_t> live{0};
std::atomic<std::uint64_t> count{0};
std::atomic<std::int64_t> left{never}; ///< allocations that succeed before one fails
std::atomic<bool> only_one{true};
std::atomic<bool> has_failed{false};

bool fails_now() {
    if (left.load(std::memory_order_relaxed) == never) return false;
    const std::int64_t before = left.fetch_sub(1);
    if (before > 0 || (before < 0 && only_one)) return false;
    has_failed = true;
    return true;
}

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    if (fails_now()) return nullptr;
    if (bytes == 0) bytes = 1;
    void* memory = nullptr;
    if (alignment <= alignof(std::max_align_t))
        memory = std::malloc(bytes);
    else if (posix_memalign(&memory, alignment, bytes) != 0)
        memory = nullptr;
    if (memory != nullptr) {
        ++live;
        ++count;
    }
    return memory;
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
    void* memory = allocate(bytes, alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

void release(void* memory) noexcept {
    if (memory != nullptr) --live;
    std::free(memory);
}

} // namespace

std::int64_t live_allocations() { return live; }
std::uint64_t allocation_count() { return count; }

void fail_after(std::uint64_t served, Lack lack) {
    only_one = lack == Lack::once;
    has_failed = false;
    left = static_cast<std::int64_t>(served);
}

bool stop_failing() {
    left = never;
    return has_failed;
}

} // namespace gf::fault

using gf::fault::allocate;
using gf::fault::allocate_or_throw;
using gf::fault::release;

namespace {
constexpr std::size_t ordinary = 1;
std::size_t number(std::align_val_t alignment) { return static_cast<std::size_t>(alignment); }
} // namespace

void* operator new(std::size_t n) { return allocate_or_throw(n, ordinary); }
void* operator new[](std::size_t n) { return allocate_or_throw(n, ordinary); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, ordinary); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, ordinary); }
void* operator new(std::size_t n, std::align_val_t a) { return allocate_or_throw(n, number(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return allocate_or_throw(n, number(a)); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return allocate(n, number(a)); }
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
    return allocate(n, number(a));
}
void operator delete(void* p) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t) noexcept { release(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete(void* p, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { release(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { release(p); }
