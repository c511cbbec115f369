// Control of the emulated device by a test: settings and counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gf::emulator {

/// To be used only while the device is idle.
struct Control {
    // Settings. Calls are counted from 0, without those that look up an error's text.
    long fail_at = -1;           ///< the number of the call that fails; −1 = none
    int fail_with = 2;           ///< its CUresult
    bool fails_for_good = false; ///< every later call fails, too: the device is lost
    bool loses_words = false;    ///< words that kernels store for the waiting host are lost
    /// The local memory of loaded kernels, bytes a thread, in the order in which it is asked for; the last one repeats.
    std::array<int, 4> local_bytes{};
    std::size_t local_bytes_asked = 0;
    int most_cluster = 16;   ///< the most thread blocks of a cluster that the device has room for
    int resident_blocks = 8; ///< the thread blocks that a multiprocessor has room for, in cooperative launches
    std::uint64_t seed = 1;  ///< of the order of a kernel's threads; initially GRIDFOLD_EMULATED_SEED

    /// Resets all settings and counts and recovers a lost device. Not while it works.
    void (*reset)() = nullptr;
    /// true: work in streams begins only when a thread waits for it, or after some time.
    void (*work_late)(bool late) = nullptr;

    // Counts.
    long calls = 0;
    long memory = 0;  ///< device and page-locked allocations that live
    long objects = 0; ///< streams, events, modules, graphs, instantiated graphs and user objects that live
    long allocations = 0, instantiations = 0, updates = 0, compilations = 0, launches = 0, waits = 0; ///< so far
    long cooperative_launches = 0, overlaps_of_cooperative = 0; ///< the latter: edges to a cooperative kernel
    long overlaps = 0;        ///< edges of graphs along which kernels may overlap, so far
    const char* finding = ""; ///< the emulator's first finding in a kernel
};

/// The symbol of the function of the emulated device that returns its Control.
inline constexpr const char* control_symbol = "gridfold_emulated_device";
using ControlFunction = Control* (*)();

} // namespace gf::emulator
