// Checks a caller's bindings and converts them for a backend. Every mistake in bindings is found here, before anything
// runs: an InvalidBinding that names the value, the rule and the fix.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <gridfold/core/device.hpp>
#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/executable.hpp>

#include "front/signature.hpp"

namespace gf::detail {

/// The binding of one slot.
struct Given {
    bool bound = false;       ///< if false, the other members are unspecified
    View array{};             ///< input, output; never Memory::unknown; with strides only if it is not contiguous
    std::uint64_t bits = 0;   ///< scalar: the value's bytes, zero-extended
    std::int64_t extent = -1; ///< dim
};
using GivenSlots = std::vector<Given>; ///< by Signature::slots

/// The device of an executable: a CUDA device by its ordinal, or the CPU.
struct Target {
    static constexpr int cpu = -1;
    int ordinal = cpu;
    bool is_cpu() const { return ordinal == cpu; }
};

/// The device and the pointer query with which the addresses of one call's bindings are checked.
struct Reach {
    Target target;
    PointerQuery pointer_info{};
};

/// Binds one slot: checks kind, type, rank, strides, extents' signs, size, address and memory.
void give(const Signature& signature, std::size_t slot, const View& array, const Reach& reach, GivenSlots& given);
void give(const Signature& signature, std::size_t slot, Literal value, GivenSlots& given);

/// Binds a list. InvalidBinding if a name occurs twice.
void give(const Signature& signature, std::span<const Binding> bindings, Side side, const Reach& reach,
          GivenSlots& given);

/// The writable parts of one problem in a Bound.
struct OpenProblem {
    std::span<std::int64_t> extents;
    std::span<BoundArray> arrays;
    std::span<std::uint64_t> parameters;
    std::span<Strides> strides; ///< empty if Bound::strides is
};
inline OpenProblem open_problem(const Plan& plan, Bound& bound, std::size_t number) {
    const auto part = [&](auto& list, std::size_t each) { return std::span(list).subspan(number * each, each); };
    return {part(bound.extents, plan.dims.size()), part(bound.arrays, plan.arrays.size()),
            part(bound.parameters, plan.parameters.size()),
            bound.strides.empty() ? std::span<Strides>() : part(bound.strides, plan.arrays.size())};
}

/// True if any array is bound with strides. A Bound that resolve() writes then has Bound::strides.
bool has_strides(const GivenSlots& given);

/// The extents of an array with these dims; `extents`: by Plan::dims.
Extents extents_of(const std::vector<DimId>& dims, std::span<const std::int64_t> extents);

/// Checks all bindings together (none missing, extents agree, outputs do not overlap) and writes them as a problem for
/// the backend. Outputs that are not bound get null addresses. `checked`: the extents of a problem resolved before, or
/// none; if they are equal, sizes are not checked again. `rebinding`: for messages. Allocates nothing.
void resolve(const Signature& signature, const GivenSlots& given, std::span<const std::int64_t> checked,
             const OpenProblem& problem, bool rebinding = false);

/// Throws InvalidBinding if a problem of one call writes memory that another reads or writes: they run at the same
/// time.
void refuse_shared_outputs(const Plan& plan, const Bound& problems);

/// The memory of the arrays bound as inputs: device if any is in device memory.
Memory input_memory(const Signature& signature, const GivenSlots& given);

} // namespace gf::detail
