// The text of the parts of device/monoid.cuh, as it was when the library was built, without `#pragma once` lines.
// Internal, for backends and tests.
#pragma once

#include <string_view>

namespace gf::detail {

std::string_view counts_text();
std::string_view ends_text();
std::string_view extremes_text();
std::string_view log_sum_exp_text();
std::string_view moments_text();
std::string_view ranks_text();
std::string_view sums_text();

} // namespace gf::detail
