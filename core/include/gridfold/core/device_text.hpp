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
std::string_view loads_text();
std::string_view lanes_text();
std::string_view kernel_text();
std::string_view parts_text();
std::string_view combine_text();
std::string_view publish_text();
std::string_view flat_text();

/// All of it, each part behind those that it depends on.
inline std::string device_text() {
    std::string text;
    for (const std::string_view part :
         {prelude_text(), slots_text(), fold_text(), warp_text(), loads_text(), lanes_text(), kernel_text(),
          parts_text(), combine_text(), publish_text(), flat_text()})
        text += part;
    return text;
}

} // namespace gf::detail
