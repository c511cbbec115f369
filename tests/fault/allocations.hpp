// Allocation failures: a binary that links allocations.cpp counts its C++ allocations, and a test can make any of them
// fail. malloc() is not affected.
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <string>

#include <gtest/gtest.h>

#include <gridfold/core/error.hpp>

namespace gf::fault {

/// The allocations of all threads that were not freed.
std::int64_t live_allocations();
/// The allocations of all threads so far.
std::uint64_t allocation_count();

enum class Lack : std::uint8_t {
    once,    ///< one allocation fails, the next one succeeds
    from_now ///< one allocation and all later ones fail
};
/// Lets `served` allocations of any thread succeed; the next one fails.
void fail_after(std::uint64_t served, Lack lack);
/// Stops failing allocations. True if one failed.
bool stop_failing();

/// The outcome of an attempt in which an allocation may have failed.
struct Outcome {
    bool lacked = false;    ///< an allocation failed
    bool threw = false;     ///< std::bad_alloc or a gf::Error
    std::string other = {}; ///< another exception
};

/// Calls `work` while the allocation after `served` fails.
template <class Work> Outcome attempt(std::uint64_t served, Lack lack, Work&& work) {
    Outcome outcome;
    fail_after(served, lack);
    try {
        work();
    } catch (const std::bad_alloc&) {
        outcome.threw = true;
    } catch (const Error&) {
        outcome.threw = true;
    } catch (const std::exception& error) {
        stop_failing();
        outcome.other = error.what();
    } catch (...) {
        stop_failing();
        outcome.other = "something that is no std::exception";
    }
    outcome.lacked = stop_failing();
    return outcome;
}

inline constexpr Lack every_lack[]{Lack::once, Lack::from_now};

/// Calls `work` with each of its allocations failing in turn, until it succeeds. After each failure `holds` checks that
/// the state is unchanged. No call may throw another exception. Returns the number of failed allocations.
template <class Work, class Holds> std::uint64_t fail_each(Lack lack, Work&& work, Holds&& holds) {
    for (std::uint64_t served = 0;; ++served) {
        const Outcome outcome = attempt(served, lack, work);
        EXPECT_EQ(outcome.other, "") << "where allocation " << served << " fails";
        if (!outcome.lacked) {
            EXPECT_FALSE(outcome.threw) << "with all the memory it asks for";
            return served;
        }
        holds();
        if (::testing::Test::HasFailure()) {
            ADD_FAILURE() << "after allocation " << served << " failed";
            return served;
        }
    }
}

/// fail_each() for work that keeps nothing: no call may leak, and the work succeeds after each failure.
template <class Work> std::uint64_t fail_each(Work&& work) {
    work(); // one-time allocations of the process
    std::uint64_t failed = 0;
    for (const Lack lack : every_lack) {
        const std::int64_t before = live_allocations();
        failed += fail_each(lack, work, [&] {
            const std::int64_t after = live_allocations();
            EXPECT_EQ(after, before) << "leaked";
            work();
        });
    }
    return failed;
}

} // namespace gf::fault
