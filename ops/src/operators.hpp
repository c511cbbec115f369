// The operators of the text form: operator.def as a table.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include <gridfold/ops/op.hpp>

namespace gf::detail {

struct OperatorRow {
    std::string_view symbol;
    const MapOp* map;
    int precedence; ///< 0: unary
};

inline constexpr std::array operators{
#define GRIDFOLD_BINARY_OPERATOR(symbol, name, precedence) OperatorRow{#symbol, &map_op::name, precedence},
#define GRIDFOLD_UNARY_OPERATOR(symbol, name) OperatorRow{#symbol, &map_op::name, 0},
#include <gridfold/ops/operator.def>
#undef GRIDFOLD_UNARY_OPERATOR
#undef GRIDFOLD_BINARY_OPERATOR
};

inline const OperatorRow* find_operator(const MapOp& map) {
    const auto* row = std::find_if(operators.begin(), operators.end(), [&](const auto& o) { return o.map == &map; });
    return row == operators.end() ? nullptr : row;
}

/// The operator with this symbol: a unary or a binary one.
inline const OperatorRow* find_operator(std::string_view symbol, bool unary) {
    const auto* row = std::find_if(operators.begin(), operators.end(),
                                   [&](const auto& o) { return o.symbol == symbol && (o.precedence == 0) == unary; });
    return row == operators.end() ? nullptr : row;
}

inline bool is_comparison(const OperatorRow& row) { return row.map->rule == TypeRule::compare; }

} // namespace gf::detail
