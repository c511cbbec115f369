// Executes generated kernels without a GPU: the kernel text is compiled by the host's compiler, and each thread of the
// grid is a fibre. Fibres switch at barriers, warp exchanges and relaxed accesses.
//
// This header declares both the functions that kernel text calls (named by warp.cuh, memory.cuh and shared.cuh) and the
// launch. Kernel text is compiled into separate shared objects, which call the running grid by a table of functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace gf::emulator {

using u32 = unsigned int;
using u64 = std::uint64_t;

/// How a thread uses shared memory. `relaxed`: it reads or writes what other threads may access at the same time, and
/// what somebody has written before.
enum class Use : std::uint8_t { read, write, relaxed };

/// The running thread's block and thread index.
struct Place {
    u32 thread = 0;
    u32 block = 0;
    u32 blocks = 0;
};

/// The functions of a running grid for its threads. Misuse (a misaligned access, say) throws std::runtime_error.
struct Machine {
    const Place* place;
    void (*barrier)();
    u32 (*shuffle_xor_word)(u32 value, u32 lanes);
    void (*warp_barrier)();
    void (*yield)();
    void (*note_store)();
    void* (*shared)(const void* declaration, std::size_t bytes, std::size_t offset, std::size_t count, Use use);
    void (*arrive_at_cluster_barrier)();
    void (*await_cluster_barrier)(u32 cluster);
    void* (*shared_of)(u32 cluster, u32 block, const void* declaration, std::size_t bytes, std::size_t offset,
                       std::size_t count, Use use);
    void (*check_access)(const void* address, std::size_t bytes);
    void (*note_prefetch)(const char* from, const char* to);
    const bool* loses_system_stores;
};

/// For tests: from now on, words that threads store for the waiting host are lost, or not.
void lose_system_stores(bool lose);

/// Calls a kernel with the arguments at the given addresses, like cuLaunchKernel.
using Entry = void (*)(void** arguments);

struct Parameter {
    std::size_t bytes;
    bool is_pointer;
};

/// A kernel in the list of its shared object.
struct Kernel {
    Entry entry;
    std::span<const Parameter> parameters;
};

/// The order in which runnable threads run. Correct kernels give the same results under each. `last_block`: the last
/// block first runs alone (if all blocks run at a time), so that it waits for the others. `starved`: shuffled, and a
/// half of the warps, which changes from time to time, runs only when no other can.
enum class Order : std::uint8_t { forward, backward, shuffled, last_block, starved };
inline constexpr Order all_orders[]{Order::forward, Order::backward, Order::shuffled, Order::last_block,
                                    Order::starved};

/// Runs a grid until every thread has returned. `threads` is a multiple of 32. Blocks start in the order of their
/// index, and some 16,000 threads run at a time: the next block starts when one has ended. Throws std::runtime_error
/// for misuse, a barrier or exchange that not every thread reaches, a race in shared memory, a read of uninitialised
/// shared memory, an access to unmapped memory, a grid that only polls, and a stack overflow. One launch at a time in a
/// process.
void launch(Entry entry, void** arguments, u32 blocks, u32 threads, Order order = Order::forward,
            std::uint64_t seed = 0);

struct Bytes {
    const char *begin, *end;
};
/// What the threads of the last launch prefetched by ranges, in the order of their calls.
std::span<const Bytes> prefetched();

/// The table that is passed to a shared object of kernels.
const Machine& machine();

#if defined(GRIDFOLD_EMULATED_KERNELS)

#define __global__             // NOLINT(bugprone-reserved-identifier): kernel text uses them
#define __launch_bounds__(...) // NOLINT(bugprone-reserved-identifier)
#define __cluster_dims__(...)  // NOLINT(bugprone-reserved-identifier)

static const Machine* attached = nullptr;

inline u32 thread_index() { return attached->place->thread; }
inline u32 block_index() { return attached->place->block; }
inline u32 block_count() { return attached->place->blocks; }
inline void barrier() { attached->barrier(); }
inline u32 shuffle_xor_word(u32 value, u32 lanes) { return attached->shuffle_xor_word(value, lanes); }
/// Waits for all threads of the warp, and orders their accesses to shared memory, which an exchange does not.
inline void warp_barrier() { attached->warp_barrier(); }
inline void yield() { attached->yield(); }
/// The address of `count` bytes at `offset` of a block's shared array of `bytes`, about to be used.
inline void* shared(const void* declaration, std::size_t bytes, std::size_t offset, std::size_t count, Use use) {
    return attached->shared(declaration, bytes, offset, count, use);
}
/// A barrier of the block's cluster, of `cluster` blocks: a thread arrives, then it waits for the others. What it does
/// between is ordered as what it did before.
inline void arrive_at_cluster_barrier() { attached->arrive_at_cluster_barrier(); }
inline void await_cluster_barrier(u32 cluster) { attached->await_cluster_barrier(cluster); }
inline void cluster_barrier(u32 cluster) {
    arrive_at_cluster_barrier();
    await_cluster_barrier(cluster);
}
/// The same of block number `block` of the cluster, after a first barrier of the cluster. Of a block that has ended, or
/// may soon end, there is none; a thread that uses it relaxed may know that one of the block's threads waits for it.
inline void* shared_of(u32 cluster, u32 block, const void* declaration, std::size_t bytes, std::size_t offset,
                       std::size_t count, Use use) {
    return attached->shared_of(cluster, block, declaration, bytes, offset, count, use);
}
inline u64 load_relaxed(const u64* p) {
    attached->check_access(p, sizeof(u64));
    attached->yield();
    return *static_cast<const volatile u64*>(p);
}
inline void store_relaxed(u64* p, u64 word) {
    attached->check_access(p, sizeof(u64));
    attached->note_store();
    *static_cast<volatile u64*>(p) = word;
    attached->yield();
}
/// Two words that a GPU may access at once; here other threads may run between them.
inline void load_relaxed(const u64* p, u64& first, u64& second) {
    attached->check_access(p, 2 * sizeof(u64));
    first = load_relaxed(p);
    second = load_relaxed(p + 1);
}
inline void store_relaxed(u64* p, u64 first, u64 second) {
    attached->check_access(p, 2 * sizeof(u64));
    store_relaxed(p, first);
    store_relaxed(p + 1, second);
}
inline void store_relaxed_system(u64* p, u64 word) {
    if (!*attached->loses_system_stores) store_relaxed(p, word);
}
/// Touches the first and the last of these bytes.
inline void prefetch(const char* from, const char* to) {
    attached->check_access(from, 16);
    (void)*static_cast<const volatile char*>(from);
    (void)*static_cast<const volatile char*>(to - 1);
    attached->note_prefetch(from, to);
}
inline void load_bytes(void* to, const void* from, std::size_t bytes) {
    attached->check_access(from, bytes);
    __builtin_memcpy(to, from, bytes);
}
inline void store_bytes(void* to, const void* from, std::size_t bytes) {
    attached->check_access(to, bytes);
    __builtin_memcpy(to, from, bytes);
}

template <auto kernel> struct KernelOf;
template <class... P, void (*kernel)(P...)> struct KernelOf<kernel> {
    static constexpr Parameter parameters[]{{sizeof(P), std::is_pointer_v<P>}...};
    template <std::size_t... I> static void call(void** arguments, std::index_sequence<I...>) {
        kernel(*static_cast<P*>(arguments[I])...);
    }
    static void entry(void** arguments) { call(arguments, std::index_sequence_for<P...>{}); }
};
/// A shared object's description of one of its kernels.
template <auto kernel> constexpr Kernel listed() { return {KernelOf<kernel>::entry, KernelOf<kernel>::parameters}; }

#endif

} // namespace gf::emulator
