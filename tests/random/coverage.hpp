// Coverage of random graphs: rows and types of the tables, branches of the passes and of the kernel generator.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <gridfold/fusion/plan.hpp>

#include "case.hpp"

namespace gf::oracle {

using namespace plan;

struct GenerateOptions;

/// The number of times each feature was reached, by name: "map add in f32", "reduce sum of i8", "body load by strides"
/// …
using Coverage = std::map<std::string, int, std::less<>>;

/// Counts the features of a case's live nodes, inputs and outputs.
void count(const Case& test, Coverage& coverage);

/// Counts the features of a plan: forms of instructions, folds and kernels.
void count(const Plan& plan, Coverage& coverage);

/// Operations, types and ranks; each suite reaches all of them.
std::vector<std::string> rows(const GenerateOptions& options);
/// Every combination that the tables allow, and every branch of the passes; 20,000 graphs reach all of them.
std::vector<std::string> everything();

/// The names of `wanted` that were reached less often than `at_least`, with their counts.
std::vector<std::string> missing(const Coverage& coverage, const std::vector<std::string>& wanted, int at_least = 1);

/// The coverage, one line a feature.
std::string to_text(const Coverage& coverage);

} // namespace gf::oracle
