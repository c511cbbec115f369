#include <gridfold/core/version.hpp>

namespace gf {

std::string_view version() noexcept { return GRIDFOLD_VERSION_STRING; }

} // namespace gf
