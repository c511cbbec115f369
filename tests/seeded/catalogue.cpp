// See catalogue.hpp.
#include "catalogue.hpp"

#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace gf::seeded {

std::filesystem::path source_tree() { return GRIDFOLD_SOURCE_TREE; }

std::string contents(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

std::string embedded(const std::string& text) {
    static const std::regex marker(" *// defect: [^\n]*"), once("#pragma once\n");
    return std::regex_replace(std::regex_replace(text, marker, ""), once, "");
}

namespace {

/// Replaces the neighbouring lines of `text` that end in the defect's marker by `to`.
std::string replaced(const std::string& text, const Defect& defect) {
    const std::string marker = "// defect: " + defect.marker;
    std::istringstream in(text);
    std::string out, before;
    int places = 0;
    for (std::string line; std::getline(in, line);) {
        const bool marked = line.ends_with(marker);
        const bool goes_on = before.ends_with(marker);
        if (!marked) out += line + '\n';
        if (marked && !goes_on) {
            ++places;
            out += defect.lines;
        }
        before = line;
    }
    if (places != 1)
        throw std::runtime_error(defect.name + ": " + std::to_string(places) + " places of " + defect.file +
                                 " end in " + marker);
    return out;
}

} // namespace

std::vector<Defect> read_catalogue() {
    constexpr std::string_view kernel = "[kernel] ", tree = "[tree] ", survives = "survives: ", by = "by: ";
    std::vector<Defect> defects;
    std::ifstream lines(source_tree() / "tests/seeded/catalogue.txt");
    for (std::string line; std::getline(lines, line);) {
        const bool in_kernel = line.starts_with(kernel);
        if (line.empty() || line.starts_with('#')) continue;
        if (in_kernel || line.starts_with(tree)) {
            defects.push_back({in_kernel, line.substr(in_kernel ? kernel.size() : tree.size()), {}, {}, {}, {}, {}});
            std::getline(lines, line);
            const std::size_t at = line.find(" @ ");
            if (at == std::string::npos) throw std::runtime_error("a seeded defect has no FILE @ PLACE: " + line);
            defects.back().file = line.substr(0, at);
            defects.back().marker = line.substr(at + 3);
        } else if (!defects.empty() && line.starts_with("+ ")) {
            defects.back().lines.append(line, 2).append("\n");
        } else if (!defects.empty() && line.starts_with(survives)) {
            defects.back().survives = line.substr(survives.size());
        } else if (!defects.empty() && line.starts_with(by)) {
            defects.back().by = line.substr(by.size());
        } else {
            throw std::runtime_error("the catalogue of seeded defects: no such line is known: " + line);
        }
    }
    return defects;
}

Edit edit(const Defect& defect) {
    const std::string text = contents(source_tree() / defect.file);
    return {embedded(text), embedded(replaced(text, defect))};
}

} // namespace gf::seeded
