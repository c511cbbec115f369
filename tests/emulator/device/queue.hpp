// Streams and events: what was asked of each stream is done in its order, by one thread; among the streams the order is
// drawn.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>

namespace gf::emulator {

struct Stream {
    bool blocking = true; ///< is in order with the legacy default stream
    std::uint64_t id = next_id();
    static std::uint64_t next_id() { // from 1 on: others may get the address of one that was destroyed
        static std::atomic<std::uint64_t> last = 0;
        return ++last;
    }
};
struct Event {
    std::uint64_t recorded = 0; ///< the number of the work after which it is reached; 0 = none
};

class Queue {
public:
    using Work = std::function<void()>;

    /// Work is numbered from 1 in the order in which it is asked for. `stream` null: the legacy default stream, which
    /// is in order with all blocking ones. `after`: work that must be done before. Starts the thread at the first call.
    std::uint64_t push(const Stream* stream, Work work, std::uint64_t after = 0);
    bool is_done(std::uint64_t number) const;
    void wait_for(std::uint64_t number);
    void wait_for_all();
    /// The last work asked of a stream; 0 if all of it is done.
    std::uint64_t last_of(const Stream& stream) const;
    /// Waits for all work; the next orders are drawn from `seed`, and work begins when it can.
    void begin_anew(std::uint64_t seed);
    /// true: work begins only when somebody waits, or some time has passed.
    void begin_late(bool late);

private:
    struct Item {
        std::uint64_t number;
        std::uint64_t stream; // its id; 0: the legacy default stream
        bool blocking;        // of the stream, which may be destroyed before
        std::uint64_t after;
        Work work;
    };
    bool has(std::uint64_t number) const;
    template <class Done> void wait_until(Done done);
    bool is_ready(const Item& item) const;
    void run();

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Item> pending_; // in the order of their numbers; what runs is among them
    std::uint64_t last_ = 0;
    std::mt19937_64 random_;
    bool started_ = false, late_ = false;
    int waiting_ = 0; // threads
};

} // namespace gf::emulator
