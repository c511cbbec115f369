// A progress line on a terminal.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace gf::tool {

/// While it lives, after one second: if stderr is a terminal, shows the current step and its time. Removes the line at
/// the end.
class Progress {
public:
    explicit Progress(std::string doing);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress();
    /// Sets the current step.
    void now(std::string doing);

private:
    void show();
    std::mutex mutex_;
    std::condition_variable ended_;
    bool end_ = false;
    std::string doing_;
    std::thread thread_;
};

} // namespace gf::tool
