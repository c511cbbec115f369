// What a test asks of the emulated device, and makes it do.
#pragma once

#include <cstdint>

namespace gf::emulator {

/// Settings and counts are for while the device has nothing to do.
struct Control {
    // To be set. Calls are counted from 0; looking up an error's words is none.
    long fail_at = -1;           ///< the number of the call that fails; −1 = none
    int fail_with = 2;           ///< its CUresult
    bool fails_for_good = false; ///< and so does every later one: the device is lost
    bool loses_words = false;    ///< kernels run, but what they store for the waiting host does not arrive
    std::uint64_t seed = 1;      ///< of the order of a kernel's threads; GRIDFOLD_EMULATED_SEED at first

    /// Undoes all settings and counts, and what lost the device. Not while it works.
    void (*reset)() = nullptr;
    /// true: what streams are asked for begins only when somebody waits for it, or some time has passed.
    void (*work_late)(bool late) = nullptr;

    // To be read.
    long calls = 0;
    long memory = 0;  ///< device and page-locked allocations that live
    long objects = 0; ///< streams, events, modules, graphs, instantiated graphs and user objects that live
    long allocations = 0, instantiations = 0, updates = 0, compilations = 0, launches = 0, waits = 0; ///< so far
    long overlaps = 0;        ///< edges of graphs along which kernels may overlap, so far
    const char* finding = ""; ///< what the emulator found wrong with a kernel, the first time
};

/// The symbol of the emulated device that gives its Control.
inline constexpr const char* control_symbol = "gridfold_emulated_device";
using ControlFunction = Control* (*)();

} // namespace gf::emulator
