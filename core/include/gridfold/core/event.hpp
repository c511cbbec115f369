// A CUDA event: a point in a stream that the host or another stream can wait for.
#pragma once

#include <gridfold/core/handle.hpp>
#include <gridfold/core/stream.hpp>

struct CUevent_st;

namespace gf {

namespace detail {
void release(int device, CUevent_st* event) noexcept;
}

/// Records no times. The device's primary context must be current for every call but the destructor.
class Event {
public:
    Event() = default;
    explicit Event(int device);

    /// If recording fails, waits for the stream before it throws: without the event nothing else could.
    void record(StreamView stream);
    /// True if all work before the last record(), if any, has finished. Throws DeviceError if that work failed.
    bool is_reached() const;
    /// Blocks until is_reached().
    void wait() const;
    /// Work submitted to `stream` from now on runs after the event.
    void order_before(StreamView stream) const;

private:
    Handle<CUevent_st, detail::release> event_;
};

} // namespace gf
