#include "cuda/staging.hpp"

#include <algorithm>
#include <cstring>

namespace gf::cuda {

Staging::Staging(int device, std::size_t largest_array) {
    const std::size_t bytes = std::clamp<std::size_t>(largest_array, 1, largest_chunk);
    for (Chunk& chunk : chunks_) chunk = {PinnedBuffer(device, bytes), Event(device)};
}

template <class Fill>
void Staging::fill_device(void* to, std::size_t bytes, std::size_t most, StreamView stream, Fill fill) {
    for (std::size_t at = 0; at < bytes; at += most) {
        Chunk& chunk = next_chunk();
        const std::size_t count = std::min(most, bytes - at);
        chunk.done.wait(); // defect: copied
        fill(chunk.memory.address(), at, count);
        copy_to_device(static_cast<std::byte*>(to) + at, chunk.memory.address(), count, stream);
        chunk.done.record(stream);
    }
}

void Staging::to_device(void* to, const void* from, std::size_t bytes, StreamView stream) {
    fill_device(to, bytes, chunk_bytes(), stream, [&](void* chunk, std::size_t at, std::size_t count) {
        std::memcpy(chunk, static_cast<const std::byte*>(from) + at, count);
    });
}

void Staging::gather_to_device(void* to, const void* from, std::size_t element_bytes, const Walk& walk,
                               std::size_t count, StreamView stream) {
    const std::size_t whole = chunk_bytes() / element_bytes * element_bytes;
    fill_device(to, count * element_bytes, whole, stream, [&](void* chunk, std::size_t at, std::size_t bytes) {
        const auto first = static_cast<std::int64_t>(at / element_bytes); // defect: gathered chunk
        gather(chunk, from, element_bytes, walk, first, bytes / element_bytes);
    });
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
