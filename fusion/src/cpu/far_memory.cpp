#include "cpu/far_memory.hpp"

#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>

namespace gf::cpu {

namespace {

bool waits_long_for_memory() {
#if defined(__x86_64__)
    return __builtin_cpu_is("intel") != 0;
#else
    return false;
#endif
}

} // namespace

FarMemory far_memory(InstructionSet set) {
    const char* const name = std::getenv("GRIDFOLD_FAR_MEMORY");
    const std::string_view chosen = name == nullptr ? "" : name;
    if (chosen.empty()) return {waits_long_for_memory() ? stream_kernel(set) : nullptr, least_uncached_bytes};
    if (chosen != "none" && chosen != "all")
        throw InvalidOption(fmt::format("GRIDFOLD_FAR_MEMORY={}", chosen), "it names arrays: none or all",
                            "set it to none or all, or unset it");
    return {chosen == "all" ? stream_kernel(set) : nullptr, 0};
}

} // namespace gf::cpu
