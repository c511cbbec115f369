// What runs on the device just before a timed graph.
#pragma once

#include <cstdint>
#include <memory>

#include <cuda_runtime_api.h>

namespace bench {

class BeforeTiming {
public:
    /// `keep_l2`: leave in the L2 what is there. Otherwise four times its size of other data is read.
    explicit BeforeTiming(bool keep_l2);
    /// Puts that reading, and a kernel that waits while the host submits the graph, into the stream.
    void enqueue(cudaStream_t stream) const;

private:
    std::shared_ptr<std::uint8_t[]> other_; ///< null where the L2 is kept
    std::int64_t bytes_ = 0;
    std::shared_ptr<std::uint32_t[]> sink_;
};

} // namespace bench
