// Times the contenders of a case, after each one's results were found right.
#pragma once

#include "harness/contender.hpp"
#include "harness/suite.hpp"

namespace bench {

/// By events around captured graphs, in turns, `rounds` times: microseconds a call.
Times time_graphs(const Case& made, int rounds, bool keep_l2);

/// By the host's clock, in turns: the median, and percentiles as the counters p01 … p999.
Times time_calls(const Case& made);

} // namespace bench
