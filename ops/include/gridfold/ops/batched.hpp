// The same graph for many problems at once: over one more dim, in front of all others. (Elsewhere it is called vmap.)
//
//     Graph g = parse("f(x: f32[n], w: f32[n], limit: f32) -> y = x * w, hot = sum(x where x > limit)");
//     Graph b = batched(g, "problem", {"x", "limit"});
//     // f(x: f32[problem, n], w: f32[n], limit: f32[problem]) -> y: f32[problem, n], hot: f32[problem]
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <gridfold/ops/graph.hpp>

namespace gf {

/// `graph` over the new dim `dim`, which comes first in its order. The inputs `names` vary along it: an array gets the
/// dim in front, a run-time scalar becomes an array over it. All other inputs are shared by the problems. What depends
/// on a varying input varies; a reduction folds what it folded, and keeps the dim. All outputs get the dim in front,
/// also those of shared values; a scalar output becomes an array over it.
///
/// The results of a problem have the bits, and the empty elements, that `graph` gives for it alone, whatever the other
/// problems are and however many.
///
/// InvalidGraph if `graph` has a dim of that name, if a name is not an input's, or if a value that varies, or a shared
/// one that is an output or is folded under a mask that varies, has max_rank dims already.
Graph batched(const Graph& graph, std::string_view dim, const std::vector<std::string>& names);

} // namespace gf
