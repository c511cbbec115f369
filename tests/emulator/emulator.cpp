// The grid: its threads as fibres, their meetings, and their scheduling.
#include "emulator.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/mman.h>

#include <fmt/format.h>

#include "faults.hpp"
#include "fibre.hpp"
#include "guarded_memory.hpp"
#include "shared_memory.hpp"

namespace gf::emulator {

namespace {

constexpr std::size_t stack_bytes = 128 * 1024, guard_bytes = 64 * 1024; // whole pages on every system
constexpr std::size_t most_at_a_time = 16 * 1024; // threads: a process may have some 65,000 stacks and guards
constexpr int idle_rounds = 10'000;               // rounds of polling without any store: the grid hangs
constexpr int rounds_alone = 500;                 // of the last block: more than it needs to reach its polling
constexpr int rounds_starved = 2'000;             // total rounds in which warps starve: others can run ahead
constexpr int rounds_until_others_starve = 40;    // short, so that warps stop between two stores and others read both

/// Stacks, kept from launch to launch: pages that were never touched take no memory. Each has a guard in front of it,
/// where an overflow faults.
class Stacks {
public:
    Stacks() = default;
    Stacks(const Stacks&) = delete;
    Stacks& operator=(const Stacks&) = delete;
    ~Stacks() { release(); }
    void reserve(std::size_t count) {
        if (count <= count_) return;
        release();
        void* memory =
            mmap(nullptr, count * stride, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("emulator: no memory for the stacks of a grid");
        memory_ = static_cast<std::byte*>(memory);
        count_ = count;
        for (std::size_t i = 0; i < count; ++i)
            if (mprotect(memory_ + i * stride, guard_bytes, PROT_NONE) != 0)
                throw std::runtime_error("emulator: the stacks of a grid cannot be guarded");
    }
    std::byte* operator[](std::size_t i) const { return memory_ + i * stride + guard_bytes; }

private:
    static constexpr std::size_t stride = guard_bytes + stack_bytes;
    void release() {
        if (memory_ == nullptr) return;
        for (std::size_t i = 0; i < count_; ++i) forget_stack((*this)[i], stack_bytes); // others will get this memory
        munmap(memory_, count_ * stride);
        memory_ = nullptr;
        count_ = 0;
    }
    std::byte* memory_ = nullptr;
    std::size_t count_ = 0;
};

struct Thread {
    Place place;
    Fibre fibre;
    bool returned = false;
    bool has_arrived = false; // at a barrier of its cluster, for which it has not waited
};

/// Threads that wait for each other: those of a block at a barrier, those of a warp in an exchange.
struct Meeting {
    std::vector<Thread*> waiting;
    u32 expected = 0;
};

struct Warp {
    Meeting meeting;
    u32 round = 0;      // exchanges so far
    u32 words[2][32]{}; // of this exchange and of the previous one, which slower threads may still read
    bool lanes_returned = false;
    bool at_barrier = false; // those that wait
};

struct Block {
    Meeting meeting;
    Meeting of_cluster; ///< that of the cluster whose first block this is
    std::vector<Warp> warps;
    SharedMemory shared;
    std::size_t first_thread = 0;
    u32 running = 0; ///< threads
};

class Grid {
public:
    Grid(Stacks& stacks, Place& place, Entry entry, void** arguments, u32 blocks, u32 threads, void (*start)())
        : stacks_(stacks), place_(place), entry_(entry), arguments_(arguments), start_(start), block_threads_(threads),
          blocks_(blocks), threads_(threads * std::clamp<std::size_t>(most_at_a_time / threads, 1, blocks)) {
        stacks.reserve(threads_.size());
        for (std::size_t first = 0; first < threads_.size(); first += threads) start_block(first);
    }

    void run(Order order, std::uint64_t seed) {
        std::mt19937_64 random(seed);
        std::vector<bool> starved(threads_.size() / 32);
        int idle = 0, held_back = order == Order::last_block ? rounds_alone
                                  : order == Order::starved  ? rounds_starved
                                                             : 0;
        while (!next_.empty()) {
            std::vector<Thread*> round = std::move(next_);
            next_.clear();
            if (order == Order::starved && held_back % rounds_until_others_starve == 0)
                for (auto&& warp : starved) warp = random() % 2 == 0;
            if (held_back-- > 0)
                hold_back_all_but(round, [&](const Thread& thread) {
                    return order == Order::last_block ? thread.place.block + 1 == blocks_.size()
                                                      : !starved[std::size_t(&thread - threads_.data()) / 32];
                });
            if (order == Order::forward) std::sort(round.begin(), round.end());
            if (order == Order::backward) std::sort(round.begin(), round.end(), std::greater<>());
            if (order == Order::shuffled || order == Order::starved) std::shuffle(round.begin(), round.end(), random);
            progress_ = false;
            for (Thread* thread : round) {
                resume(*thread);
                if (failure_) std::rethrow_exception(failure_);
            }
            for (; !free_.empty() && next_block_ != blocks_.size(); free_.pop_back()) start_block(free_.back());
            idle = progress_ ? 0 : idle + 1;
            if (idle == idle_rounds) throw std::runtime_error("emulator: the grid polls for what nobody stores");
        }
        check_end();
    }

    /// Moves the threads of `round` that are not wanted to the next round, unless no other can run.
    template <class Wanted> void hold_back_all_but(std::vector<Thread*>& round, Wanted wanted) {
        const auto others = std::partition(round.begin(), round.end(), [&](const Thread* t) { return wanted(*t); });
        if (others == round.begin()) return;
        next_.assign(others, round.end());
        round.erase(others, round.end());
    }

    // Functions that threads call, on their own fibres.
    void fibre_main() {
        Thread& self = *running_;
        Fibre::entered(host_);
        try {
            entry_(arguments_);
        } catch (...) {
            failure_ = std::current_exception();
        }
        if (!failure_ && self.has_arrived)
            failure_ = std::make_exception_ptr(
                std::runtime_error("emulator: a thread ends before it waits at a barrier of its cluster"));
        self.returned = true;
        progress_ = true;
        leave(self);
        Fibre::switch_to(self.fibre, host_, true);
    }
    void fault(const void* address) {
        failure_ = std::make_exception_ptr(
            std::runtime_error(fmt::format("emulator: thread {} of block {} accesses {}, where it has no memory",
                                           place_.thread, place_.block, address)));
        Fibre::switch_to(running_->fibre, host_, true);
    }
    bool is_running() const { return running_ != nullptr; }
    void yield() {
        next_.push_back(running_);
        suspend();
    }
    void barrier() { meet(block().meeting, &block().shared); }
    u32 shuffle_xor_word(u32 value, u32 lanes) {
        if (lanes >= 32) throw std::runtime_error("emulator: an exchange with a lane outside the warp");
        Warp& warp = come(block().warps[place_.thread / 32], false);
        const u32 lane = place_.thread % 32;
        u32(&words)[32] = warp.words[warp.round % 2];
        words[lane] = value;
        if (warp.meeting.waiting.size() + 1 == warp.meeting.expected) ++warp.round;
        meet(warp.meeting);
        return words[lane ^ lanes];
    }
    void warp_barrier() {
        const u32 number = place_.thread / 32;
        Meeting& meeting = come(block().warps[number], true).meeting;
        if (meeting.waiting.size() + 1 == meeting.expected) block().shared.warp_barrier(number);
        meet(meeting);
    }
    void arrive_at_cluster_barrier() {
        if (running_->has_arrived)
            throw std::runtime_error("emulator: a thread arrives twice at a barrier of its cluster");
        running_->has_arrived = true;
    }
    void await_cluster_barrier(u32 cluster) {
        if (!running_->has_arrived)
            throw std::runtime_error("emulator: a thread waits at a barrier of its cluster without having arrived");
        running_->has_arrived = false;
        const std::size_t first = place_.block / cluster * cluster;
        if (first + cluster > blocks_.size()) throw std::runtime_error("emulator: a cluster of fewer blocks");
        Meeting& meeting = blocks_[first].of_cluster;
        meeting.expected = cluster * block_threads_;
        if (meeting.waiting.size() + 1 == meeting.expected)
            for (std::size_t b = first; b < first + cluster; ++b) blocks_[b].shared.cluster_barrier();
        meet(meeting);
    }
    void* shared(const void* declaration, std::size_t bytes, std::size_t offset, std::size_t count, Use use) {
        return block().shared.access(declaration, bytes, offset, count, use, thread_of_grid());
    }
    void* shared_of(u32 cluster, u32 number, const void* declaration, std::size_t bytes, std::size_t offset,
                    std::size_t count, Use use) {
        Block& other = blocks_[place_.block / cluster * cluster + number];
        const bool runs = use == Use::relaxed ? other.running != 0 : other.running == block_threads_;
        if (number >= cluster || !runs || block().shared.cluster_barriers() == 0)
            throw std::runtime_error("emulator: an access to the shared memory of a block that may not be running");
        return other.shared.access(declaration, bytes, offset, count, use, thread_of_grid());
    }
    void note_store() { progress_ = true; }

private:
    Block& block() { return blocks_[place_.block]; }
    SharedMemory::Accessor thread_of_grid() const { return {place_.block, place_.thread}; }

    /// Starts the next block in the threads from `first` on.
    void start_block(std::size_t first) {
        Block& block = blocks_[next_block_];
        block.meeting.expected = block.running = block_threads_;
        block.warps.resize(block_threads_ / 32);
        for (Warp& warp : block.warps) warp.meeting.expected = 32;
        block.first_thread = first;
        block.shared = SharedMemory(next_block_);
        for (u32 i = 0; i < block_threads_; ++i) {
            Thread& thread = threads_[first + i];
            thread = {{i, next_block_, static_cast<u32>(blocks_.size())},
                      Fibre(stacks_[first + i], stack_bytes, start_)};
            next_.push_back(&thread);
        }
        ++next_block_;
    }
    void end_block(Block& block) {
        free_.push_back(block.first_thread);
        block.warps = {};
        block.shared = {};
    }

    void resume(Thread& thread) {
        running_ = &thread;
        place_ = thread.place;
        Fibre::switch_to(host_, thread.fibre);
        running_ = nullptr;
    }
    void suspend() {
        Thread& self = *running_;
        Fibre::switch_to(self.fibre, host_);
    }
    /// `ordered`: memory whose accesses the meeting orders.
    void meet(Meeting& meeting, SharedMemory* ordered = nullptr) {
        if (meeting.waiting.size() + 1 < meeting.expected) {
            meeting.waiting.push_back(running_);
            suspend();
            return;
        }
        if (ordered != nullptr) ordered->barrier();
        release(meeting);
        yield(); // the last thread to arrive does not run first
    }
    void release(Meeting& meeting) {
        progress_ = true;
        next_.insert(next_.end(), meeting.waiting.begin(), meeting.waiting.end());
        meeting.waiting.clear();
    }
    /// A thread that has returned is not waited for at barriers. An exchange that needs it is an error.
    void leave(const Thread& self) {
        Block& block = blocks_[self.place.block];
        Warp& warp = block.warps[self.place.thread / 32];
        warp.lanes_returned = true;
        if (!failure_ && !warp.meeting.waiting.empty()) failure_ = std::make_exception_ptr(missed_lane());
        Meeting& meeting = block.meeting;
        --meeting.expected;
        if (meeting.expected != 0 && meeting.waiting.size() == meeting.expected) {
            block.shared.barrier();
            release(meeting);
        }
        if (--block.running == 0) end_block(block);
    }
    /// A thread comes to a barrier of its warp, or to an exchange: all threads come to the same.
    static Warp& come(Warp& warp, bool at_barrier) {
        if (warp.lanes_returned) throw missed_lane();
        if (!warp.meeting.waiting.empty() && warp.at_barrier != at_barrier)
            throw std::runtime_error("emulator: a lane exchanges where another waits for its warp");
        warp.at_barrier = at_barrier;
        return warp;
    }
    static std::runtime_error missed_lane() {
        return std::runtime_error("emulator: an exchange with a lane that has returned");
    }
    void check_end() const {
        for (const Thread& thread : threads_)
            if (!thread.returned)
                throw std::runtime_error(
                    fmt::format("emulator: thread {} of block {} waits where not every thread comes",
                                thread.place.thread, thread.place.block));
    }

    Stacks& stacks_;
    Place& place_;
    Entry entry_;
    void** arguments_;
    void (*start_)();
    u32 block_threads_;
    std::vector<Block> blocks_;
    std::vector<Thread> threads_; // the threads that run at a time, and their stacks
    std::vector<Thread*> next_;
    u32 next_block_ = 0;            // the next block to start
    std::vector<std::size_t> free_; // the first thread of each block that has ended
    Thread* running_ = nullptr;
    Fibre host_;
    bool progress_ = false;
    std::exception_ptr failure_;
};

// The running grid: fibres start, and kernels call, without an argument that refers to it.
Grid* grid = nullptr;
Place place;
bool loses_system_stores = false;
auto& prefetches = *new std::vector<Bytes>; // of the last launch; never destroyed: a device's thread may outlive main

void check_access(const void* address, std::size_t bytes) {
    if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0)
        throw std::runtime_error("emulator: a misaligned access of " + std::to_string(bytes) + " bytes");
    if (end_behind_memory(address, bytes))
        throw std::runtime_error("emulator: an access of " + std::to_string(bytes) +
                                 " bytes that ends behind its memory");
}

} // namespace

const Machine& machine() {
    static constexpr Machine table{
        &place,
        [] { grid->barrier(); },
        [](u32 value, u32 lanes) { return grid->shuffle_xor_word(value, lanes); },
        [] { grid->warp_barrier(); },
        [] { grid->yield(); },
        [] { grid->note_store(); },
        [](const void* declaration, std::size_t bytes, std::size_t offset, std::size_t count, Use use) {
            return grid->shared(declaration, bytes, offset, count, use);
        },
        [] { grid->arrive_at_cluster_barrier(); },
        [](u32 cluster) { grid->await_cluster_barrier(cluster); },
        [](u32 cluster, u32 block, const void* declaration, std::size_t bytes, std::size_t offset, std::size_t count,
           Use use) { return grid->shared_of(cluster, block, declaration, bytes, offset, count, use); },
        check_access,
        [](const char* from, const char* to) {
            prefetches.push_back({from, to});
        },
        &loses_system_stores,
    };
    return table;
}

std::span<const Bytes> prefetched() { return prefetches; }

void lose_system_stores(bool lose) { loses_system_stores = lose; }

void launch(Entry entry, void** arguments, u32 blocks, u32 threads, Order order, std::uint64_t seed) {
    if (blocks == 0 || threads == 0 || threads % 32 != 0)
        throw std::runtime_error("emulator: a grid of no blocks, or of blocks that are not whole warps");
    static Stacks& stacks = *new Stacks; // never destroyed: a device's thread may outlive main
    Grid running(stacks, place, entry, arguments, blocks, threads, [] { grid->fibre_main(); });
    struct Current {
        explicit Current(Grid& running) { grid = &running; }
        ~Current() { grid = nullptr; }
    } current(running);
    const FaultHandler faults([] { return grid != nullptr && grid->is_running(); },
                              [](const void* address) { grid->fault(address); });
    prefetches.clear();
    running.run(order, seed);
}

} // namespace gf::emulator
