// The parser of the text form: recursive over parentheses and calls, to max_text_nesting; operators are a stack in each
// expression. The graph's builders check every rule of the graph; the parser adds the place in the text to their
// errors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <gridfold/ops/text.hpp>

#include "lexer.hpp"

namespace gf::detail {

struct OperatorRow;

/// An operand while it is parsed: a value or a literal, and its position.
struct Term {
    Operand operand;
    std::size_t position;
    bool comparison = false; ///< a comparison outside of parentheses
};

class Parser {
public:
    explicit Parser(std::string_view text) : lexer_(text) {}

    Graph parse();

private:
    // Tokens: parse_tokens.cpp.
    bool next_is(std::string_view text) const;
    bool accept(std::string_view text);
    void expect(std::string_view text, std::string_view what, std::string_view fix = {});
    Token take_name(std::string_view what, std::string_view fix = {});
    std::int64_t take_integer(std::string_view what);
    DType take_type();
    [[noreturn]] void fail(std::size_t position, std::string_view rule, std::string_view fix = {}) const;
    [[noreturn]] void fail_expected(std::string_view what, std::string_view fix = {}) const;
    /// For the operators that other languages write as words.
    static std::string fix_of_operator(const Token& token);

    // Statements: parse.cpp.
    void parse_parameters();
    std::vector<Dim> parse_dims(bool declaring);
    void parse_let();
    void parse_output();
    [[noreturn]] void fail_late_let() const;

    // Expressions: parse_expressions.cpp.
    /// An expression that must be a value.
    Value parse_value();
    Term parse_expression();
    const OperatorRow* next_operator() const;
    Term apply(const OperatorRow& row, std::size_t position, const Term& a, const Term& b);
    Term parse_prefix();
    Term parse_primary();
    [[noreturn]] void fail_subscript(const Value& value) const;
    [[noreturn]] void fail_unknown_value(const Token& name) const;

    // Calls: parse_calls.cpp.
    Term parse_call(const Token& name);
    [[noreturn]] void fail_unknown_function(const Token& name) const;
    Term parse_shift(const Token& name);
    Edge parse_edge();
    Dim take_dim();
    /// True if the next token is an attribute or a comma before one.
    bool attribute_follows() const;
    std::vector<Dim> parse_folded_dims();
    /// Dims that are declared, with commas between them and "]" at the end.
    std::vector<Dim> parse_known_dims(std::string_view end);
    Term parse_top_k(const Token& name);
    ReduceOptions parse_attributes();
    Value parse_reduction(const Token& name, const ReduceOp& row, const std::vector<Operand>& operands);

    /// Runs a builder of the graph; its errors get the place `position`.
    template <class F> auto at(std::size_t position, F&& build) -> decltype(build()) {
        try {
            return build();
        } catch (const InvalidGraph& error) { // GCOVR_EXCL_BR_LINE: gcovr counts other exceptions as a branch
            throw located(lexer_.text(), position, error.subject(), error.rule(), error.fix());
        }
    }
    /// at() for builders that add nodes: checks max_text_nodes, too.
    template <class F> Value value_at(std::size_t position, F&& build) {
        const Value value = at(position, std::forward<F>(build));
        if (graph_.node_count() > max_text_nodes)
            fail(position,
                 fmt::format("the graph has more than {} nodes, the most that a text may describe", max_text_nodes),
                 "split it");
        return value;
    }

    Lexer lexer_;
    Graph graph_;
    std::unordered_map<std::string_view, Value> values_; ///< keys point into the text
    std::unordered_map<std::string_view, Dim> dims_;
    int nesting_ = 0;
};

/// The nearest of the known names, or the first of them. `none`: what to say where there are none.
std::string suggest(std::string_view name, std::vector<std::string_view> known, std::string_view what,
                    std::string_view none);

} // namespace gf::detail
