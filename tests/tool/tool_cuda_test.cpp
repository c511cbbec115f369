// The command gridfold on a device: it prints and writes the same as on the CPU.
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/core/device.hpp>
#include <gridfold/core/view.hpp>
#include <gridfold/npy/npy.hpp>

#include "tool/command.hpp"

namespace {

class ToolOnDevice : public gf::test::Command {
protected:
    void SetUp() override {
        if (const std::string reason = gf::cuda_unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
        std::vector<float> x(5000);
        std::vector<std::int32_t> k(5000);
        for (std::size_t i = 0; i < x.size(); ++i) {
            x[i] = static_cast<float>(i % 257) / 16;
            k[i] = static_cast<std::int32_t>(i % 11) - 5;
        }
        gf::npy::write(folder / "x.npy", gf::View(x));
        gf::npy::write(folder / "k.npy", gf::View(k));
        gf::npy::write(folder / "rows.npy", gf::host_view(x.data(), {40, 125}));
        gf::npy::write(folder / "limits.npy", gf::host_view(k.data(), {40}));
    }

    /// The output of `gridfold <words>`, which must exit with `code`.
    std::string printed(const std::string& words, int code = 0) const {
        const gf::test::Outcome outcome = gridfold(words);
        EXPECT_EQ(outcome.code, code) << words << "\n" << outcome.err;
        return code == 0 ? outcome.out : outcome.err;
    }
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
             "run %s --many 'f(x: f32[n], a: i32) -> z = (x - mean(x)) * f32(a), hot = count(x > f32(a)), s = sum(x)' "
             "x=rows.npy a=limits.npy -o z=z.npy",
             "run %s --many --json --verify 'f(x: f32[n], w: f32[m, n]) -> s = sum(x * w), low = min(x where x < 0)' "
             "x=rows.npy w=rows.npy",
         }) {
        const auto on = [&](const std::string& device) {
            std::string words = graph;
            const std::string out = printed(words.replace(words.find("%s"), 2, "--device " + device));
            return out + content("z.npy");
        };
        EXPECT_EQ(on("cuda"), on("cpu")) << graph;
        EXPECT_EQ(on("cuda:0"), on("auto")) << graph;
        std::filesystem::remove(folder / "z.npy");
    }
}

TEST_F(ToolOnDevice, is_listed_and_named) {
    EXPECT_NE(printed("devices").find("cuda:0 (" + gf::devices().front().name), std::string::npos);
    EXPECT_NE(printed("explain --device cuda 'f(x: f32[n]) -> s = sum(x)'").find("device cuda:0"), std::string::npos);
    EXPECT_NE(printed("run --device cuda:99 'f(x: f32[n]) -> s = sum(x)' x=x.npy", 2)
                  .find("device cuda:99 was asked for, but this process sees"),
              std::string::npos);
}

} // namespace
