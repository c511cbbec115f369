// Many problems of one random graph, as one case over one more dim (gf::batched).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "case.hpp"
#include "oracle.hpp"

namespace gf::oracle {

/// A case over the dim "batch", which comes first.
struct Batch {
    Case test;
    std::vector<std::string> varying; ///< the names of the inputs that differ from problem to problem
};

/// `count` problems of a case. The seed chooses the inputs that vary, one at least. None if a value has as many dims as
/// there may be.
std::optional<Batch> batch_of(const Case& test, std::int64_t count);

/// The inputs of problem number `i` of a batch, by its case.
Inputs inputs_of_problem(const Case& test, const Batch& batch, std::int64_t i);

/// The inputs of the whole batch.
Inputs stacked(const Case& test, const Batch& batch);

/// The results of problem number `i` of `graph` among those of a batch of `count`.
std::vector<Result> results_of_problem(const Graph& graph, const std::vector<Result>& of_batch, std::int64_t i,
                                       std::int64_t count);

} // namespace gf::oracle
