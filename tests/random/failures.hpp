// Failing cases: minimises, describes and stores them.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "case.hpp"

namespace gf::oracle {

/// Describes what is wrong with the library's answer to a case; nothing if it is right. An exception is wrong, too.
using Check = std::function<std::optional<std::string>(const Case&)>;

/// While it lives, a case that ends the process is written to a file in the folder that GRIDFOLD_RANDOM_FAILURES names.
class Running {
public:
    Running(std::string_view what, const Case& test);
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running();

private:
    std::filesystem::path file_;
};

/// Checks a case. Returns nothing if it is right, else a message: `what`, the difference, and the text of a regression
/// file with a minimised case (after at most `most_checks` more calls of `check`). If GRIDFOLD_RANDOM_FAILURES names a
/// folder, that text is also written to a file there; so is a case that ends the process.
std::optional<std::string> failure(std::string_view what, const Check& check, const Case& test, int most_checks = 3000);

} // namespace gf::oracle
