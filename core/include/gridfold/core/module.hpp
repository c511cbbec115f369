// Loaded kernels, and launching one in a stream.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <gridfold/core/device.hpp>
#include <gridfold/core/handle.hpp>
#include <gridfold/core/stream.hpp>

struct CUmod_st;
struct CUfunc_st;

namespace gf {

/// A kernel of a Module, valid while the Module lives.
struct KernelView {
    CUfunc_st* function = nullptr;
};

/// The driver's facts about a loaded kernel.
struct KernelFacts {
    int registers = 0;   ///< a thread
    int local_bytes = 0; ///< a thread: spilled registers and local arrays
};

namespace detail {
void release(int device, CUmod_st* module) noexcept;
}

/// Owns code loaded on one device.
class Module {
public:
    Module() = default;
    /// `image` is a cubin or PTX. Throws DeviceError if the device cannot run it.
    Module(int device, const std::string& image);

    /// The kernel with this (extern "C") name.
    KernelView kernel(const std::string& name) const;

private:
    Handle<CUmod_st, detail::release> module_;
};

KernelFacts facts_of(KernelView kernel, int device);

/// Lets launches of a kernel have so much dynamic shared memory: needed for more than 48 KiB. At most
/// Device::shared_bytes with the kernel's static shared memory.
void allow_shared_bytes(KernelView kernel, int device, int bytes);

/// Lets a kernel that was compiled for clusters of `blocks` thread blocks be launched with them. False if the device
/// has no room for one such cluster.
bool allow_cluster(KernelView kernel, int device, int blocks, int threads, int shared_bytes);

/// The thread blocks of a kernel that a multiprocessor runs at a time. A cooperative launch has at most so many for
/// each multiprocessor.
int resident_blocks(KernelView kernel, int device, int threads, int shared_bytes);

/// One launch: a one-dimensional grid of one-dimensional blocks. `parameters` holds the
/// address of each parameter's value; addresses and values are read only during the call that takes the Launch.
struct Launch {
    KernelView kernel;
    std::uint32_t blocks = 1;
    std::uint32_t threads = 1;
    void** parameters = nullptr;
    /// The kernel may start while the previous kernel of the stream or graph ends: it waits by itself
    /// (griddepcontrol.wait, in every thread that accesses memory of others). Requires kernels_may_overlap(). Updates
    /// of a GraphExec do not change it.
    bool may_overlap = false;
    std::uint32_t shared_bytes = 0; ///< dynamic shared memory of a block
    /// The thread blocks wait for each other: CUDA starts none before it has room for all, of which there are at most
    /// resident_blocks() for each multiprocessor. Such a kernel does not overlap others. Updates do not change it.
    bool cooperative = false;
};

/// True if a kernel of this device can start while the previous kernel of its stream ends.
bool kernels_may_overlap(const Device& device);

/// Launches in stream order; the device's primary context must be current. Works while the stream is capturing.
void launch(const Launch& what, StreamView stream);

} // namespace gf
