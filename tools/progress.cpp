// A separate thread updates the line, because the steps block.
#include "progress.hpp"

#include <chrono>
#include <cstdio>

#include <unistd.h>

#include <fmt/format.h>

namespace gf::tool {

Progress::Progress(std::string doing) : doing_(std::move(doing)) {
    if (isatty(STDERR_FILENO) != 0) thread_ = std::thread([this] { show(); });
}

Progress::~Progress() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        end_ = true;
    }
    ended_.notify_one();
    thread_.join();
}

void Progress::now(std::string doing) {
    const std::lock_guard lock(mutex_);
    doing_ = std::move(doing);
}

void Progress::show() {
    using namespace std::chrono_literals;
    const auto start = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    bool shown = false;
    for (auto pause = 1000ms; !ended_.wait_for(lock, pause, [this] { return end_; }); pause = 200ms) {
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
        fmt::print(stderr, "\r\x1b[K{} {:.1f} s", doing_, elapsed.count());
        std::fflush(stderr);
        shown = true;
    }
    if (!shown) return;
    fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
}

} // namespace gf::tool
