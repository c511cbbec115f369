// Random legal graphs: every map and reduction, every element type, masks, accumulators, broadcasts, permuted inputs,
// scalars, literals, indices, and chains in which reductions meet arrays again.
#pragma once

#include <cstdint>

#include "case.hpp"
#include "coverage.hpp"

namespace gf::oracle {

/// Where functions may stand whose bits differ between backends (exp, logsumexp …).
enum class Inexact : std::uint8_t {
    never,
    last,     ///< only as outputs, of operands within the row's interval: to be compared within the row's ulps
    anywhere, ///< for backends that call the same libm
};

struct GenerateOptions {
    Inexact inexact = Inexact::anywhere;
    std::int64_t max_elements = 70'000; ///< of the largest domain
    int max_steps = 12;                 ///< rows applied one after the other
};

/// The same case for the same seed and options. Counts what its live nodes reach.
Case generate(std::uint64_t seed, const GenerateOptions& options, Coverage& coverage);

} // namespace gf::oracle
