// A line on a terminal that says what takes long.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace gf::tool {

/// While it lives: once a second has passed, shows on stderr, if that is a terminal, what is being done and for how
/// long. Removes its line when it ends.
class Progress {
public:
    explicit Progress(std::string doing);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress();
    /// What is being done now.
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
