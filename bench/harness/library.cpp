// Storage for each call on each copy, and round trips.
#include "harness/library.hpp"

namespace bench {

namespace {

/// The storage of all calls: `pitch` bytes for each copy, divided among the calls in order.
struct Storage {
    std::vector<std::size_t> offsets, sizes;
    std::size_t pitch = 0;
    std::shared_ptr<std::byte[]> memory{};
};

Storage make_storage(const std::vector<LibraryCall>& calls, int copies) {
    Storage storage;
    for (const LibraryCall& call : calls) {
        std::size_t bytes = 0;
        check(call(nullptr, bytes, 0, nullptr));
        storage.offsets.push_back(storage.pitch);
        storage.sizes.push_back(bytes);
        storage.pitch += (bytes + 256) / 256 * 256; // never null, even if no storage is needed
    }
    storage.memory = device_array<std::byte>(static_cast<std::int64_t>(storage.pitch) * copies);
    return storage;
}

} // namespace

Contender library_contender(std::string name, int copies, const std::vector<LibraryCall>& calls,
                            std::shared_ptr<std::byte[]> results, std::size_t result_bytes) {
    const auto enqueue = [calls, storage = make_storage(calls, copies)](cudaStream_t stream, int copy) {
        std::byte* const base = storage.memory.get() + storage.pitch * static_cast<std::size_t>(copy);
        for (std::size_t i = 0; i < calls.size(); ++i) {
            std::size_t bytes = storage.sizes[i];
            check(calls[i](base + storage.offsets[i], bytes, copy, stream));
        }
    };
    const std::shared_ptr<CUstream_st> stream = make_stream();
    const auto pinned = pinned_array<std::byte>(static_cast<std::int64_t>(result_bytes));
    return {.name = std::move(name), .enqueue = enqueue, .call = [=] {
                enqueue(stream.get(), 0);
                check(cudaMemcpyAsync(pinned.get(), results.get(), result_bytes, cudaMemcpyDeviceToHost, stream.get()));
                check(cudaStreamSynchronize(stream.get()));
            }};
}

} // namespace bench
