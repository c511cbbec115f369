// Which values may be empty: no element contributed to them, and their type has no NaN to say so.
//
// A reduction is empty where its mask accepts nothing, or `largest` no more elements than its rank, unless it has an
// `otherwise`. A map or cast is empty where an operand with the same dims is; select where its condition or the operand
// that it chooses is. An operand that is broadcast counts as 0 where it is empty (floating: NaN), and so does an
// element that is folded. `choose` is a select whose operands pass emptiness on where they are broadcast, too: so are
// values put side by side (top_k).
#pragma once

#include <cstddef>

#include <gridfold/core/id.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf {

/// The number of elements, besides the first, that a reduction needs for a result: the rank of `largest`.
int rank_of(const Node& reduce);

/// True if a reduction has no value of its own where its mask accepts too few elements, or it folds too few. (For a
/// first element, an extent without one is refused when arrays are bound.)
bool is_undefined_over_nothing(const Node& reduce);

/// The reduction that says whether it accepted enough elements: any, or their count where it has a rank.
const ReduceOp& acceptance_of(const Node& reduce);

/// True if the results of a reduction may be empty. Floating results are NaN instead.
bool result_may_be_empty(const Node& reduce);

/// By node: true if its value, or an element of it, may be empty. A floating value may be, too, if it was converted
/// from one that may: as a result it is NaN, and an integer converted from it is empty again.
Table<NodeId, bool> may_be_empty(const Graph& graph);

/// True if a map or cast is empty where this operand is: they have the same dims, or it is a `choose`, and the operand
/// may be empty (`may`: may_be_empty() of the graph).
bool passes_emptiness(const Graph& graph, const Table<NodeId, bool>& may, NodeId node, NodeId operand);

} // namespace gf
