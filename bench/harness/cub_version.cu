// Compiled by nvcc, which knows where CUB's headers are.
#include "harness/cub_version.hpp"

#include <cub/version.cuh>

namespace bench {

std::string cub_version() {
    return std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." +
           std::to_string(CUB_SUBMINOR_VERSION);
}

} // namespace bench
