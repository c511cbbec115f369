// See catalogue.hpp.
#include "catalogue.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace gf::seeded {

std::filesystem::path source_tree() { return GRIDFOLD_SOURCE_TREE; }

std::string contents(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

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
            defects.push_back({in_kernel, line.substr(in_kernel ? kernel.size() : tree.size()), {}, {}, {}, {}});
            if (!std::getline(lines, defects.back().file)) break;
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
    return defects;
}

} // namespace gf::seeded
