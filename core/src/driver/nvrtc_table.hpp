// The table of NVRTC's entry points.
#pragma once

#include <cstddef>
#include <string>

#include <gridfold/core/nvrtc.hpp>

#include "driver/driver.hpp"

struct _nvrtcProgram;

namespace gf::nvrtc {

inline constexpr int success = 0;
inline constexpr int compilation_failed = 6;

struct Table {
    const char* (*error_string)(int code) = nullptr; ///< nvrtcGetErrorString
#define NVRTC(member, symbol, parameters) driver::Entry<int parameters> member{#symbol};
#include "driver/nvrtc.def"
#undef NVRTC
};

/// A loaded compiler, or the reason why none is loaded.
struct Compiler {
    Table table;
    bool usable = false;
    Identity identity;
    std::string reason;
};

/// Looks for a compiler as nvrtc.hpp says; `chosen` is GRIDFOLD_NVRTC's value or null. `newest_major` 0 = any.
Compiler load(const char* chosen, int newest_major);

} // namespace gf::nvrtc
