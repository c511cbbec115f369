// Cases as entries of a Suite, in the two ways that work is timed.
//
// graph: a CUDA Graph a contender, captured from as many calls as there are copies of the input (as many as fit into
//        1 GiB; 1 to 64), timed by events. Contenders take turns, for 15 rounds (9 from 256 MiB on). Each graph starts
//        with an L2 that other data fills, unless Settings say otherwise, so that every call finds its input and its
//        workspace cold; and it is launched behind a kernel that waits, so that no time of the host is in it.
// call:  the host's clock, from the call until the result is in the host's hands, on one input that stays where it is.
//        Contenders take turns in batches; reported are percentiles.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/contender.hpp"
#include "harness/suite.hpp"

namespace bench {

/// What a case is, beside its name.
struct CaseFacts {
    std::string workload, type;
    std::int64_t bytes; ///< of the inputs that one call reads
    std::int64_t elements;
    std::vector<std::string> contenders;
    double writes = 0; ///< bytes that one call writes, as a multiple of those it reads
    double extra = 0;  ///< device memory beside the inputs, as a multiple of theirs
};

/// Adds to the case the contenders that it wants, each with what its results must be.
using Make = std::function<void(Case&)>;

Spec graph_case(CaseFacts facts, Make make);
Spec call_case(CaseFacts facts, Make make);

/// Powers of two, 2^first … 2^last, every `step`-th.
std::vector<std::int64_t> powers_of_two(int first, int last, int step = 1);

} // namespace bench
