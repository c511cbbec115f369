// Calls of the text form: casts, index and extent, shifts, maps, and reductions with their attributes.
#include "parser.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <gridfold/ops/nearest.hpp>

#include "refusal.hpp"

namespace gf::detail {

namespace {

bool is_attribute(const Token& word, bool followed_by_equals) {
    if (word.kind != Token::Kind::name) return false;
    const bool reserved = word.text == "where" || word.text == "over" || word.text == "by" || word.text == "groups";
    return reserved || (followed_by_equals && (word.text == "accumulate" || word.text == "ddof" ||
                                               word.text == "rank" || word.text == "otherwise"));
}

} // namespace

Term Parser::parse_call(const Token& name) {
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
        return {value_at(name.position, [&] { return name.text == "index" ? graph_.index(dim) : graph_.extent(dim); }),
                name.position};
    }
    if (name.text == "shift") return parse_shift(name);
    if (name.text == "top_k") return parse_top_k(name);
    const MapOp* map = find_map(name.text);
    const bool is_dot = name.text == "dot";
    const ReduceOp* reduction = is_dot ? &reduce_op::sum : find_reduction(name.text);
    if (!map && !reduction) fail_unknown_function(name);
    std::vector<Operand> operands;
    do {
        if (operands.size() == static_cast<std::size_t>(max_arity))
            fail(lexer_.peek().position, fmt::format("a function takes at most {} operands", max_arity));
        if (lexer_.peek().kind == Token::Kind::name && lexer_.peek_second().text == "=")
            fail(lexer_.peek().position,
                 fmt::format("{} is not an attribute: they are where, over, by, groups, accumulate, ddof, rank "
                             "and otherwise",
                             in_quotes(lexer_.peek().text)),
                 lexer_.peek().text == "axis" || lexer_.peek().text == "dim"
                     ? fmt::format("name the dims to fold, as in {}(x over [k])", name.text)
                     : "");
        operands.push_back(parse_expression().operand);
    } while (!attribute_follows() && accept(","));
    const auto folds = is_dot ? std::size_t{2} : reduction ? static_cast<std::size_t>(reduction->monoid->operands) : 0;
    const bool are_folded = operands.size() == folds;
    if (is_dot && are_folded) operands = {value_at(name.position, [&] { return graph_.map(map_op::mul, operands); })};
    if (are_folded) return {parse_reduction(name, *reduction, operands), name.position};
    if (!map)
        fail(name.position,
             fmt::format("{} reduces {} operand{}, and got {}", name.text,
                         folds == 1 ? "one" : fmt::format("{}", folds), folds == 1 ? "" : "s", operands.size()),
             fmt::format("to fold some dims, name them, as in {}({} over [k])", name.text,
                         folds == 1   ? "x"
                         : folds == 2 ? "x, y"
                                      : "x, y, z"));
    expect(")", "an operator, ',' or ')'");
    return {value_at(name.position, [&] { return graph_.map(*map, operands); }), name.position};
}

Term Parser::parse_shift(const Token& name) {
    constexpr std::string_view form = "write it as in shift(x, n, -1, edge = 0)";
    const Term operand = parse_expression();
    if (operand.operand.literal) fail(operand.position, "shift moves a value, and a number has no dims", form);
    expect(",", "an operator, or ',' and the dim", form);
    const Dim dim = take_dim();
    expect(",", "',' and the offset", form);
    const bool is_negative = accept("-");
    const std::int64_t offset = take_integer("the offset, an integer,");
    expect(",", "',' and what is outside", "say it as edge = 0, edge = clamp or edge = wrap");
    if (!next_is("edge")) fail_expected("what is outside", "say it as edge = 0, edge = clamp or edge = wrap");
    lexer_.take();
    expect("=", "'=' and what is outside", form);
    const Edge edge = parse_edge();
    expect(")", "')' after what is outside");
    return {value_at(name.position,
                     [&] { return graph_.shift(operand.operand.value, dim, is_negative ? -offset : offset, edge); }),
            name.position};
}

/// clamp, wrap or a number.
Edge Parser::parse_edge() {
    for (const auto& [word, edge] : {std::pair{"clamp", edge::clamp}, {"wrap", edge::wrap}})
        if (next_is(word)) {
            lexer_.take();
            return edge;
        }
    const std::size_t position = lexer_.peek().position;
    const Term number = parse_expression();
    if (!number.operand.literal) fail(position, "an edge is a number, clamp or wrap", "write one, as in edge = 0");
    return edge::value(*number.operand.literal);
}

void Parser::fail_unknown_function(const Token& name) const {
    std::vector<std::string_view> known{"index", "extent", "shift", "dot", "top_k"};
    for (const MapOp* row : all_maps()) known.push_back(row->name);
    for (const ReduceOp* row : all_reductions()) known.push_back(row->name);
    for (const DType type : all_dtypes()) known.push_back(to_text(type));
    if (const std::string_view own = own_name(name.text); !own.empty())
        fail(name.position, fmt::format("{} is not a function", in_quotes(name.text)),
             fmt::format("here it is '{}'", own));
    const std::string near = suggestion(name.text, known);
    fail(name.position, fmt::format("{} is not a function", in_quotes(name.text)),
         near.empty() ? "gridfold ops lists all, as does docs/ops.md" : near);
}

Dim Parser::take_dim() {
    const Token name = take_name("a dim's name");
    const auto dim = dims_.find(name.text);
    if (dim != dims_.end()) return dim->second;
    std::vector<std::string_view> known;
    for (const auto& [text, position] : dims_)
        if (known.size() < 1000) known.push_back(text);
    fail(name.position, fmt::format("{} is not a dim here", in_quotes(name.text)),
         suggest(name.text, std::move(known), "dims", "declare it, as in f([m], a: f32)"));
}

bool Parser::attribute_follows() const {
    Lexer ahead = lexer_;
    if (next_is(",")) ahead.take();
    return is_attribute(ahead.peek(), ahead.peek_second().text == "=");
}

/// The dims to fold, in brackets.
std::vector<Dim> Parser::parse_folded_dims() {
    if (!accept("["))
        fail(lexer_.peek().position, "the dims to fold are names, listed in brackets", "write them as in over [i, k]");
    if (next_is("]"))
        fail(lexer_.peek().position, "a reduction folds at least one dim", "leave `over` out to fold every dim");
    return parse_known_dims("',' or ']' after a dim to fold");
}

std::vector<Dim> Parser::parse_known_dims(std::string_view end) {
    std::vector<Dim> dims;
    do {
        if (!dims.empty() && next_is("]"))
            fail(lexer_.peek().position, "a dim follows a comma", "leave the last comma out");
        dims.push_back(take_dim());
    } while (accept(","));
    expect("]", end);
    return dims;
}

Term Parser::parse_top_k(const Token& name) {
    constexpr std::string_view form = "write it as in f([n, rank = 5], x: f32[n]) -> best = top_k(x, rank)";
    const Term operand = parse_expression();
    expect(",", "an operator, or ',' and the dim of the ranks", form);
    const Dim rank = take_dim();
    const ReduceOptions options = parse_attributes();
    if (operand.operand.literal) fail(operand.position, "top_k reduces a value, and a number has no elements", form);
    return {value_at(name.position, [&] { return top_k(operand.operand.value, rank, options); }), name.position};
}

/// The attributes of a reduction, and its ")".
ReduceOptions Parser::parse_attributes() {
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
            options.over = parse_folded_dims();
        } else if (word.text == "by") {
            options.by = parse_value();
        } else if (word.text == "groups") {
            options.groups = take_integer("the number of groups, an integer from 0,");
        } else if (word.text == "accumulate") {
            options.accumulate = take_type();
        } else if (word.text == "otherwise") {
            const std::size_t position = lexer_.peek().position;
            options.otherwise = parse_expression().operand.literal;
            if (!options.otherwise) fail(position, "otherwise is a number", "write one, as in otherwise = 0");
        } else {
            const std::size_t position = lexer_.peek().position;
            const std::int64_t number = take_integer(fmt::format("{}, an integer from 0,", word.text));
            if (number > std::numeric_limits<int>::max())
                fail(position, fmt::format("{} does not fit 32 bits", word.text));
            (word.text == "ddof" ? options.ddof : options.rank) = static_cast<int>(number);
        }
    }
    expect(")", "an operator, ')' or one of where, over, by, groups, accumulate =, ddof =, rank = and otherwise =");
    return options;
}

Value Parser::parse_reduction(const Token& name, const ReduceOp& row, const std::vector<Operand>& operands) {
    const ReduceOptions options = parse_attributes();
    std::vector<Value> values;
    for (const Operand& operand : operands) {
        if (operand.literal)
            fail(name.position, fmt::format("{} reduces a value, and a number by itself has no type", name.text),
                 "to count elements, use count of a bool value");
        values.push_back(operand.value);
    }
    return value_at(name.position, [&] { return graph_.reduce(row, values, options); });
}

} // namespace gf::detail
