// The threads of a run.
#pragma once

#include <cstdint>

#include <omp.h>

#include "host_kernels/floating_mode.hpp"

namespace gf::cpu {

/// True if this process may start threads. Not after fork(): OpenMP runtimes hang in the child.
bool may_start_threads();

/// Calls work(i), i < count, on up to `threads` threads, or on the caller's alone.
template <class Work> void on_threads(std::int64_t count, int threads, const Work& work) {
    if (count == 1 || !may_start_threads()) {
        for (std::int64_t i = 0; i < count; ++i) work(i);
        return;
    }
    // Always all threads: for a smaller team libgomp would end the others, and start them again later.
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (std::int64_t i = 0; i < count; ++i) {
        const FloatingMode mode_of_thread; // defect: mode
        work(i);
    }
}

} // namespace gf::cpu
