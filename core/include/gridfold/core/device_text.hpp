// The text of device/*.cuh, as it was when the library was built, without its `#pragma once` lines: what generated
// kernels are made of. Internal: backends and tests read it.
#pragma once

#include <string_view>

namespace gf::detail {

std::string_view prelude_text();
std::string_view warp_text();
std::string_view block_text();
std::string_view grid_text();
std::string_view sweep_text();

} // namespace gf::detail
