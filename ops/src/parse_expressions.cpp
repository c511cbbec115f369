// Operands, operators and names of the text form.
#include "parser.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <gridfold/ops/nearest.hpp>

#include "literal_arithmetic.hpp"
#include "operators.hpp"
#include "refusal.hpp"

namespace gf::detail {

Value Parser::parse_value() {
    const Term term = parse_expression();
    if (const auto& literal = term.operand.literal)
        fail(term.position, "a number by itself has no type here",
             literal->kind == Literal::Kind::boolean ? "give it one, as bool(true)" : "give it one, as f32(2)");
    return term.operand.value;
}

Term Parser::parse_expression() {
    if (++nesting_ > max_text_nesting)
        fail(lexer_.peek().position, fmt::format("expressions nest at most {} deep", max_text_nesting),
             "name a part with 'let'");
    std::vector<Term> terms{parse_prefix()};
    std::vector<std::pair<const OperatorRow*, std::size_t>> pending; // with their positions
    const auto reduce_top = [&] {
        const auto [row, position] = pending.back();
        pending.pop_back();
        const Term right = terms.back();
        terms.pop_back();
        terms.back() = apply(*row, position, terms.back(), right);
    };
    while (const OperatorRow* row = next_operator()) {
        while (!pending.empty() && pending.back().first->precedence >= row->precedence) reduce_top();
        pending.emplace_back(row, lexer_.take().position);
        if (row->symbol == "*" && next_is("*") && lexer_.peek().position == pending.back().second + 1)
            fail(pending.back().second, "'**' is not an operator", "write pow(x, 2), or x * x");
        if (row->symbol == "/" && next_is("/") && lexer_.peek().position == pending.back().second + 1)
            fail(pending.back().second, "'//' is not an operator", "write floor_div(a, b)");
        terms.push_back(parse_prefix());
    }
    while (!pending.empty()) reduce_top();
    --nesting_;
    return terms.front();
}

const OperatorRow* Parser::next_operator() const {
    return lexer_.peek().kind == Token::Kind::symbol ? find_operator(lexer_.peek().text, false) : nullptr;
}

Term Parser::apply(const OperatorRow& row, std::size_t position, const Term& a, const Term& b) {
    const bool comparison = is_comparison(row);
    if (comparison && (a.comparison || b.comparison))
        fail(position, "comparisons do not chain", "write a < b && b < c, or parentheses");
    if (a.operand.literal && b.operand.literal)
        return {at(position, [&] { return compute(row.symbol, *a.operand.literal, *b.operand.literal); }), a.position};
    const Operand operands[] = {a.operand, b.operand};
    return {value_at(position, [&] { return graph_.map(*row.map, operands); }), a.position, comparison};
}

Term Parser::parse_prefix() {
    std::vector<Token> prefixes;
    while (lexer_.peek().kind == Token::Kind::symbol && find_operator(lexer_.peek().text, true)) {
        if (prefixes.size() == max_text_nodes)
            fail(lexer_.peek().position,
                 fmt::format("a graph has at most {} nodes, and these prefixes alone are as many", max_text_nodes));
        prefixes.push_back(lexer_.take());
    }
    Term term = parse_primary();
    for (auto prefix = prefixes.rbegin(); prefix != prefixes.rend(); ++prefix) {
        const OperatorRow& row = *find_operator(prefix->text, true);
        if (term.operand.literal && row.map == &map_op::neg)
            term.operand = at(prefix->position, [&] { return negate(*term.operand.literal); });
        else
            term.operand = value_at(prefix->position, [&] { return graph_.map(*row.map, {&term.operand, 1}); });
        term.position = prefix->position;
    }
    return term;
}

Term Parser::parse_primary() {
    const Token token = lexer_.peek();
    if (token.kind == Token::Kind::number) return {lexer_.take().literal, token.position};
    if (accept("(")) {
        Term term = parse_expression();
        expect(")", "an operator or ')'");
        term.comparison = false;
        return term;
    }
    if (token.kind != Token::Kind::name) fail_expected("a value");
    if (token.text == "let") fail_late_let();
    lexer_.take();
    if (token.text == "true" || token.text == "false") return {Literal(token.text == "true"), token.position};
    if (token.text == "inf") return {Literal(std::numeric_limits<double>::infinity()), token.position};
    if (token.text == "nan") return {Literal(std::numeric_limits<double>::quiet_NaN()), token.position};
    if (next_is("(")) return parse_call(token);
    if (const auto value = values_.find(token.text); value != values_.end()) {
        if (next_is("[")) fail_subscript(value->second);
        return {value->second, token.position};
    }
    if (const auto dim = dims_.find(token.text); dim != dims_.end())
        return {value_at(token.position, [&] { return graph_.extent(dim->second); }), token.position};
    fail_unknown_value(token);
}

void Parser::fail_subscript(const Value& value) const {
    const std::vector<Dim> dims = value.dims();
    const std::string_view dim = dims.empty() ? "n" : dims.front().name();
    fail(lexer_.peek().position, "values have no subscripts and no slices: an expression is of all elements",
         fmt::format("choose some with a mask, as in sum(x where index({0}) > 0), or one as sum(x where index({0}) == "
                     "0), or bind a part of the array",
                     dim));
}

void Parser::fail_unknown_value(const Token& name) const {
    if (std::ranges::any_of(graph_.outputs(), [&](const Graph::Output& o) { return o.name == name.text; }))
        fail(name.position, fmt::format("'{}' is an output, which no expression reads", name.text),
             fmt::format("write 'let {0} = …;' before '->' and use that, also as the output '{0} = {0}'", name.text));
    std::vector<std::string_view> known;
    for (const auto& [text, value] : values_)
        if (known.size() < 1000) known.push_back(text);
    const std::string operator_fix = fix_of_operator(name);
    fail(name.position, fmt::format("{} is not a value here", in_quotes(name.text)),
         operator_fix.empty() ? suggest(name.text, std::move(known), "values", "declare it as a parameter, or bind it")
                              : operator_fix);
}

} // namespace gf::detail
