// The version of CUB that the contenders are compiled with.
#pragma once

#include <string>

namespace bench {

/// "3.0.1"
std::string cub_version();

} // namespace bench
