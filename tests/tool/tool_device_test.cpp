// The command gridfold on a device: it prints and writes what it does on the CPU.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gridfold/core/device.hpp>
#include <gridfold/core/view.hpp>

#include "npy/npy.hpp"

namespace {

class ToolOnDevice : public testing::Test {
protected:
    void SetUp() override {
        if (const std::string reason = gf::cuda_unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
        std::filesystem::create_directories(folder);
        std::vector<float> x(5000);
        std::vector<std::int32_t> k(5000);
        for (std::size_t i = 0; i < x.size(); ++i) {
            x[i] = static_cast<float>(i % 257) / 16;
            k[i] = static_cast<std::int32_t>(i % 11) - 5;
        }
        gf::npy::write(folder / "x.npy", gf::View(x));
        gf::npy::write(folder / "k.npy", gf::View(k));
    }
    ~ToolOnDevice() override { std::filesystem::remove_all(folder); }

    /// What `gridfold <words>` prints, if it exits with `code`.
    std::string gridfold(const std::string& words, int code = 0) const {
        const std::string command =
            "cd '" + folder.string() + "' && '" GRIDFOLD_TOOL "' " + words + " >out.txt 2>err.txt </dev/null";
        const int status = std::system(command.c_str());
        EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, code) << words << "\n" << content("err.txt");
        return content(code == 0 ? "out.txt" : "err.txt");
    }
    std::string content(const std::string& name) const {
        std::ostringstream text;
        text << std::ifstream(folder / name, std::ios::binary).rdbuf();
        return text.str();
    }

    std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("gridfold_tool_device_" + std::to_string(getpid()));
};

TEST_F(ToolOnDevice, gives_what_the_cpu_gives) {
    for (const std::string graph : {
             "run %s 'f(k: i32[n]) -> c = sum(k * k * k), m = mean(k), top = max(k), at = argmax(k)' k=k.npy",
             "run %s --json 'f(k: i32[n], x: f32[n]) -> none = min(k where k > 9), gone = min(x where k > 9), y = "
             "any(k "
             "> 4)' "
             "k=k.npy x=x.npy",
             "run %s --no-fuse 'f(x: f32[n]) -> z = (x - mean(x)) / stddev(x), s = sum(x)' x=x.npy -o z=z.npy",
             "run %s --verify 'f(x: f32[n], a: f32) -> z = sqrt(x) * a, s = sum(x where x > a)' x=x.npy a=2 -o z=z.npy",
         }) {
        const auto on = [&](const std::string& device) {
            std::string words = graph;
            const std::string out = gridfold(words.replace(words.find("%s"), 2, "--device " + device));
            return out + content("z.npy");
        };
        EXPECT_EQ(on("cuda"), on("cpu")) << graph;
        EXPECT_EQ(on("cuda:0"), on("auto")) << graph;
        std::filesystem::remove(folder / "z.npy");
    }
}

TEST_F(ToolOnDevice, is_listed_and_named) {
    EXPECT_NE(gridfold("devices").find("cuda:0 (" + gf::devices().front().name), std::string::npos);
    EXPECT_NE(gridfold("explain --device cuda 'f(x: f32[n]) -> s = sum(x)'").find("device cuda:0"), std::string::npos);
    EXPECT_NE(gridfold("run --device cuda:99 'f(x: f32[n]) -> s = sum(x)' x=x.npy", 2)
                  .find("device cuda:99 was asked for, but this process sees"),
              std::string::npos);
}

} // namespace
