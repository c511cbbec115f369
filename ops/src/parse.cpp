// The parser: recursive over parentheses and calls, to max_text_nesting; operators are a stack in each expression.
// The graph's builders check every rule of the graph; the parser adds the place in the text to their errors.
#include <gridfold/ops/text.hpp>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include <fmt/format.h>

#include <gridfold/ops/nearest.hpp>

#include "lexer.hpp"
#include "literal_arithmetic.hpp"
#include "operators.hpp"
#include "refusal.hpp"

namespace gf {

namespace {

using detail::in_quotes;
using detail::located;
using detail::OperatorRow;
using detail::Token;

/// An operand while it is parsed: a value or a literal, and its position.
struct Term {
    Operand operand;
    std::size_t position;
    bool comparison = false; ///< a comparison outside of parentheses
};

constexpr std::string_view whole_form = "write the whole graph, as in f(x: f32[n]) -> s = sum(x)";
constexpr std::string_view no_last_comma = "leave the last comma out";
constexpr std::string_view named_output = "name each output, as in s = sum(x)";

class Parser {
public:
    explicit Parser(std::string_view text) : lexer_(text) {}

    Graph parse() {
        if (next_is("let")) fail_expected("the graph's name", whole_form);
        const Token name = take_name("the graph's name", whole_form);
        graph_ = at(name.position, [&] { return Graph(std::string(name.text)); });
        parse_parameters();
        while (accept("let")) parse_let();
        expect("->", "'let', or '->' before the outputs,");
        if (lexer_.peek().kind != Token::Kind::end) {
            do parse_output();
            while (accept(","));
        }
        if (lexer_.peek().kind != Token::Kind::end) fail_expected("an operator, ',' or the end of the text");
        return std::move(graph_);
    }

private:
    // ---- tokens

    bool next_is(std::string_view text) const {
        return lexer_.peek().kind != Token::Kind::number && lexer_.peek().text == text;
    }
    bool accept(std::string_view text) {
        if (!next_is(text)) return false;
        lexer_.take();
        return true;
    }
    void expect(std::string_view text, std::string_view what, std::string_view fix = {}) {
        if (!accept(text)) fail_expected(what, fix);
    }
    Token take_name(std::string_view what, std::string_view fix = {}) {
        if (lexer_.peek().kind != Token::Kind::name) fail_expected(what, fix);
        return lexer_.take();
    }
    std::int64_t take_integer(std::string_view what) {
        const Token& token = lexer_.peek();
        if (token.kind != Token::Kind::number || token.literal.kind != Literal::Kind::integer) fail_expected(what);
        return lexer_.take().literal.integer;
    }
    DType take_type() {
        const Token name = take_name("an element type");
        if (const auto type = dtype_from_text(name.text)) return *type;
        std::vector<std::string_view> types;
        for (const DType type : all_dtypes()) types.push_back(to_text(type));
        fail(name.position,
             fmt::format("{} is not an element type: they are {}", in_quotes(name.text), fmt::join(types, " ")),
             detail::suggestion(name.text, types));
    }
    [[noreturn]] void fail(std::size_t position, std::string_view rule, std::string_view fix = {}) const {
        throw located(lexer_.text(), position, "", rule, fix);
    }
    [[noreturn]] void fail_expected(std::string_view what, std::string_view fix = {}) const {
        const Token& token = lexer_.peek();
        if (token.kind == Token::Kind::end)
            fail(token.position, fmt::format("{} was expected, and the text ends", what), fix);
        const std::string operator_fix = fix_of_operator(token);
        fail(token.position, fmt::format("{} was expected, and here is {}", what, in_quotes(token.text)),
             fix.empty() ? operator_fix : fix);
    }
    /// For the operators that other languages write as words.
    static std::string fix_of_operator(const Token& token) {
        const bool is_word = token.text == "and" || token.text == "or" || token.text == "not";
        return is_word ? fmt::format("write '{}'", detail::own_name(token.text)) : "";
    }
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

    // ---- statements

    void parse_parameters() {
        expect("(", "'(' before the parameters", whole_form);
        if (accept(")")) return;
        if (next_is("[")) {
            parse_dims(true);
            if (!accept(",")) return expect(")", "',' or ')'");
        }
        do {
            const Token name = take_name("a parameter's name", next_is(")") ? no_last_comma : whole_form);
            expect(":", "':' and the parameter's type", whole_form);
            const DType type = take_type();
            const std::vector<Dim> dims = next_is("[") ? parse_dims(false) : std::vector<Dim>();
            values_[name.text] = value_at(name.position, [&] { return graph_.input(name.text, type, dims); });
        } while (accept(","));
        expect(")", "',' or ')' after a parameter");
    }

    std::vector<Dim> parse_dims(bool declaring) {
        std::vector<Dim> dims;
        expect("[", "'['");
        if (next_is("]"))
            fail(lexer_.peek().position, "a list of dims has at least one",
                 "a run-time scalar is written without brackets, as a: f32");
        do {
            if (lexer_.peek().kind == Token::Kind::number)
                fail(lexer_.peek().position, "a dim has a name", "write a fixed extent as [n = 4]");
            const Token name = take_name("a dim's name", next_is("]") ? no_last_comma : "");
            std::optional<std::int64_t> extent;
            if (accept("=")) extent = take_integer("the dim's extent, an integer from 0,");
            const auto known = dims_.find(name.text);
            if (known == dims_.end()) {
                if (dims_.size() == static_cast<std::size_t>(max_text_nodes))
                    fail(name.position, fmt::format("a text describes at most {} dims", max_text_nodes));
                const Dim dim = at(name.position, [&] { return graph_.dim(name.text, extent); });
                dims.push_back(dims_.emplace(name.text, dim).first->second);
                continue;
            }
            const Dim dim = known->second;
            const auto fixed = graph_.dims()[dim.id()].extent;
            if (declaring) fail(name.position, fmt::format("the dim {} is declared twice", in_quotes(name.text)));
            if (extent && extent != fixed)
                fail(name.position,
                     fmt::format("the dim {} was {} before", in_quotes(name.text),
                                 fixed ? fmt::format("= {}", *fixed) : "not fixed"),
                     "a fixed extent is said where a dim first appears");
            dims.push_back(dim);
        } while (accept(","));
        expect("]", "',' or ']' after a dim");
        return dims;
    }

    void parse_let() {
        const Token name = take_name("the value's name");
        at(name.position, [&] { detail::check_name("the value", name.text); });
        if (values_.contains(name.text))
            fail(name.position, fmt::format("{} is already the name of a value", in_quotes(name.text)),
                 "choose another name");
        expect("=", "'=' and the value of " + in_quotes(name.text));
        const Value value = parse_value();
        expect(";", fmt::format("an operator, or ';' after the value of {},", in_quotes(name.text)));
        // A second name of a value is an alias within the text.
        if (graph_.node(value.node()).name.empty()) graph_.let(name.text, value);
        values_[name.text] = value;
    }

    void parse_output() {
        if (next_is("let")) fail_late_let();
        const bool at_end = lexer_.peek().kind == Token::Kind::end;
        const Token name = take_name("an output's name", at_end ? no_last_comma : named_output);
        expect("=", "'=' and the value of " + in_quotes(name.text), named_output);
        if (graph_.outputs().size() == static_cast<std::size_t>(max_text_nodes))
            fail(name.position, fmt::format("a text describes at most {} outputs", max_text_nodes));
        const Value value = parse_value();
        at(name.position, [&] { graph_.output(name.text, value); });
    }

    // ---- expressions

    /// An expression that must be a value.
    Value parse_value() {
        const Term term = parse_expression();
        if (const auto& literal = term.operand.literal)
            fail(term.position, "a number by itself has no type here",
                 literal->kind == Literal::Kind::boolean ? "give it one, as bool(true)" : "give it one, as f32(2)");
        return term.operand.value;
    }

    Term parse_expression() {
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

    const OperatorRow* next_operator() const {
        return lexer_.peek().kind == Token::Kind::symbol ? detail::find_operator(lexer_.peek().text, false) : nullptr;
    }

    Term apply(const OperatorRow& row, std::size_t position, const Term& a, const Term& b) {
        const bool comparison = detail::is_comparison(row);
        if (comparison && (a.comparison || b.comparison))
            fail(position, "comparisons do not chain", "write a < b && b < c, or parentheses");
        if (a.operand.literal && b.operand.literal)
            return {at(position, [&] { return detail::compute(row.symbol, *a.operand.literal, *b.operand.literal); }),
                    a.position};
        const Operand operands[] = {a.operand, b.operand};
        return {value_at(position, [&] { return graph_.map(*row.map, operands); }), a.position, comparison};
    }

    Term parse_prefix() {
        std::vector<Token> prefixes;
        while (lexer_.peek().kind == Token::Kind::symbol && detail::find_operator(lexer_.peek().text, true)) {
            if (prefixes.size() == max_text_nodes)
                fail(lexer_.peek().position,
                     fmt::format("a graph has at most {} nodes, and these prefixes alone are as "
                                 "many",
                                 max_text_nodes));
            prefixes.push_back(lexer_.take());
        }
        Term term = parse_primary();
        for (auto prefix = prefixes.rbegin(); prefix != prefixes.rend(); ++prefix) {
            const OperatorRow& row = *detail::find_operator(prefix->text, true);
            if (term.operand.literal && row.map == &map_op::neg)
                term.operand = at(prefix->position, [&] { return detail::negate(*term.operand.literal); });
            else
                term.operand = value_at(prefix->position, [&] { return graph_.map(*row.map, {&term.operand, 1}); });
            term.position = prefix->position;
        }
        return term;
    }

    Term parse_primary() {
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

    [[noreturn]] void fail_subscript(const Value& value) const {
        const std::vector<Dim> dims = value.dims();
        const std::string_view dim = dims.empty() ? "n" : dims.front().name();
        fail(lexer_.peek().position, "values have no subscripts and no slices: an expression is of all elements",
             fmt::format(
                 "choose some with a mask, as in sum(x where index({0}) > 0), or one as sum(x where index({0}) == "
                 "0), or bind a part of the array",
                 dim));
    }

    [[noreturn]] void fail_late_let() const {
        fail(lexer_.peek().position, "'let' comes before '->', not among outputs and in expressions",
             "write let name = value; there, and use the name here");
    }

    /// The nearest of the known names, or the first of them. `none`: what to say where there are none.
    static std::string suggest(std::string_view name, std::vector<std::string_view> known, std::string_view what,
                               std::string_view none) {
        constexpr std::size_t shown = 8;
        std::sort(known.begin(), known.end());
        const std::string near = detail::suggestion(name, known);
        if (!near.empty() || known.empty()) return known.empty() ? std::string(none) : near;
        const std::size_t count = std::min(known.size(), shown);
        return fmt::format("the {} are {}{}", what, fmt::join(std::span(known).first(count), ", "),
                           count < known.size() ? ", …" : "");
    }

    [[noreturn]] void fail_unknown_value(const Token& name) const {
        if (std::ranges::any_of(graph_.outputs(), [&](const Graph::Output& o) { return o.name == name.text; }))
            fail(name.position, fmt::format("'{}' is an output, which no expression reads", name.text),
                 fmt::format("write 'let {0} = …;' before '->' and use that, also as the output '{0} = {0}'",
                             name.text));
        std::vector<std::string_view> known;
        for (const auto& [text, value] : values_)
            if (known.size() < 1000) known.push_back(text);
        const std::string operator_fix = fix_of_operator(name);
        fail(name.position, fmt::format("{} is not a value here", in_quotes(name.text)),
             operator_fix.empty()
                 ? suggest(name.text, std::move(known), "values", "declare it as a parameter, or bind it")
                 : operator_fix);
    }

    // ---- calls

    Term parse_call(const Token& name) {
        lexer_.take(); // "("
        if (const auto type = dtype_from_text(name.text)) {
            const Term operand = parse_expression();
            expect(")", "an operator or ')' after what is cast");
            return {value_at(name.position,
                             [&] {
                                 return operand.operand.literal ? graph_.constant(*operand.operand.literal, *type)
                                                                : graph_.cast(operand.operand.value, *type);
                             }),
                    name.position};
        }
        if (name.text == "index" || name.text == "extent") {
            const Dim dim = take_dim();
            expect(")", "')' after the dim");
            return {
                value_at(name.position, [&] { return name.text == "index" ? graph_.index(dim) : graph_.extent(dim); }),
                name.position};
        }
        const MapOp* map = find_map(name.text);
        const ReduceOp* reduction = find_reduction(name.text);
        if (!map && !reduction) fail_unknown_function(name);
        std::vector<Operand> operands;
        do {
            if (operands.size() == static_cast<std::size_t>(max_arity))
                fail(lexer_.peek().position, fmt::format("a function takes at most {} operands", max_arity));
            if (lexer_.peek().kind == Token::Kind::name && lexer_.peek_second().text == "=")
                fail(lexer_.peek().position,
                     fmt::format("{} is not an attribute: they are where, over, by, groups, accumulate "
                                 "and ddof",
                                 in_quotes(lexer_.peek().text)));
            operands.push_back(parse_expression().operand);
        } while (!attribute_follows() && accept(","));
        if (reduction && operands.size() == 1) return {parse_reduction(name, *reduction, operands[0]), name.position};
        if (!map) fail(name.position, fmt::format("{} reduces one operand, and got {}", name.text, operands.size()));
        expect(")", "an operator, ',' or ')'");
        return {value_at(name.position, [&] { return graph_.map(*map, operands); }), name.position};
    }

    [[noreturn]] void fail_unknown_function(const Token& name) const {
        std::vector<std::string_view> known{"index", "extent"};
        for (const MapOp* row : all_maps()) known.push_back(row->name);
        for (const ReduceOp* row : all_reductions()) known.push_back(row->name);
        for (const DType type : all_dtypes()) known.push_back(to_text(type));
        if (const std::string_view own = detail::own_name(name.text); !own.empty())
            fail(name.position, fmt::format("{} is not a function", in_quotes(name.text)),
                 fmt::format("here it is '{}'", own));
        const std::string near = detail::suggestion(name.text, known);
        fail(name.position, fmt::format("{} is not a function", in_quotes(name.text)),
             near.empty() ? "gridfold ops lists all, as does docs/ops.md" : near);
    }

    Dim take_dim() {
        const Token name = take_name("a dim's name");
        const auto dim = dims_.find(name.text);
        if (dim != dims_.end()) return dim->second;
        std::vector<std::string_view> known;
        for (const auto& [text, position] : dims_)
            if (known.size() < 1000) known.push_back(text);
        fail(name.position, fmt::format("{} is not a dim here", in_quotes(name.text)),
             suggest(name.text, std::move(known), "dims", "declare it, as in f([m], a: f32)"));
    }

    static bool is_attribute(const Token& word, bool followed_by_equals) {
        if (word.kind != Token::Kind::name) return false;
        const bool reserved = word.text == "where" || word.text == "over" || word.text == "by" || word.text == "groups";
        return reserved || (followed_by_equals && (word.text == "accumulate" || word.text == "ddof"));
    }

    /// True if the next token is an attribute or a comma before one.
    bool attribute_follows() const {
        detail::Lexer ahead = lexer_;
        if (next_is(",")) ahead.take();
        return is_attribute(ahead.peek(), ahead.peek_second().text == "=");
    }

    Value parse_reduction(const Token& name, const ReduceOp& row, const Operand& operand) {
        ReduceOptions options;
        std::vector<std::string_view> given;
        while (attribute_follows()) {
            accept(",");
            const Token word = lexer_.take();
            if (std::find(given.begin(), given.end(), word.text) != given.end())
                fail(word.position, fmt::format("{} is given twice", in_quotes(word.text)));
            given.push_back(word.text);
            accept("=");
            if (word.text == "where") {
                options.where = parse_value();
            } else if (word.text == "over") {
                options.over.push_back(take_dim());
                while (next_is(",") && !attribute_follows()) {
                    lexer_.take(); // ","
                    options.over.push_back(take_dim());
                }
            } else if (word.text == "by") {
                options.by = parse_value();
            } else if (word.text == "groups") {
                options.groups = take_integer("the number of groups, an integer from 0,");
            } else if (word.text == "accumulate") {
                options.accumulate = take_type();
            } else {
                const std::size_t position = lexer_.peek().position;
                const std::int64_t ddof = take_integer("ddof, an integer from 0,");
                if (ddof > std::numeric_limits<int>::max()) fail(position, "ddof does not fit 32 bits");
                options.ddof = static_cast<int>(ddof);
            }
        }
        expect(")", "an operator, ')' or one of where, over, by, groups, accumulate = and ddof =");
        if (operand.literal)
            fail(name.position, fmt::format("{} reduces a value, and a number by itself has no type", name.text),
                 "to count elements, use count of a bool value");
        return value_at(name.position, [&] { return graph_.reduce(row, operand.value, options); });
    }

    detail::Lexer lexer_;
    Graph graph_;
    std::unordered_map<std::string_view, Value> values_; ///< keys point into the text
    std::unordered_map<std::string_view, Dim> dims_;
    int nesting_ = 0;
};

} // namespace

Graph parse(std::string_view text) {
    if (text.size() > max_text_bytes)
        throw InvalidGraph(fmt::format("the text of a graph has {} bytes", text.size()),
                           fmt::format("at most {} are read", max_text_bytes), "split the graph");
    return Parser(text).parse();
}

} // namespace gf
