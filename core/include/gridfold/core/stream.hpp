// CUDA streams: a view of the caller's. Works on machines without CUDA: a view is just a handle.
#pragma once

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
    /// Was a stream given? (A null stream that was given is the legacy default stream.)
    constexpr explicit operator bool() const noexcept { return set_; }

private:
    CUstream_st* stream_ = nullptr;
    bool set_ = false;
};

} // namespace gf
