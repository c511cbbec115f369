// Lines of generated text, indented by scope, with trailing notes for readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace gf::cuda {

class Writer {
public:
    /// trailing: notes and comments are written, for people; none: they are omitted, for the compiler.
    enum class Notes : std::uint8_t { none, trailing };

    explicit Writer(Notes notes) : notes_(notes) {}

    template <class... Args> void line(fmt::format_string<Args...> format, Args&&... args) {
        const std::size_t begin = text_.size();
        text_.append(indent_, ' ');
        fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
        last_ = text_.size() - begin;
        text_ += '\n';
    }
    /// Opens a scope with a line that ends in a brace; close() ends it.
    template <class... Args> void open(fmt::format_string<Args...> format, Args&&... args) {
        line(format, std::forward<Args>(args)...);
        indent_ += 4;
    }
    void close(std::string_view end = "}") {
        indent_ -= 4;
        line("{}", end);
    }
    void blank() { text_ += '\n'; }
    /// Appends a comment to the last line.
    void note(const std::string& words) {
        constexpr std::size_t column = 68;
        if (notes_ == Notes::none || words.empty()) return;
        text_.pop_back();
        text_.append(last_ + 2 > column ? 2 : column - last_, ' ').append("// ").append(words) += '\n';
    }
    /// Writes a comment on a line of its own.
    void comment(const std::string& words) {
        if (notes_ == Notes::trailing) line("// {}", words);
    }
    std::string take() { return std::move(text_); }

private:
    Notes notes_;
    std::string text_;
    std::size_t indent_ = 0, last_ = 0;
};

} // namespace gf::cuda
