// The text of device/*.cuh, as it was when the library was built, without its `#pragma once` lines: what generated
// kernels are made of. Internal: backends and tests read it.
#pragma once

#include <string>
#include <string_view>

namespace gf::detail {

std::string_view prelude_text();
std::string_view slots_text();
std::string_view fold_text();
std::string_view warp_text();
std::string_view block_text();
std::string_view grid_text();
std::string_view sweep_text();

/// All of it, each part behind those that it depends on.
inline std::string device_text() {
    std::string text;
    for (const std::string_view part :
         {prelude_text(), slots_text(), fold_text(), warp_text(), block_text(), grid_text(), sweep_text()})
        text += part;
    return text;
}

} // namespace gf::detail
