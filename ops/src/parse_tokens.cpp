// What the parser takes token by token, and its refusals.
#include "parser.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <gridfold/ops/nearest.hpp>

#include "refusal.hpp"

namespace gf::detail {

bool Parser::next_is(std::string_view text) const {
    return lexer_.peek().kind != Token::Kind::number && lexer_.peek().text == text;
}

bool Parser::accept(std::string_view text) {
    if (!next_is(text)) return false;
    lexer_.take();
    return true;
}

void Parser::expect(std::string_view text, std::string_view what, std::string_view fix) {
    if (!accept(text)) fail_expected(what, fix);
}

Token Parser::take_name(std::string_view what, std::string_view fix) {
    if (lexer_.peek().kind != Token::Kind::name) fail_expected(what, fix);
    return lexer_.take();
}

std::int64_t Parser::take_integer(std::string_view what) {
    const Token& token = lexer_.peek();
    if (token.kind != Token::Kind::number || token.literal.kind != Literal::Kind::integer) fail_expected(what);
    return lexer_.take().literal.integer;
}

DType Parser::take_type() {
    const Token name = take_name("an element type");
    if (const auto type = dtype_from_text(name.text)) return *type;
    std::vector<std::string_view> types;
    for (const DType type : all_dtypes()) types.push_back(to_text(type));
    fail(name.position,
         fmt::format("{} is not an element type: they are {}", in_quotes(name.text), fmt::join(types, " ")),
         suggestion(name.text, types));
}

void Parser::fail(std::size_t position, std::string_view rule, std::string_view fix) const {
    throw located(lexer_.text(), position, "", rule, fix);
}

void Parser::fail_expected(std::string_view what, std::string_view fix) const {
    const Token& token = lexer_.peek();
    if (token.kind == Token::Kind::end)
        fail(token.position, fmt::format("{} was expected, and the text ends", what), fix);
    const std::string operator_fix = fix_of_operator(token);
    fail(token.position, fmt::format("{} was expected, and here is {}", what, in_quotes(token.text)),
         fix.empty() ? operator_fix : fix);
}

std::string Parser::fix_of_operator(const Token& token) {
    const bool is_word = token.text == "and" || token.text == "or" || token.text == "not";
    return is_word ? fmt::format("write '{}'", own_name(token.text)) : "";
}

std::string suggest(std::string_view name, std::vector<std::string_view> known, std::string_view what,
                    std::string_view none) {
    constexpr std::size_t shown = 8;
    std::sort(known.begin(), known.end());
    const std::string near = suggestion(name, known);
    if (!near.empty() || known.empty()) return known.empty() ? std::string(none) : near;
    const std::size_t count = std::min(known.size(), shown);
    return fmt::format("the {} are {}{}", what, fmt::join(std::span(known).first(count), ", "),
                       count < known.size() ? ", …" : "");
}

} // namespace gf::detail
