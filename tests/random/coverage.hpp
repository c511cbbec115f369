// What random graphs reach: rows and types of the tables, branches of the passes and of the generator of kernels.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <gridfold/fusion/plan.hpp>

#include "case.hpp"

namespace gf::oracle {

using namespace plan;

struct GenerateOptions;

/// How often each thing was reached, by name: "map add in f32", "reduce sum of i8", "body load by strides" …
using Coverage = std::map<std::string, int, std::less<>>;

/// Counts what a case's live nodes, and its inputs and outputs, reach.
void count(const Case& test, Coverage& coverage);

/// Counts what a plan makes the generator of kernels do, and which rules of the passes made it so.
void count(const Plan& plan, Coverage& coverage);

/// Operations, types and ranks; each suite reaches all of them.
std::vector<std::string> rows(const GenerateOptions& options);
/// Every combination that the tables allow, and every branch of the passes; 20,000 graphs reach all of them.
std::vector<std::string> everything();

/// Those of `wanted` that were reached less often than `at_least`, and how often.
std::vector<std::string> missing(const Coverage& coverage, const std::vector<std::string>& wanted, int at_least = 1);

/// The coverage, a line for each kind.
std::string to_text(const Coverage& coverage);

} // namespace gf::oracle
