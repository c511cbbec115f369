// Options::verify: runs the unfused graph on the CPU after every run, and compares results within a bound.
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

/// The bound on the difference of each output from another backend's, relative to its magnitude: 0 if every operation
/// that it depends on is exact; infinity if an inexact one is followed by an operation whose error depends on the data
/// (a sum, a difference, a comparison).
std::vector<double> output_tolerances(const Graph& graph);

/// True if two values are within a relative tolerance. Tolerance 0: the same bits, or both NaN. Infinity: always true.
bool is_close(DType type, std::uint64_t a, std::uint64_t b, double tolerance);

/// Immutable; shared between threads.
class Reference {
public:
    Reference(const Graph& graph, Target target);
    /// Runs with the same inputs and compares every result. Throws InternalError with the graph's text and the first
    /// difference. `given` is by the slots of any Signature of the same graph.
    void check(const GivenSlots& given, std::span<const Results::Entry> entries) const;
    /// A line that describes the comparison.
    std::string explain() const;

private:
    Target target_;
    Signature signature_;
    std::shared_ptr<const Build> build_;
    std::vector<double> tolerances_; ///< by Plan::outputs
};

} // namespace gf::detail
