// Random legal graphs: every map and reduction, every element type, masks, accumulators, broadcasts, permuted inputs,
// scalars, literals, indices, and chains in which reductions meet arrays again.
#pragma once

#include <cstdint>

#include "case.hpp"
#include "coverage.hpp"

namespace gf::oracle {

/// The allowed places of functions whose bits differ between backends (exp, logsumexp …).
enum class Inexact : std::uint8_t {
    never,
    last,     ///< only outputs, with operands in the row's interval: results can be compared within the row's ulps
    anywhere, ///< everywhere, for backends that call the same libm
};

struct GenerateOptions {
    Inexact inexact = Inexact::anywhere;
    std::int64_t max_elements = 70'000; ///< most elements of a domain
    int max_steps = 12;                 ///< most rows that are applied
};

/// The case of a seed and options. Counts its features in `coverage`.
Case generate(std::uint64_t seed, const GenerateOptions& options, Coverage& coverage);

} // namespace gf::oracle
