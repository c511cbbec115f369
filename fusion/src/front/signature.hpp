// The table of a graph's slots for bindings, by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gridfold/fusion/plan.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf::detail {

using namespace plan;

enum class SlotKind : std::uint8_t { input, scalar, dim, output };

/// A slot for one binding: an input array, a run-time scalar, the extent of a dim, or an array output.
struct Slot {
    SlotKind kind;
    std::string name;
    DType type = DType::i64;
    std::vector<DimId> dims; ///< input, output: in memory order
    // What is bound; none where nothing in the plan reads it.
    ArrayId array = {};         ///< input, output
    ParameterId parameter = {}; ///< scalar
    DimId dim = {};             ///< dim
};

/// The slots of a graph. It shares ownership of the plan.
struct Signature {
    std::shared_ptr<const Plan> plan;
    std::vector<Slot> slots;        ///< inputs and scalars in order of declaration, dims, outputs
    Table<DimId, bool> dim_is_used; ///< an array or a sweep has it
    /// Inputs and outputs that may be bound to the same memory.
    std::vector<std::pair<ArrayId, ArrayId>> in_place;
};

Signature make_signature(const Graph& graph, std::shared_ptr<const Plan> plan);

/// The slots that a list of bindings may name.
enum class Side : std::uint8_t { inputs, outputs, both };

/// The number of the slot named `name`, searched among inputs, scalars, dims, then outputs. Throws InvalidBinding, with
/// the nearest name, if there is none.
std::size_t find_slot(const Signature& signature, std::string_view name, Side side);

/// The dims of an array: "i, j"
std::string dim_names(const Signature& signature, const Slot& slot);

/// `input "x" (f32[i, j])`, `scalar "alpha" (f32)`, `dim "n"`
std::string describe(const Signature& signature, const Slot& slot);

} // namespace gf::detail
