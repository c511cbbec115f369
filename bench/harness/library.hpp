// Contenders from CUB's functions, and others with the same convention for temporary storage.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/contender.hpp"
#include "harness/cuda.hpp"

namespace bench {

/// One call on one copy; with null storage it only returns the bytes of storage that it needs.
using LibraryCall = std::function<cudaError_t(void* storage, std::size_t& storage_bytes, int copy, cudaStream_t)>;

/// Runs the calls in order; `results` holds `result_bytes` for each copy. Each call on each copy has its own zeroed
/// storage, like a Prepared. A round trip copies the results to pinned memory and synchronises.
Contender library_contender(std::string name, int copies, const std::vector<LibraryCall>& calls,
                            std::shared_ptr<std::byte[]> results, std::size_t result_bytes);

/// library_contender() for calls that write one State for each copy; `numbers` converts it to results.
template <class State, class Numbers>
Contender library_contender(std::string name, int copies, const std::vector<LibraryCall>& calls,
                            const std::shared_ptr<State[]>& states, Numbers numbers) {
    Contender contender = library_contender(
        std::move(name), copies, calls,
        std::shared_ptr<std::byte[]>(states, reinterpret_cast<std::byte*>(states.get())), sizeof(State));
    contender.results = [states, numbers](int copy) -> std::vector<double> {
        State state;
        check(cudaMemcpy(&state, states.get() + copy, sizeof state, cudaMemcpyDeviceToHost));
        return numbers(state);
    };
    return contender;
}

} // namespace bench
