// What a graph can compute, from the tables of operations.
#pragma once

#include <string>

namespace gf::tool {

/// Every map and reduction, a line each, with the rules that the lines name.
std::string list_ops();

/// All that is known of the operations with this name or symbol. Throws InvalidOption, with the nearest name, where
/// there is none.
std::string describe_ops(const std::string& name);

/// The page docs/ops.md.
std::string ops_page();

} // namespace gf::tool
