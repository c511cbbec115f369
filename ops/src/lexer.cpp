// The tokens of the text form. ASCII and locale-free throughout.
#include "lexer.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include <gridfold/ops/nearest.hpp>

namespace gf::detail {

namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

constexpr std::string_view two_character_symbols[] = {"->", "||", "&&", "==", "!=", "<=", ">=", "<<", ">>"};
constexpr std::string_view symbols = "()[]{},;:=+-*/%&|^~!<>";

} // namespace

InvalidGraph located(std::string_view text, std::size_t position, std::string_view subject, std::string_view rule,
                     std::string_view fix) {
    position = std::min(position, text.size());
    const std::size_t before = text.substr(0, position).rfind('\n');
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::size_t end = std::min(text.find('\n', position), text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(position), '\n');
    // Quotes only the part of a long line around the position.
    constexpr std::size_t margin = 60;
    const std::size_t first = position - begin > margin ? position - margin : begin;
    std::string excerpt;
    for (const char c : text.substr(first, std::min(end, position + margin) - first))
        excerpt += c >= ' ' && c <= '~' ? c : (c == '\t' ? ' ' : '?');
    return {fmt::format("{}:{}{}{}", line, position - begin + 1, subject.empty() ? "" : ": ", subject),
            std::string(rule), std::string(fix),
            fmt::format("    {}\n    {}^", excerpt, std::string(position - first, ' '))};
}

Token Lexer::peek_second() const {
    try {
        Lexer ahead = *this;
        ahead.next();
        return ahead.token_;
    } catch (const InvalidGraph&) { // GCOVR_EXCL_BR_LINE: gcovr counts other exceptions as a branch
        return {.kind = Token::Kind::end, .text = {}, .position = position_};
    }
}

void Lexer::next() {
    while (position_ < text_.size() && (is_blank(text_[position_]) || text_[position_] == '#'))
        position_ = text_[position_] == '#' ? std::min(text_.find('\n', position_), text_.size()) : position_ + 1;
    token_ = {.kind = Token::Kind::end, .text = {}, .position = position_};
    if (position_ == text_.size()) return;
    const std::string_view rest = text_.substr(position_);
    std::size_t length = 1;
    if (starts_name(rest[0])) {
        token_.kind = Token::Kind::name;
        while (length < rest.size() && continues_name(rest[length])) ++length;
    } else if (is_digit(rest[0]) || (rest[0] == '.' && rest.size() > 1 && is_digit(rest[1]))) {
        read_number();
        return;
    } else {
        token_.kind = Token::Kind::symbol;
        const auto same = [&](std::string_view symbol) { return rest.starts_with(symbol); };
        if (std::any_of(std::begin(two_character_symbols), std::end(two_character_symbols), same))
            length = 2;
        else if (symbols.find(rest[0]) == std::string_view::npos)
            throw rest[0] == '?'
                ? located(text_, position_, "", "'?' is not an operator", "write select(condition, a, b)")
                : located(text_, position_, "", "this character has no meaning in a graph's text", "");
    }
    token_.text = rest.substr(0, length);
    position_ += length;
}

void Lexer::read_number() {
    const char* const begin = text_.data() + position_;
    const char* const end = text_.data() + text_.size();
    const bool hex = end - begin > 2 && begin[0] == '0' && (begin[1] == 'x' || begin[1] == 'X');
    const char* last = begin + (hex ? 2 : 0);
    bool floating = false;
    if (hex) {
        while (last != end && (is_digit(*last) || (*last >= 'a' && *last <= 'f') || (*last >= 'A' && *last <= 'F')))
            ++last;
    } else {
        while (last != end && is_digit(*last)) ++last;
        if (last != end && *last == '.') {
            floating = true;
            for (++last; last != end && is_digit(*last);) ++last;
        }
        if (last != end && (*last == 'e' || *last == 'E')) {
            const char* exponent = last + 1;
            if (exponent != end && (*exponent == '+' || *exponent == '-')) ++exponent;
            if (exponent != end && is_digit(*exponent)) {
                floating = true;
                for (last = exponent; last != end && is_digit(*last);) ++last;
            }
        }
    }
    if (last != end && (starts_name(*last) || *last == '.'))
        throw located(text_, static_cast<std::size_t>(last - text_.data()), "", "a number ends here: it has no suffix",
                      "write a type around it, as f32(0.5)");
    token_.kind = Token::Kind::number;
    token_.text = {begin, static_cast<std::size_t>(last - begin)};
    std::from_chars_result read{};
    if (floating) {
        double value = 0;
        read = std::from_chars(begin, last, value);
        token_.literal = value;
    } else {
        std::uint64_t value = 0;
        read = std::from_chars(begin + (hex ? 2 : 0), last, value, hex ? 16 : 10);
        if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            token_.literal = static_cast<std::int64_t>(value);
        else
            token_.literal = value;
    }
    if (read.ec == std::errc::result_out_of_range)
        throw located(text_, position_, "",
                      floating ? "the number is out of the range of f64" : "the integer does not fit 64 bits", "");
    if (read.ec != std::errc()) throw located(text_, position_, "", "a number was expected", "");
    position_ += token_.text.size();
}

} // namespace gf::detail
