// See print.hpp.
#include "print.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "problems.hpp"

namespace gf::tool {
namespace {

constexpr std::int64_t shown_elements = 8;

enum class Form { text, json };

std::string number_text(DType type, std::uint64_t bits, Form form) {
    return with_type(type, [&](auto value) -> std::string {
        using T = decltype(value);
        std::memcpy(static_cast<void*>(&value), &bits, sizeof value);
        if constexpr (std::is_integral_v<T>) {
            return fmt::format("{}", value);
        } else {
            using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
            const auto number = static_cast<Wide>(value);
            if (std::isfinite(number)) return fmt::format("{}", number);
            const char* const word = std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
            return form == Form::json ? fmt::format("\"{}\"", word) : word;
        }
    });
}

std::uint64_t element(const View& view, std::int64_t index) {
    const std::size_t bytes = size_of(view.type);
    std::uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const char*>(view.address) + static_cast<std::size_t>(index) * bytes, bytes);
    return bits;
}

/// An element of an array result; an empty one is null or "empty".
std::string element_text(const Results::Entry& entry, std::int64_t index, Form form) {
    const bool is_empty = entry.valid.extents.rank() > 0 && element(entry.valid, index) == 0;
    if (is_empty) return form == Form::json ? "null" : "empty";
    return number_text(entry.type, element(entry.array, index), form);
}

/// Appends nested lists, from axis `axis` on, of an array that has elements; `index` is the next element's.
void print_nested(std::string& text, const Results::Entry& entry, int axis, std::int64_t& index) {
    const Extents& extents = entry.array.extents;
    if (axis == extents.rank()) {
        text += element_text(entry, index++, Form::json);
        return;
    }
    text += '[';
    for (std::int64_t i = 0; i < extents[axis]; ++i) {
        if (i > 0) text += ", ";
        print_nested(text, entry, axis + 1, index);
    }
    text += ']';
}

std::string array_text(const Results::Entry& entry) {
    const View& view = entry.array;
    std::string text = fmt::format("{}{}", to_text(view.type), to_text(view.extents));
    const auto count = static_cast<std::int64_t>(element_count(view.extents));
    for (std::int64_t i = 0; i < std::min(count, shown_elements); ++i)
        text += fmt::format("{}{}", i == 0 ? ": " : " ", element_text(entry, i, Form::text));
    return text + (count > shown_elements ? " …" : "");
}

/// A path as a JSON string.
std::string quoted(const std::string& path) {
    std::string text = "\"";
    for (const char c : path) {
        if (static_cast<unsigned char>(c) < 0x20)
            text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        else if (c == '"' || c == '\\')
            text += {'\\', c};
        else
            text += c;
    }
    return text + '"';
}

std::string value_text(const Results::Entry& entry) { return entry.is_array ? array_text(entry) : scalar_text(entry); }

std::string file_line(const Results::Entry& entry, const Extents& extents, const std::string& path) {
    return fmt::format("{} = {}{} in {}\n", entry.name, to_text(entry.type), to_text(extents), path);
}

/// `index`: the text `, "index": i` if files hold several problems, else "".
void print_object(std::string& text, const Entries& entries, const Files& files, const std::string& index) {
    text += '{';
    for (const Results::Entry& entry : entries) {
        text += fmt::format("{}\"{}\": ", &entry == entries.data() ? "" : ", ", entry.name);
        const auto file = files.find(entry.name);
        std::int64_t first = 0;
        if (file != files.end())
            text += fmt::format("{{\"file\": {}{}}}", quoted(file->second), index);
        else if (entry.is_array && element_count(entry.array.extents) == 0)
            text += "[]"; // an extent of 0 after one of 10^12 would print as many empty rows
        else if (entry.is_array)
            print_nested(text, entry, 0, first);
        else
            text += entry.empty ? "null" : number_text(entry.type, entry.bits, Form::json);
    }
    text += '}';
}

} // namespace

std::string scalar_text(const Results::Entry& entry) {
    return entry.empty ? "empty" : number_text(entry.type, entry.bits, Form::text);
}

std::string print_lines(const Entries& entries, const Files& files) {
    std::string text;
    for (const Results::Entry& entry : entries) {
        const auto file = files.find(entry.name);
        text += file == files.end() ? fmt::format("{} = {}\n", entry.name, value_text(entry))
                                    : file_line(entry, entry.array.extents, file->second);
    }
    return text;
}

std::string print_lines(std::span<const Entries> problems, const Files& files) {
    std::string text;
    for (std::size_t i = 0; i < problems.size(); ++i)
        for (const Results::Entry& entry : problems[i])
            if (!files.contains(entry.name)) text += fmt::format("[{}] {} = {}\n", i, entry.name, value_text(entry));
    for (const Results::Entry& entry : problems.front())
        if (const auto file = files.find(entry.name); file != files.end())
            text += file_line(entry,
                              with_problems_in_front(static_cast<std::int64_t>(problems.size()), entry.array.extents),
                              file->second);
    return text;
}

std::string print_json(const Entries& entries, const Files& files) {
    std::string text;
    print_object(text, entries, files, "");
    return text + '\n';
}

std::string print_json(std::span<const Entries> problems, const Files& files) {
    std::string text = "[";
    for (std::size_t i = 0; i < problems.size(); ++i) {
        if (i > 0) text += ",\n ";
        print_object(text, problems[i], files, fmt::format(", \"index\": {}", i));
    }
    return text + "]\n";
}

} // namespace gf::tool
