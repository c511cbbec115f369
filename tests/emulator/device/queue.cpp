#include "queue.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace gf::emulator {

std::uint64_t Queue::push(const Stream* stream, Work work, std::uint64_t after) {
    const std::lock_guard lock(mutex_);
    if (!started_) std::thread([this] { run(); }).detach(); // for as long as the process
    started_ = true;
    const bool legacy = stream == nullptr;
    pending_.push_back({++last_, stream, legacy, legacy || stream->blocking, after, std::move(work)});
    changed_.notify_all();
    return last_;
}

bool Queue::is_done(std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    return std::ranges::none_of(pending_, [&](const Item& item) { return item.number == number; });
}

void Queue::wait_for(std::uint64_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(
        lock, [&] { return std::ranges::none_of(pending_, [&](const Item& item) { return item.number == number; }); });
}

void Queue::wait_for_all() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return pending_.empty(); });
}

std::uint64_t Queue::last_of(const Stream* stream) const {
    const std::lock_guard lock(mutex_);
    std::uint64_t last = 0;
    for (const Item& item : pending_)
        if (item.stream == stream || (stream == nullptr && item.blocking)) last = item.number;
    return last;
}

void Queue::seed(std::uint64_t seed) {
    const std::lock_guard lock(mutex_);
    random_.seed(seed);
}

bool Queue::is_ready(const Item& item) const {
    for (const Item& earlier : pending_) {
        if (earlier.number == item.number) return true;
        if (earlier.stream == item.stream || earlier.number == item.after) return false;
        if ((item.legacy && earlier.blocking) || (earlier.legacy && item.blocking)) return false;
    }
    return true;
}

void Queue::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&] { return !pending_.empty(); });
        std::vector<std::uint64_t> ready;
        for (const Item& item : pending_)
            if (is_ready(item)) ready.push_back(item.number);
        const std::uint64_t number = ready[random_() % ready.size()];
        const auto by_number = [&](const Item& item) { return item.number == number; };
        const bool dawdles = random_() % 8 == 0;
        {
            // What work holds may take other locks when it goes: it goes while this one is not held.
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
