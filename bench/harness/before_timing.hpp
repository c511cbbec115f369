// Work that runs on the device just before a timed graph.
#pragma once

#include <cstdint>
#include <memory>

#include <cuda_runtime_api.h>

namespace bench {

class BeforeTiming {
public:
    /// `keep_l2`: does not replace the contents of the L2. Otherwise four times its size of other data is read.
    explicit BeforeTiming(bool keep_l2);
    /// Enqueues the read, and a kernel that waits while the host submits the graph.
    void enqueue(cudaStream_t stream) const;

private:
    std::shared_ptr<std::uint8_t[]> other_; ///< null with keep_l2
    std::int64_t bytes_ = 0;
    std::shared_ptr<std::uint32_t[]> sink_;
};

} // namespace bench
