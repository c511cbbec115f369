#include "queue.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace gf::emulator {

std::uint64_t Queue::push(const Stream* stream, Work work, std::uint64_t after) {
    const std::lock_guard lock(mutex_);
    if (!started_) std::thread([this] { run(); }).detach(); // runs until the process ends
    started_ = true;
    pending_.push_back(
        {++last_, stream == nullptr ? 0 : stream->id, stream == nullptr || stream->blocking, after, std::move(work)});
    changed_.notify_all();
    return last_;
}

bool Queue::has(std::uint64_t number) const {
    return std::ranges::any_of(pending_, [&](const Item& item) { return item.number == number; });
}

bool Queue::is_done(std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    return !has(number);
}

template <class Done> void Queue::wait_until(Done done) {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all(); // work that begins late begins
    changed_.wait(lock, done);
    --waiting_;
}

void Queue::wait_for(std::uint64_t number) {
    wait_until([&] { return !has(number); });
}

void Queue::wait_for_all() {
    wait_until([&] { return pending_.empty(); });
}

std::uint64_t Queue::last_of(const Stream& stream) const {
    const std::lock_guard lock(mutex_);
    std::uint64_t last = 0;
    for (const Item& item : pending_)
        if (item.stream == stream.id) last = item.number;
    return last;
}

void Queue::begin_anew(std::uint64_t seed) {
    wait_for_all();
    const std::lock_guard lock(mutex_);
    random_.seed(seed);
    late_ = false;
}

void Queue::begin_late(bool late) {
    const std::lock_guard lock(mutex_);
    late_ = late;
}

bool Queue::is_ready(const Item& item) const {
    for (const Item& earlier : pending_) {
        if (earlier.number == item.number) return true;
        if (earlier.stream == item.stream || earlier.number == item.after) return false;
        if ((item.stream == 0 && earlier.blocking) || (earlier.stream == 0 && item.blocking)) return false;
    }
    return true;
}

void Queue::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&] { return !pending_.empty(); });
        if (late_) changed_.wait_for(lock, std::chrono::milliseconds(20), [&] { return waiting_ > 0; });
        std::vector<std::uint64_t> ready;
        for (const Item& item : pending_)
            if (is_ready(item)) ready.push_back(item.number);
        const std::uint64_t number = ready[random_() % ready.size()];
        const auto by_number = [&](const Item& item) { return item.number == number; };
        const bool dawdles = random_() % 8 == 0;
        {
            // Destroying work may take other locks, so it happens while this mutex is unlocked.
            const Work work = std::move(std::ranges::find_if(pending_, by_number)->work);
            lock.unlock();
            if (dawdles) std::this_thread::sleep_for(std::chrono::microseconds(100));
            work();
        }
        lock.lock();
        pending_.erase(std::ranges::find_if(pending_, by_number));
        changed_.notify_all();
    }
}

} // namespace gf::emulator
