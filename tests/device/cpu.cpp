#include "device_under_test.hpp"

namespace gf::test {

const char* const device_under_test = "cpu";

} // namespace gf::test
