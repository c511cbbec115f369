// From what a caller binds to what a backend gets. Every mistake that bindings can hold is found here, before anything
// runs, and is an InvalidBinding that names the value, the rule and the fix.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <gridfold/core/device.hpp>
#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/executable.hpp>

#include "front/signature.hpp"

namespace gf::detail {

/// What is bound to one slot.
struct Given {
    bool bound = false;       ///< else the rest says nothing
    View array{};             ///< input, output; its memory is known
    std::uint64_t bits = 0;   ///< scalar: the value's bytes, zero-extended
    std::int64_t extent = -1; ///< dim
};
using GivenSlots = std::vector<Given>; ///< by Signature::slots

/// Where an executable runs: a CUDA device by its ordinal, or the CPU.
struct Target {
    static constexpr int cpu = -1;
    int ordinal = cpu;
    bool is_cpu() const { return ordinal == cpu; }
};

/// What the addresses of one call's bindings are checked against.
struct Reach {
    Target target;
    PointerQuery pointer_info{};
};

/// Binds one slot: checks kind, type, rank, extents' signs, size, address and memory.
void give(const Signature& signature, std::size_t slot, const View& array, const Reach& reach, GivenSlots& given);
void give(const Signature& signature, std::size_t slot, Literal value, GivenSlots& given);

/// Binds a list, in which no name may occur twice.
void give(const Signature& signature, std::span<const Binding> bindings, Side side, const Reach& reach,
          GivenSlots& given);

/// What a Bound has of one problem, to be written.
struct OpenProblem {
    std::span<std::int64_t> extents;
    std::span<BoundArray> arrays;
    std::span<std::uint64_t> parameters;
};
inline OpenProblem open_problem(const Plan& plan, Bound& bound, std::size_t number) {
    const auto part = [&](auto& list, std::size_t each) { return std::span(list).subspan(number * each, each); };
    return {part(bound.extents, plan.dims.size()), part(bound.arrays, plan.arrays.size()),
            part(bound.parameters, plan.parameters.size())};
}

/// Checks what is given as a whole (nothing missing, extents that agree, outputs that overlap nothing) and writes it as
/// a problem for the backend. Outputs that are not bound get null addresses. `checked`: extents of another problem that
/// was resolved, whose sizes need no second look, or none. Allocates nothing.
void resolve(const Signature& signature, const GivenSlots& given, std::span<const std::int64_t> checked,
             const OpenProblem& problem);

/// Refuses problems of one call where one writes what another reads or writes: they run at the same time.
void refuse_shared_outputs(const Plan& plan, const Bound& problems);

/// The memory of the arrays that are bound as inputs: device if any of them is.
Memory input_memory(const Signature& signature, const GivenSlots& given);

} // namespace gf::detail
