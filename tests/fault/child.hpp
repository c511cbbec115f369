// A child process for tests that can run only once in a process: a fork, which ends without the parent's exit handlers.
#pragma once

#include <cstdio>
#include <exception>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace gf::fault {

/// Expects `work`, called in a forked child, to return true within a minute. gtest's expectations in the child are
/// lost.
template <class Work> void expect_in_child(Work&& work) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        alarm(60);
        try {
            _exit(work() ? 0 : 1);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "in the child: %s\n", error.what());
        }
        _exit(2);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "it ended by signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0) << "1: it returned false; 2: an exception";
}

} // namespace gf::fault
