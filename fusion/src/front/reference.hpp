// Options::verify: the unfused graph on the CPU, run beside every run, and how far its results may be away.
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

/// How far each output of a graph may be from another backend's, relative to its magnitude: 0 where every operation
/// that it depends on is exact, infinity where an inexact one reaches an operation whose error depends on the data (a
/// sum, a difference, a comparison).
std::vector<double> output_tolerances(const Graph& graph);

/// Is a value within a relative tolerance of another? Tolerance 0: the same bits; NaN is NaN always. Infinity: any
/// value is.
bool is_close(DType type, std::uint64_t a, std::uint64_t b, double tolerance);

/// Immutable; shared between threads.
class Reference {
public:
    Reference(const Graph& graph, Target target);
    /// Runs with the same inputs and compares every result. Throws InternalError with the graph's text and the first
    /// difference. `given` is by the slots of any Signature of the same graph.
    void check(const GivenSlots& given, std::span<const Results::Entry> entries) const;
    /// A line on what is compared, and how.
    std::string explain() const;

private:
    Target target_;
    Signature signature_;
    std::shared_ptr<const Build> build_;
    std::vector<double> tolerances_; ///< by Plan::outputs
};

} // namespace gf::detail
