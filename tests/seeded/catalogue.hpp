// The seeded defects (catalogue.txt, whose head says how it is written).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gf::seeded {

/// The root of the source tree.
std::filesystem::path source_tree();

std::string contents(const std::filesystem::path& file);

/// A file's text as cmake/EmbedText.cmake embeds it: without `#pragma once` and without markers.
std::string embedded(const std::string& text);

struct Defect {
    bool in_kernel; ///< the same edit of a generated kernel's text is a defect of it
    std::string name, file;
    /// The place: the marker at the end of the edited lines; empty where `from` itself is looked for.
    std::string marker;
    std::string from, to; ///< of a defect with a marker: the whole file's text, as kernels hold it
    std::string survives; ///< why no test that needs no GPU finds it; empty where one does
};

/// Throws std::runtime_error for a catalogue that is not written as its head says.
std::vector<Defect> read_catalogue();

} // namespace gf::seeded
