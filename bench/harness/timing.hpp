// Times the contenders of a case after checking their results.
#pragma once

#include "harness/contender.hpp"
#include "harness/suite.hpp"

namespace bench {

/// Times captured graphs by events, in turns, for `rounds` rounds: microseconds a call.
Times time_graphs(const Case& made, int rounds, bool keep_l2);

/// Times calls by the host's clock, in turns: the median, and percentiles as the counters p01 … p999.
Times time_calls(const Case& made);

} // namespace bench
