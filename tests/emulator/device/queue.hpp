// Streams and events: one thread does the work of all streams, each stream's in its order; the order among streams is
// random.
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
    bool blocking = true; ///< ordered with the legacy default stream
    std::uint64_t id = next_id();
    static std::uint64_t next_id() { // from 1 on; unlike addresses, ids are not reused
        static std::atomic<std::uint64_t> last = 0;
        return ++last;
    }
};
struct Event {
    std::uint64_t recorded = 0; ///< the number of the work that reaches it; 0 = none
};

class Queue {
public:
    using Work = std::function<void()>;

    /// Appends work to a stream and returns its number, from 1 on. `stream` null: the legacy default stream, which is
    /// ordered with all blocking ones. `after`: work that must be done before. The first call starts the thread.
    std::uint64_t push(const Stream* stream, Work work, std::uint64_t after = 0);
    bool is_done(std::uint64_t number) const;
    void wait_for(std::uint64_t number);
    void wait_for_all();
    /// The number of a stream's last work; 0 if all of it is done.
    std::uint64_t last_of(const Stream& stream) const;
    /// Waits for all work. Later orders are drawn from `seed`, and begin_late(false).
    void begin_anew(std::uint64_t seed);
    /// true: work begins only when a thread waits for it, or after some time.
    void begin_late(bool late);

private:
    struct Item {
        std::uint64_t number;
        std::uint64_t stream; // its id; 0: the legacy default stream
        bool blocking;        // copied from the stream, which may be destroyed before
        std::uint64_t after;
        Work work;
    };
    bool has(std::uint64_t number) const;
    template <class Done> void wait_until(Done done);
    bool is_ready(const Item& item) const;
    void run();

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Item> pending_; // in the order of their numbers, including the running one
    std::uint64_t last_ = 0;
    std::mt19937_64 random_;
    bool started_ = false, late_ = false;
    int waiting_ = 0; // threads
};

} // namespace gf::emulator
