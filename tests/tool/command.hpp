// The command gridfold, run as its users run it, in a folder of its own.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gf::test {

struct Outcome {
    int code; ///< −1: no exit
    std::string out, err;
};

class Command : public testing::Test {
protected:
    Command() { std::filesystem::create_directories(folder); }
    ~Command() override { std::filesystem::remove_all(folder); }

    std::string path(const std::string& name) const { return folder / name; }

    /// Runs `gridfold <words>`; words are the shell's.
    Outcome gridfold(const std::string& words) const {
        const std::string command =
            "cd '" + folder.string() + "' && '" GRIDFOLD_TOOL "' " + words + " >out.txt 2>err.txt </dev/null";
        const int status = std::system(command.c_str()); // NOLINT(concurrency-mt-unsafe)
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content("out.txt"), content("err.txt")};
    }
    std::string content(const std::string& name) const {
        std::ostringstream text;
        text << std::ifstream(path(name), std::ios::binary).rdbuf();
        return text.str();
    }

    std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("gridfold_tool_" + std::to_string(getpid()));
};

} // namespace gf::test
