// Allocation failures in a fresh process, so that one-time allocations (tables, registries, a loaded compiler, the pool
// of threads) fail, too: each attempt is a forked child, and the parent does no work before.
#pragma once

#include <cstdint>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "fault/allocations.hpp"

namespace gf::fault {

/// Calls `work` in a child with one failing allocation, then again without, for each allocation in turn. `work` throws
/// or returns whether the answer was right; the second call must return true. No allocation of `prepare`, which the
/// child calls first, fails. Returns the number of failed allocations.
template <class Work>
std::uint64_t fail_each_of_a_fresh_process(
    Work&& work, void (*prepare)() = [] {}) {
    constexpr int served_all = 1, other_exception = 2, wrong_answer = 3;
    const auto in_child = [&](std::uint64_t served) {
        alarm(60);
        prepare();
        bool right = false;
        const Outcome outcome = attempt(served, Lack::once, [&] { right = work(); });
        if (!outcome.other.empty()) return other_exception;
        if (!outcome.threw && !right) return wrong_answer;
        try {
            if (!work()) return wrong_answer;
        } catch (...) {
            return other_exception;
        }
        return outcome.lacked ? 0 : served_all;
    };
    for (std::uint64_t served = 0;; ++served) {
        const pid_t child = fork();
        if (child == 0) _exit(in_child(served));
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
        EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status) << " where allocation " << served << " fails";
        EXPECT_EQ(WEXITSTATUS(status), served_all) << "where allocation " << served << " fails";
        return served;
    }
}

} // namespace gf::fault
