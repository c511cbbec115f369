// What the emulated driver's entry points share: the objects behind CUDA's handles, the state of a thread and of
// captures, and the checks with which a call begins.
#pragma once

#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "driver/driver.hpp"
#include "graph.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

// The objects behind CUDA's opaque handles.
struct CUctx_st {};
struct CUstream_st : gf::emulator::Stream {
    gf::emulator::Graph* captured = nullptr; // the graph of a capture in progress
    const gf::emulator::Node* last = nullptr;
    int mode = 0;           // the capture's mode
    std::thread::id thread; // the thread that began the capture
    bool invalid = false;   // a call that the capture forbids was made
};
struct CUevent_st : gf::emulator::Event {};
struct CUfunc_st {
    std::shared_ptr<const gf::emulator::HostModule> module;
};
struct CUmod_st {
    CUfunc_st function;
};
struct CUgraph_st : gf::emulator::Graph {};
struct CUgraphExec_st : gf::emulator::Exec {
    using Exec::Exec;
};

namespace gf::emulator {

inline constexpr int success = 0;
inline constexpr int capture_global = 0;
inline constexpr unsigned most_shared_bytes = 232'448; ///< of a launch
inline constexpr int multiprocessors = 4;

struct ThreadState {
    std::vector<CUctx_st*> contexts; ///< the current one last
    int capture_mode = capture_global;
};
ThreadState& this_thread();

/// The streams that are being captured. Guarded by Device::mutex.
std::vector<CUstream_st*>& capturing();
/// Removes a stream from capturing() and returns it.
CUstream_st* end_capture(CUstream_st* stream);

inline Device& device() { return Device::the(); }
inline Control& control() { return device().control; }
inline std::lock_guard<std::recursive_mutex> locked() { return std::lock_guard(device().mutex); }

/// Counts a call that can fail, and returns its outcome. Called before the call has any effect.
int gate();
/// gate() for calls that need a current context.
int gate_in_context();
/// gate_in_context() for calls that are unsafe during a capture, unless the capture's mode or this thread's allows
/// them.
int gate_unsafe();
/// gate() for calls on a stream, which must not be one that is captured. Null, the legacy default stream, needs a
/// context and must not wait for a captured stream.
int gate_of(const CUstream_st* stream);

/// Counts a new object and stores its handle.
template <class Object> int keep(Object** to, Object* made) {
    const auto lock = locked();
    ++control().objects;
    return *to = made, success;
}
/// Destroys the object even if the call fails; returns the outcome.
template <class Object> int destroy(Object* object) {
    if (in_destroy()) return not_permitted;
    const int code = gate();
    delete object;
    const auto lock = locked();
    --control().objects;
    return code;
}

/// Sets `call` with copies of the arguments.
int to_call(CUfunc_st* function, unsigned blocks, unsigned threads, void** parameters, KernelCall& call);
/// The outcome of a call that launches, or will launch: a cooperative grid must not be larger than the device.
int check_room(const KernelCall& call);

/// Counts a call that waits.
void count_wait();

} // namespace gf::emulator
