// Random legal graphs: every map and reduction, every element type, masks, accumulators, broadcasts, permuted inputs,
// scalars, literals, indices, and chains in which reductions meet arrays again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "case.hpp"

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

/// How often each thing was reached: rows ("map add", "reduce sum"), compute and element types, masks …
using Coverage = std::map<std::string, int, std::less<>>;

/// The same case for the same seed and options. Counts what its live nodes reach.
Case generate(std::uint64_t seed, const GenerateOptions& options, Coverage& coverage);

/// What the tables and the generator promise to reach and `coverage` lacks; to be empty after a CI run.
std::vector<std::string> missing(const Coverage& coverage, const GenerateOptions& options);

/// The coverage, a line for each kind.
std::string to_text(const Coverage& coverage);

} // namespace gf::oracle
