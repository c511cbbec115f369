// Being captured: what a library must do when the stream that it is handed records a graph instead of running.
#pragma once

#include <memory>

#include <gridfold/core/stream.hpp>

namespace gf {

/// Is the stream recording its work into a graph?
bool is_capturing(StreamView stream);

/// Makes the graph that `stream` is being captured into, and every graph instantiated or cloned from it, an owner of
/// `object`. The last of them lets go on a thread where CUDA may not be called: the object then waits for
/// release_retired(). Throws DeviceError if the stream is not capturing.
void give_to_captured_graph(StreamView stream, std::shared_ptr<void> object);

/// Destroys what captured graphs have let go of. Call it now and then where CUDA calls are allowed. Thread-safe.
void release_retired() noexcept;

} // namespace gf
