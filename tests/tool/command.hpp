// Runs the command gridfold in a shell, in a temporary folder.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
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

    /// Runs the shell command `<before>gridfold <words>`. Words may redirect stdin and stdout; otherwise stdin is
    /// empty, unless `before` ends in a pipe.
    Outcome gridfold(const std::string& words, const std::string& before = "") const {
        const bool piped = before.ends_with("| ");
        const std::string command = "cd '" + folder.string() + "' && { " + before + "'" GRIDFOLD_TOOL "'" +
                                    (piped ? "" : " </dev/null") + " >out.txt 2>err.txt " + words + "; }";
        const int status = std::system(command.c_str()); // NOLINT(concurrency-mt-unsafe)
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content("out.txt"), content("err.txt")};
    }
    std::string content(const std::string& name) const {
        std::ostringstream text;
        text << std::ifstream(path(name), std::ios::binary).rdbuf();
        return text.str();
    }

    /// Expects exit code `code`, all of these words in the message, and nothing on stdout.
    void expect_failure(int code, const std::string& words, std::initializer_list<const char*> messages) const {
        const Outcome outcome = gridfold(words);
        EXPECT_EQ(outcome.code, code) << outcome.err;
        EXPECT_EQ(outcome.out, "");
        for (const char* message : messages) EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
    }
    /// Expects exit code 0, exactly this text on stdout, and nothing on stderr.
    void expect_output(const std::string& words, const std::string& out) const {
        const Outcome outcome = gridfold(words);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        EXPECT_EQ(outcome.out, out);
        EXPECT_EQ(outcome.err, "");
    }

    std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("gridfold_tool_" + std::to_string(getpid()));
};

} // namespace gf::test
