// Lists and describes operations, from their tables.
#pragma once

#include <string>

namespace gf::tool {

/// Every map and reduction, one line each, and the rules that the lines name.
std::string list_ops();

/// The full description of the operations with this name or symbol. Throws InvalidOption, suggesting the nearest name,
/// if there is none.
std::string describe_ops(const std::string& name);

/// The page docs/ops.md.
std::string ops_page();

} // namespace gf::tool
