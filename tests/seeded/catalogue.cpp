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

/// Replaces the neighbouring lines that end in this marker by `lines`.
std::string replaced(const std::string& text, const std::string& marker, const std::string& lines) {
    std::istringstream in(text);
    std::string out, before;
    int places = 0;
    for (std::string line; std::getline(in, line);) {
        const bool marked = line.ends_with("// defect: " + marker);
        const bool goes_on = before.ends_with("// defect: " + marker);
        if (!marked) out += line + '\n';
        if (marked && !goes_on) {
            ++places;
            if (!lines.empty()) out += lines + '\n';
        }
        before = line;
    }
    if (places != 1) throw std::runtime_error(std::to_string(places) + " places are marked as: " + marker);
    return out;
}

} // namespace

std::vector<Defect> read_catalogue() {
    constexpr std::string_view kernel = "[kernel] ", tree = "[tree] ", survives = "survives: ";
    std::vector<Defect> defects;
    std::ifstream lines(source_tree() / "tests/seeded/catalogue.txt");
    const auto add_line = [](std::string& text, const std::string& line) {
        if (!text.empty()) text += '\n';
        text.append(line, 2);
    };
    for (std::string line; std::getline(lines, line);) {
        const bool in_kernel = line.starts_with(kernel);
        if (line.empty() || line.starts_with('#')) continue;
        if (in_kernel || line.starts_with(tree)) {
            defects.push_back({in_kernel, line.substr(in_kernel ? kernel.size() : tree.size()), {}, {}, {}, {}, {}});
            if (!std::getline(lines, defects.back().file)) break;
            if (const std::size_t at = defects.back().file.find(" @ "); at != std::string::npos) {
                defects.back().marker = defects.back().file.substr(at + 3);
                defects.back().file.resize(at);
            }
        } else if (!defects.empty() && line.starts_with("- ")) {
            add_line(defects.back().from, line);
        } else if (!defects.empty() && line.starts_with("+ ")) {
            add_line(defects.back().to, line);
        } else if (!defects.empty() && line.starts_with(survives)) {
            defects.back().survives = line.substr(survives.size());
        } else {
            throw std::runtime_error("the catalogue of seeded defects: no such line is known: " + line);
        }
    }
    for (Defect& defect : defects)
        if (!defect.marker.empty()) {
            const std::string text = contents(source_tree() / defect.file);
            defect.from = embedded(text);
            defect.to = embedded(replaced(text, defect.marker, defect.to));
        }
    return defects;
}

} // namespace gf::seeded
