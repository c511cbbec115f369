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

    /// Where that fails, what is in the stream has finished when it throws: nobody could tell later.
    void record(StreamView stream);
    /// Has everything before the last record() finished? True if there was none. Throws DeviceError if it failed.
    bool is_reached() const;
    /// Blocks until it has.
    void wait() const;
    /// Work put in `stream` from now on comes after it.
    void order_before(StreamView stream) const;

private:
    Handle<CUevent_st, detail::release> event_;
};

} // namespace gf
