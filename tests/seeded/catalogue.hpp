// The seeded defects (catalogue.txt, whose head says how it is written).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gf::seeded {

/// The root of the source tree.
std::filesystem::path source_tree();

std::string contents(const std::filesystem::path& file);

struct Defect {
    bool in_kernel; ///< the same edit of a generated kernel's text is a defect of it
    std::string name, file;
    std::string from, to;
    std::string survives; ///< why no test that needs no GPU finds it; empty where one does
};

/// Throws std::runtime_error for a catalogue that is not written as its head says.
std::vector<Defect> read_catalogue();

} // namespace gf::seeded
