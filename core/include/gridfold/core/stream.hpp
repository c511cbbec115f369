// CUDA streams: a view, an owner, and asynchronous copies. The view is a plain handle and works on machines without
// CUDA.
#pragma once

#include <cstddef>

#include <gridfold/core/handle.hpp>

struct CUstream_st;

namespace gf {

/// A caller's CUDA stream: constructible from cudaStream_t and CUstream, which are the same type. The default value
/// is "no stream": work is ordered after the legacy default stream.
class StreamView {
public:
    constexpr StreamView() = default;
    constexpr StreamView(CUstream_st* stream) // NOLINT(google-explicit-constructor): as CUDA's own APIs take it
        : stream_(stream), set_(true) {}
    constexpr CUstream_st* get() const noexcept { return stream_; }
    /// True if a stream was given. (A given null stream is the legacy default stream.)
    constexpr explicit operator bool() const noexcept { return set_; }

private:
    CUstream_st* stream_ = nullptr;
    bool set_ = false;
};

/// Whether a stream and the legacy default stream wait for each other.
enum class StreamKind { ordered_with_default, independent };

namespace detail {
void release(int device, CUstream_st* stream) noexcept;
}

/// Owns a stream on one device.
class Stream {
public:
    Stream() = default;
    Stream(int device, StreamKind kind);

    operator StreamView() const noexcept {
        return stream_.get();
    } // NOLINT(google-explicit-constructor): an owner is a view
    /// Blocks until all its work has finished. Throws DeviceError if any work failed.
    void wait() const;

private:
    Handle<CUstream_st, detail::release> stream_;
};

// Asynchronous, in stream order; the device's primary context must be current. Host memory must stay valid until the
// copy is done; if it is not page-locked, the driver may copy it at once.
void copy_to_device(void* to, const void* from, std::size_t bytes, StreamView stream);
void copy_to_host(void* to, const void* from, std::size_t bytes, StreamView stream);
void fill_bytes(void* to, unsigned char byte, std::size_t bytes, StreamView stream);

} // namespace gf
