// Stream capture: ownership for work that a caller's stream records into a graph instead of running.
#pragma once

#include <memory>

#include <gridfold/core/stream.hpp>

namespace gf {

/// True if the stream is recording its work into a graph.
bool is_capturing(StreamView stream);

/// Makes the graph that `stream` is being captured into, and every graph instantiated or cloned from it, an owner of
/// `object`. The last owner releases it on a thread where CUDA may not be called, so release_retired() destroys it
/// later. Throws DeviceError if the stream is not capturing.
void give_to_captured_graph(StreamView stream, std::shared_ptr<void> object);

/// Destroys the objects that captured graphs have released. Call it where CUDA calls are allowed. Thread-safe.
void release_retired() noexcept;

} // namespace gf
