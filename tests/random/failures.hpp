// What to do with a case on which the library is wrong: tell, and keep it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "case.hpp"

namespace gf::oracle {

/// What is wrong with the library's answer to a case; nothing where it is right. What it throws is wrong as well.
using Check = std::function<std::optional<std::string>(const Case&)>;

/// While it lives, a case that ends the process is a file in the folder that GRIDFOLD_RANDOM_FAILURES names, if it is
/// set.
class Running {
public:
    Running(std::string_view what, const Case& test);
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running();

private:
    std::filesystem::path file_;
};

/// Checks a case. What is wrong, if anything: what was checked, what was seen, and the text of a regression file with
/// as small a case as `check` (called at most `most_checks` times more) still finds something wrong with. With
/// GRIDFOLD_RANDOM_FAILURES in the environment, that text is also a file in the folder it names; so is a case that ends
/// the process.
std::optional<std::string> failure(std::string_view what, const Check& check, const Case& test, int most_checks = 3000);

} // namespace gf::oracle
