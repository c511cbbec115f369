// The catalogue of seeded defects keeps up with the sources, and the table with the catalogue.
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "catalogue.hpp"

namespace gf::seeded {
namespace {

std::size_t occurrences(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
    return count;
}

TEST(SeededCatalogue, every_edit_applies_exactly_once) {
    const std::vector<Defect> defects = read_catalogue();
    EXPECT_GE(defects.size(), 100u);
    std::set<std::string> names;
    for (const Defect& defect : defects) {
        EXPECT_TRUE(names.insert(defect.name).second) << "two defects are called: " << defect.name;
        const Edit changed = edit(defect); // throws if it does not apply
        EXPECT_NE(changed.from, changed.to) << defect.name;
    }
}

TEST(SeededCatalogue, every_marker_is_named_by_a_defect) {
    std::set<std::pair<std::string, std::string>> places;
    for (const Defect& defect : read_catalogue()) places.emplace(defect.file, defect.marker);
    static const std::regex marker(R"(// defect: (.+))");
    std::size_t markers = 0;
    for (const char* folder : {"core", "ops", "fusion"})
        for (const auto& entry : std::filesystem::recursive_directory_iterator(source_tree() / folder)) {
            if (!entry.is_regular_file()) continue;
            std::istringstream lines(contents(entry.path()));
            for (std::string line; std::getline(lines, line);)
                if (std::smatch match; std::regex_search(line, match, marker)) {
                    const std::string file = std::filesystem::relative(entry.path(), source_tree()).generic_string();
                    EXPECT_TRUE(places.contains({file, match[1]})) << file << ": " << line;
                    ++markers;
                }
        }
    EXPECT_GE(markers, 150u);
}

TEST(SeededCatalogue, the_table_says_of_every_defect_and_no_other_what_finds_it) {
    const std::vector<Defect> defects = read_catalogue();
    std::string table = contents(source_tree() / "tests/seeded/killed.md");
    for (const Defect& defect : defects) {
        const std::string row =
            "\n| " + defect.name + " | `" + std::filesystem::path(defect.file).filename().string() + "` | ";
        const std::size_t at = table.find(row);
        EXPECT_NE(at, std::string::npos) << defect.name << ": run scripts/seeded-bugs '" << defect.name << "'";
        if (at == std::string::npos) continue;
        const std::string by = table.substr(at + row.size(), table.find('\n', at + 1) - at - row.size());
        if (defect.survives.empty())
            EXPECT_FALSE(by.starts_with("survives: ")) << defect.name << " is found by no test";
        else
            EXPECT_EQ(by, "survives: " + defect.survives + " |");
    }
    EXPECT_EQ(occurrences(table, "\n| "), defects.size() + 2); // and the table's head
}

/// The suite and the name of "binary: instance/Suite/number of a type.name/parameter".
std::pair<std::string, std::string> suite_and_name(const std::string& by) {
    static const std::regex test(R"([^:]+: (?:\w+/)?([A-Z]\w*)(?:/\d+)?\.(\w+).*)");
    std::smatch match;
    if (!std::regex_match(by, match, test)) return {};
    return {match[1], match[2]};
}

bool has_test(const std::string& tests, const std::string& suite, const std::string& name) {
    return tests.find("(" + suite + ", " + name + ")") != std::string::npos;
}

TEST(SeededCatalogue, the_table_names_tests_that_there_are) {
    std::string tests;
    for (const auto& file : std::filesystem::recursive_directory_iterator(source_tree() / "tests"))
        if (file.path().string().ends_with("_test.cpp")) tests += contents(file.path());
    const std::string functions = contents(source_tree() / "tests/functions/functions.def");
    std::istringstream table(contents(source_tree() / "tests/seeded/killed.md"));
    int named = 0;
    for (std::string row; std::getline(table, row);) {
        const std::size_t by = row.rfind("` | ");
        if (by == std::string::npos || row.substr(by + 4).starts_with("survives: ")) continue;
        const auto [suite, name] = suite_and_name(row.substr(by + 4));
        // BackendCpuOrder has a test for each row of reduce.def, Errors one for each row of functions.def: a macro's
        // parameter is the name, or its end.
        const std::size_t end = name.rfind('_') + 1;
        const bool is_row = functions.find("GRIDFOLD_FUNCTION(" + name.substr(end) + ",") != std::string::npos;
        const std::string of_row = is_row ? name.substr(0, end) + "##name" : name;
        EXPECT_TRUE(has_test(tests, suite, name) || has_test(tests, suite, "id") || has_test(tests, suite, of_row))
            << row;
        ++named;
    }
    EXPECT_GE(named, 100);
}

} // namespace
} // namespace gf::seeded
