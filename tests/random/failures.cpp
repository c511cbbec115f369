// See failures.hpp.
#include "failures.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <unistd.h>

#include "minimise.hpp"

namespace gf::oracle {

namespace {

std::optional<std::string> outcome(const Check& check, const Case& test) {
    try {
        return check(test);
    } catch (const std::exception& error) {
        return fmt::format("throws: {}", error.what());
    }
}

/// The path of a file in the folder of failures; "" if no folder is set.
std::filesystem::path place(std::string name) {
    const char* const folder = std::getenv("GRIDFOLD_RANDOM_FAILURES");
    if (folder == nullptr) return {};
    std::ranges::replace(name, ' ', '-');
    std::filesystem::create_directories(folder);
    return std::filesystem::path(folder) / name;
}

/// The text as comment lines of a regression file.
std::string commented(std::string_view text) {
    std::string comment = "# ";
    for (const char c : text) comment += c == '\n' ? std::string("\n# ") : std::string(1, c);
    return comment + "\n";
}

} // namespace

Running::Running(std::string_view what, const Case& test)
    : file_(place(fmt::format("ended-the-process-{}.txt", getpid()))) {
    if (!file_.empty()) std::ofstream(file_) << commented(what) << describe(test);
}

Running::~Running() {
    if (!file_.empty()) std::filesystem::remove(file_);
}

std::optional<std::string> failure(std::string_view what, const Check& check, const Case& test, int most_checks) {
    const Running running(what, test);
    std::optional<std::string> seen = outcome(check, test);
    std::optional<std::string> text;
    if (seen) {
        const Case small = minimise(
            test, [&](const Case& c) { return outcome(check, c).has_value(); }, most_checks);
        // The text form may number nodes differently, so the parsed text is checked again.
        const Case again = read_case(describe(small));
        text = commented(fmt::format("{}: {}", what, outcome(check, again).value_or("not seen again from this text"))) +
               describe(again);
        if (const auto file = place(fmt::format("{}-{}.txt", what, test.seed)); !file.empty())
            std::ofstream(file) << *text;
    }
    return text;
}

} // namespace gf::oracle
