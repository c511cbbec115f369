// The elementary functions that a kernel calls, found by their names.
#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

#include <fmt/format.h>

#include <gridfold/core/device_text.hpp>

namespace gf::detail {
namespace {

using Names = std::set<std::string, std::less<>>;

/// The names in `code` that `(` follows.
Names called(std::string_view code) {
    const auto in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    Names names;
    for (auto from = code.begin(); from != code.end();) {
        from = std::find_if(from, code.end(), in_name);
        const auto to = std::find_if_not(from, code.end(), in_name);
        const auto next = std::find_if_not(to, code.end(), [](char c) { return c == ' ' || c == '\n'; });
        if (next != code.end() && *next == '(') names.emplace(from, to);
        from = to;
    }
    return names;
}

/// A file of device/functions.
struct Family {
    std::string_view text;
    std::set<std::size_t> needs = {}; ///< the families that it depends on, by number, with theirs
    Names functions = {};             ///< those that it exports
    Names with_plain_form = {};       ///< those of them that called() of device/lanes.cuh takes
};

/// The names that `text` exports by a macro, whose name ends with the number of operands.
Names exported_by(std::string_view text, std::string_view macro) {
    const std::string line = fmt::format("\n{}", macro);
    Names names;
    for (std::size_t at = text.find(line); at != std::string_view::npos; at = text.find(line, at + 1)) {
        const std::size_t from = text.find('(', at) + 1;
        names.emplace(text.substr(from, text.find(')', from) - from));
    }
    return names;
}

std::vector<Family> read_families() {
    std::vector<Family> families{{.text = real_text()},
                                 {.text = exponential_text(), .needs = {0}},
                                 {.text = logarithm_text(), .needs = {0}},
                                 {.text = power_text(), .needs = {0, 1, 2}},
                                 {.text = trigonometric_text(), .needs = {0}},
                                 {.text = error_function_text(), .needs = {0, 1}}};
    for (std::size_t f = 1; f < families.size(); ++f) {
        families[f].with_plain_form = exported_by(families[f].text, "GRIDFOLD_PLAIN_FUNCTION_");
        families[f].functions = exported_by(families[f].text, "GRIDFOLD_FUNCTION_");
        families[f].functions.insert(families[f].with_plain_form.begin(), families[f].with_plain_form.end());
    }
    return families;
}

const std::vector<Family>& all_families() {
    static const std::vector<Family> families = read_families();
    return families;
}

/// The families that `code` needs, by number.
std::set<std::size_t> needed_by(std::string_view code) {
    const std::vector<Family>& families = all_families();
    const Names names = called(code);
    const auto is_called = [&](const std::string& function) { return names.contains(function); };
    std::set<std::size_t> needed;
    for (std::size_t f = 0; f < families.size(); ++f) {
        if (!std::ranges::any_of(families[f].functions, is_called)) continue;
        needed.insert(f);
        needed.insert(families[f].needs.begin(), families[f].needs.end());
    }
    return needed;
}

} // namespace

std::string function_text(std::string_view code) {
    const std::set<std::size_t> needed = needed_by(code);
    if (needed.empty()) return "";
    std::string text = joined({"#if defined(GRIDFOLD_FAST_MATH)\n", cuda_text(), "#else\n"});
    for (const std::size_t f : needed) text += all_families()[f].text;
    return text + "#endif\n";
}

bool calls_functions(std::string_view code) { return !needed_by(code).empty(); }

bool has_plain_form(std::string_view function) {
    return std::ranges::any_of(all_families(),
                               [&](const Family& family) { return family.with_plain_form.contains(function); });
}

} // namespace gf::detail
