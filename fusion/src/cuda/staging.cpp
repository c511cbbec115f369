#include "cuda/staging.hpp"

#include <algorithm>
#include <cstring>

namespace gf::cuda {

Staging::Staging(int device, std::size_t largest_array) {
    const std::size_t bytes = std::clamp<std::size_t>(largest_array, 1, largest_chunk);
    for (Chunk& chunk : chunks_) chunk = {PinnedBuffer(device, bytes), Event(device)};
}

void Staging::to_device(void* to, const void* from, std::size_t bytes, StreamView stream) {
    for (std::size_t at = 0; at < bytes; at += chunk_bytes()) {
        Chunk& chunk = next_chunk();
        const std::size_t count = std::min(chunk_bytes(), bytes - at);
        chunk.done.wait(); // defect: copied
        std::memcpy(chunk.memory.address(), static_cast<const std::byte*>(from) + at, count);
        copy_to_device(static_cast<std::byte*>(to) + at, chunk.memory.address(), count, stream);
        chunk.done.record(stream);
    }
}

void Staging::to_host(void* to, const void* from, std::size_t bytes, StreamView stream) {
    const auto count_at = [&](std::size_t at) { return std::min(chunk_bytes(), bytes - at); };
    const auto fetch = [&](std::size_t at) {
        Chunk& chunk = next_chunk();
        chunk.done.wait();
        copy_to_host(chunk.memory.address(), static_cast<const std::byte*>(from) + at, count_at(at), stream);
        chunk.done.record(stream);
        return &chunk;
    };
    Chunk* chunk = bytes != 0 ? fetch(0) : nullptr;
    for (std::size_t at = 0; at < bytes; at += chunk_bytes()) {
        Chunk* following = at + chunk_bytes() < bytes ? fetch(at + chunk_bytes()) : nullptr;
        chunk->done.wait(); // defect: filled
        std::memcpy(static_cast<std::byte*>(to) + at, chunk->memory.address(), count_at(at));
        chunk = following;
    }
}

} // namespace gf::cuda
