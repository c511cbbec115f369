// Copies between ordinary host memory and the device through two page-locked chunks: one is transferred while the other
// is filled or emptied.
#pragma once

#include <array>
#include <cstddef>

#include <gridfold/core/buffer.hpp>
#include <gridfold/core/event.hpp>
#include <gridfold/core/gather.hpp>
#include <gridfold/core/stream.hpp>

namespace gf::cuda {

class Staging {
public:
    static constexpr std::size_t largest_chunk = std::size_t{4} << 20;

    /// Sized for arrays of at most `largest_array` bytes; larger ones are copied in more chunks.
    Staging(int device, std::size_t largest_array);

    std::size_t chunk_bytes() const noexcept { return chunks_[0].memory.bytes(); }
    /// Reads `from` before it returns; writes `to` in stream order.
    void to_device(void* to, const void* from, std::size_t bytes, StreamView stream);
    /// Gathers the `count` elements that `walk` visits from `from` on into contiguous memory; else as to_device().
    void gather_to_device(void* to, const void* from, std::size_t element_bytes, const Walk& walk, std::size_t count,
                          StreamView stream);
    /// Reads `from` in stream order; returns when `to` is filled.
    void to_host(void* to, const void* from, std::size_t bytes, StreamView stream);

private:
    struct Chunk {
        PinnedBuffer memory;
        Event done; // the end of the last copy that used it
    };
    /// Fills `to` with `bytes` bytes, at most `most` at a time: `fill(chunk, at, count)` writes `count` of them, from
    /// number `at` on, into a chunk.
    template <class Fill> void fill_device(void* to, std::size_t bytes, std::size_t most, StreamView stream, Fill fill);
    Chunk& next_chunk() noexcept { return chunks_[turn_ ^= 1]; }
    std::array<Chunk, 2> chunks_;
    std::size_t turn_ = 0;
};

} // namespace gf::cuda
