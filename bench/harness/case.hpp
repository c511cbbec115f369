// Cases as entries of a Suite, timed in one of two modes.
//
// graph: one CUDA Graph a contender, captured from one call for each copy of the input (1 to 64 copies, within 1 GiB)
//        and timed by events. Contenders take turns, for 15 rounds (9 from 256 MiB on). Unless Settings say otherwise,
//        other data fills the L2 before each graph, so that every call finds its input and its workspace cold. A kernel
//        that waits precedes the graph, so that the time contains no time of the host.
// call:  the host's clock, from the call until the host has the result, on one input. Contenders take turns in batches;
//        percentiles are reported.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/contender.hpp"
#include "harness/suite.hpp"

namespace bench {

/// The facts about a case.
struct CaseFacts {
    std::string workload, type;
    std::int64_t bytes; ///< bytes of the inputs that one call reads
    std::int64_t elements;
    std::vector<std::string> contenders;
    double writes = 0; ///< bytes that one call writes, as a multiple of those it reads
    double extra = 0;  ///< device memory besides the inputs, as a multiple of theirs
};

/// Adds the wanted contenders to a case, each with its expected results.
using Make = std::function<void(Case&)>;

Spec graph_case(CaseFacts facts, Make make);
Spec call_case(CaseFacts facts, Make make);

/// Powers of two, 2^first … 2^last, every `step`-th.
std::vector<std::int64_t> powers_of_two(int first, int last, int step = 1);

} // namespace bench
