// Options::verify: runs the unfused graph on the CPU after every run, and compares the bits of all results.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/executable.hpp>

#include "front/bindings.hpp"

namespace gf::detail {

using namespace plan;

/// True if two values have the same bits, or are both NaN.
bool is_same(DType type, std::uint64_t a, std::uint64_t b);

/// Immutable; shared between threads.
class Reference {
public:
    Reference(const Graph& graph, Target target);
    /// Runs with the same inputs and compares every result. Throws InternalError with the graph's text and the first
    /// difference. `given` is by the slots of any Signature of the same graph.
    void check(const GivenSlots& given, std::span<const Results::Entry> entries) const;

private:
    Target target_;
    Signature signature_;
    std::shared_ptr<const Build> build_;
};

} // namespace gf::detail
