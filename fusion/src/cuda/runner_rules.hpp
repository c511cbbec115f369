// What a runner of one problem and a runner of many hold to.
#pragma once

#include <gridfold/core/capture.hpp>
#include <gridfold/core/device.hpp>
#include <gridfold/core/error.hpp>
#include <gridfold/core/event.hpp>

namespace gf::cuda {

/// run() waits, which a stream that is being captured cannot.
inline void refuse_captured_run(StreamView stream) {
    if (stream && is_capturing(stream))
        throw InvalidGraph("run() waits for its results, and the stream is being captured: use enqueue()");
}

inline void refuse_captured_host_arrays(bool has_host_arrays) {
    if (has_host_arrays)
        throw InvalidGraph(
            "a run with host arrays cannot be captured: a graph would copy what they hold now; bind device arrays");
}

/// For destructors: the launch under way uses what is about to be freed.
inline void wait_before_release(int device, const Event& done) noexcept {
    try {
        const CurrentDevice current(device);
        done.wait();
    } catch (...) { // a device that cannot be waited for runs nothing
    }
    release_retired();
}

} // namespace gf::cuda
