// PTX and CUDA's built-in variables and functions are used only in device text that the host compiler skips, and every
// function there has a twin for the host: otherwise the emulator would not run the same kernel as a GPU.
#include <algorithm>
#include <iterator>
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

enum class Side { both, device, host, unclear };

struct Sides {
    std::set<std::string> device, host; // the functions defined for each, as name/number of parameters
    std::vector<std::string> strays;    // lines for both sides, or the host, that only a GPU understands
};

/// The number of parameters of a definition whose list begins at `open`.
int arity(std::string_view line, std::size_t open) {
    constexpr std::string_view opening = "([{<", closing = ")]}>";
    int depth = 0, commas = 0;
    for (std::size_t i = open; i < line.size(); ++i) {
        depth += opening.find(line[i]) != opening.npos ? 1 : closing.find(line[i]) != closing.npos ? -1 : 0;
        commas += depth == 1 && line[i] == ',' ? 1 : 0;
        if (depth == 0) return line[i - 1] == '(' ? 0 : commas + 1;
    }
    return -1; // the list continues on the next line
}

/// Reads text line by line and tracks the sides that compile it.
void read(std::string_view text, Sides& sides) {
    const std::regex condition(
        R"(^#(?:el)?if (!?)defined\(__CUDA(?:CC|CC_RTC|_ARCH)__\)(?: && __CUDA_ARCH__ >= \d+)?)");
    const std::regex definition(R"(.*GRIDFOLD_FN .*?(\w+)\([^;]*\{.*)");
    const std::regex only_device(
        R"(.*(\basm\b|\b__shfl|\b__syncthreads|threadIdx|blockIdx|gridDim|__shared__|\b__\w+_as_\w+\().*)");
    std::vector<Side> open;
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string line(text.substr(begin, end - begin));
        begin = end + 1;
        const auto opposite = [](Side side) {
            return side == Side::device ? Side::host : side == Side::host ? Side::device : side;
        };
        std::smatch match;
        const Side side_of_if = std::regex_match(line, match, condition) ? (match[1] == "!" ? Side::host : Side::device)
                                : line.find("__CUDA") != line.npos       ? Side::unclear
                                                                         : Side::both;
        if (line.starts_with("#if"))
            open.push_back(side_of_if);
        else if (line.starts_with("#elif"))
            open.back() = side_of_if;
        else if (line.starts_with("#else"))
            open.back() = opposite(open.back());
        else if (line.starts_with("#endif"))
            open.pop_back();
        Side side = Side::both;
        for (const Side around : open)
            if (around != Side::both) side = around;
        if (std::regex_match(line, match, definition)) {
            EXPECT_NE(side, Side::unclear) << "a condition that this test does not understand is around: " << line;
            const auto open_list = static_cast<std::size_t>(match.position(1) + match.length(1));
            const std::string function = match.str(1) + "/" + std::to_string(arity(line, open_list));
            if (side != Side::host) sides.device.insert(function);
            if (side != Side::device) sides.host.insert(function);
        }
        if (side != Side::device && !line.starts_with("//") && std::regex_match(line, only_device))
            sides.strays.push_back(line);
    }
    EXPECT_TRUE(open.empty());
}

Sides of_all_device_text() {
    Sides sides;
    read(detail::device_text(), sides);
    for (const ReduceOp* row : all_reductions()) read(monoid_source(*row->monoid), sides);
    return sides;
}

TEST(Twins, functions_are_there_for_the_device_and_for_the_host) {
    const Sides sides = of_all_device_text();
    std::vector<std::string> of_one_side;
    std::ranges::set_symmetric_difference(sides.device, sides.host, std::back_inserter(of_one_side));
    EXPECT_EQ(of_one_side, std::vector<std::string>{});
    EXPECT_TRUE(sides.device.contains("store_relaxed_system/2"));
    EXPECT_TRUE(sides.device.contains("load_relaxed/3"));
    EXPECT_TRUE(sides.device.contains("minimum/2"));
}

TEST(Twins, what_only_a_gpu_has_is_hidden_from_the_host) {
    EXPECT_EQ(of_all_device_text().strays, std::vector<std::string>{});
}

TEST(Twins, are_missed) {
    Sides sides;
    read("#if defined(__CUDACC__)\n"
         "GRIDFOLD_FN u32 vote(u32 a) { asm(\"\"); }\n"
         "GRIDFOLD_FN u32 lane() { return 1; }\n"
         "GRIDFOLD_FN u32 lane(u32 (&a)[2], u32 b) { return 1; }\n"
         "#else\n"
         "GRIDFOLD_FN u32 lane() { return threadIdx.x; }\n"
         "#endif\n"
         "#if !defined(__CUDA_ARCH__)\n"
         "GRIDFOLD_FN u32 yield(u32 a) { return a; }\n"
         "#endif\n",
         sides);
    EXPECT_EQ(sides.device, (std::set<std::string>{"vote/1", "lane/0", "lane/2"}));
    EXPECT_EQ(sides.host, (std::set<std::string>{"lane/0", "yield/1"}));
    EXPECT_EQ(sides.strays.size(), 1U);
}

} // namespace
} // namespace gf
