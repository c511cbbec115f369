// The seeded defects (catalogue.txt, whose head describes the format).
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
    bool in_kernel; ///< the edit also applies to a generated kernel's text
    std::string name, file;
    std::string marker;   ///< the edited lines end in `// defect: ` and this
    std::string lines;    ///< what they are replaced by
    std::string survives; ///< why no test without a GPU finds it; "" if one does
    std::string by;       ///< the only graph of seeded_bugs_emulated_test to try, which finds it; "" for all
};

/// Throws std::runtime_error for a catalogue of another format.
std::vector<Defect> read_catalogue();

/// A whole file's embedded text, without and with a defect.
struct Edit {
    std::string from, to;
};

/// Throws std::runtime_error if the defect's marker is not at exactly one place. That is so while scripts/seeded-bugs
/// tests it: a test that calls this for a defect of the kind [tree] would find each of them.
Edit edit(const Defect& defect);

} // namespace gf::seeded
