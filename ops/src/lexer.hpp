// Tokens of the text form, and errors with their place.
#pragma once

#include <cstddef>
#include <string_view>

#include <gridfold/core/error.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf::detail {

struct Token {
    enum class Kind { name, number, symbol, end } kind = Kind::end;
    std::string_view text;
    std::size_t position = 0; ///< bytes from the start of the text
    Literal literal = false;  ///< a number's value
};

/// An InvalidGraph whose message starts with the line and column of `position` and ends with that line and a caret.
InvalidGraph located(std::string_view text, std::size_t position, std::string_view subject, std::string_view rule,
                     std::string_view fix);

/// Reads a text token by token. An unknown token is a located error.
class Lexer {
public:
    explicit Lexer(std::string_view text) : text_(text) { next(); }

    const Token& peek() const noexcept { return token_; }
    /// The token after peek(). An unknown token is read as the end here, and reported when it is taken.
    Token peek_second() const;
    /// Returns peek() and advances to the next token.
    Token take() {
        const Token token = token_;
        next();
        return token;
    }
    std::string_view text() const noexcept { return text_; }

private:
    void next();
    void read_number();

    std::string_view text_;
    std::size_t position_ = 0;
    Token token_;
};

} // namespace gf::detail
