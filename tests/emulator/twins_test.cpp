// What only a GPU has (PTX, the built-in variables and functions of CUDA) stands in device text where a host compiler does not
// look, and has a twin for it there: else the emulator would not run what a GPU runs.
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/core/device_text.hpp>
#include <gridfold/ops/device_text.hpp>
#include <gridfold/ops/op.hpp>

namespace gf {
namespace {

enum class Side { both, device, host };

struct Sides {
    std::set<std::string> device, host; // names of the functions defined for each
    std::vector<std::string> strays;    // lines for both sides, or the host, that only a GPU understands
};

/// Reads text line by line, keeping track of which sides see it.
void read(std::string_view text, Sides& sides) {
    const std::regex device_if(R"(^#if.*defined\(__CUDA(CC|_ARCH)__\).*)");
    const std::regex definition(R"(.*GRIDFOLD_FN .*?(\w+)\([^;]*\{.*)");
    const std::regex only_device(
        R"(.*(\basm\b|\b__shfl|\b__syncthreads|threadIdx|blockIdx|gridDim|__shared__|\b__\w+_as_\w+\().*)");
    std::vector<Side> open;
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string line(text.substr(begin, end - begin));
        begin = end + 1;
        const auto opposite = [](Side side) { return side == Side::device ? Side::host : Side::both; };
        if (line.starts_with("#if"))
            open.push_back(std::regex_match(line, device_if) ? Side::device : Side::both);
        else if (line.starts_with("#else"))
            open.back() = opposite(open.back());
        else if (line.starts_with("#endif"))
            open.pop_back();
        Side side = Side::both;
        for (const Side around : open)
            if (around != Side::both) side = around;
        std::smatch match;
        if (std::regex_match(line, match, definition)) {
            if (side != Side::host) sides.device.insert(match[1]);
            if (side != Side::device) sides.host.insert(match[1]);
        }
        if (side != Side::device && !line.starts_with("//") && std::regex_match(line, only_device))
            sides.strays.push_back(line);
    }
    EXPECT_TRUE(open.empty());
}

Sides of_all_device_text() {
    Sides sides;
    for (const std::string_view text :
         {detail::prelude_text(), detail::warp_text(), detail::block_text(), detail::grid_text(), detail::sweep_text()})
        read(text, sides);
    for (const ReduceRow* row : all_reductions()) read(monoid_source(*row->monoid), sides);
    return sides;
}

TEST(Twins, functions_are_there_for_the_device_and_for_the_host) {
    const Sides sides = of_all_device_text();
    EXPECT_EQ(sides.device, sides.host);
    EXPECT_TRUE(sides.device.contains("store_relaxed_system"));
    EXPECT_TRUE(sides.device.contains("minimum"));
}

TEST(Twins, what_only_a_gpu_has_is_hidden_from_the_host) {
    EXPECT_EQ(of_all_device_text().strays, std::vector<std::string>{});
}

TEST(Twins, are_missed) {
    Sides sides;
    read("#if defined(__CUDACC__)\nGRIDFOLD_FN u32 vote(u32 a) { asm(\"\"); }\nGRIDFOLD_FN u32 lane() { return 1; "
         "}\n#else\n"
         "GRIDFOLD_FN u32 lane() { return threadIdx.x; }\n#endif\n",
         sides);
    EXPECT_TRUE(sides.device.contains("vote"));
    EXPECT_FALSE(sides.host.contains("vote"));
    EXPECT_EQ(sides.strays.size(), 1U);
}

} // namespace
} // namespace gf
