// Random legal graphs: every map and reduction, every element type, masks, accumulators, broadcasts, permuted inputs,
// scalars, literals, indices, and chains in which reductions meet arrays again.
#pragma once

#include <cstdint>

#include "case.hpp"
#include "coverage.hpp"

namespace gf::oracle {

struct GenerateOptions {
    bool functions = true;              ///< elementary functions (exp, logsumexp …) are allowed
    std::int64_t max_elements = 70'000; ///< most elements of a domain
    int max_steps = 12;                 ///< most rows that are applied
    bool keeps_dims = false;            ///< reductions may fold some dims only
    bool otherwise = true;              ///< reductions may give a number where nothing is folded
};

/// The case of a seed and options. Counts its features in `coverage`.
Case generate(std::uint64_t seed, const GenerateOptions& options, Coverage& coverage);

} // namespace gf::oracle
