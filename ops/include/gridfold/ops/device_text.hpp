// The text of device/monoid.cuh, as it was when the library was built, without its `#pragma once` line. Internal:
// backends and tests read it.
#pragma once

#include <string_view>

namespace gf::detail {

std::string_view monoid_text();

} // namespace gf::detail
