// Deliberate defects in generated kernels, each of which the emulator must find: by a wrong bit or by refusing to go on.
// A defect is an edit of the kernel's text; one that no longer applies fails, so that the catalogue keeps up.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <gridfold/fusion/executable.hpp>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/text.hpp>
#include <gtest/gtest.h>

#include "bound_case.hpp"
#include "emulated_plan.hpp"

namespace gf::emulator {
namespace {

struct Defect {
    const char* name;
    const char* from;
    const char* to;
};

constexpr std::array defects{
    Defect{"the tail is dropped", "if (slab == whole_slabs && first", "if (false && first"},
    Defect{"every block folds the tail", "slab == whole_slabs && first < kernel.elements", "first < kernel.elements"},
    Defect{"the tail is an element short", "? int(rest) : width", "? int(rest) - 1 : width"},
    Defect{"slabs in flight are neighbours", "(slab + u * blocks) * slab_elements", "(slab + u) * slab_elements"},
    Defect{"a slab that fills no batch is skipped", "slab < whole_slabs; slab += blocks)",
           "slab + blocks < whole_slabs; slab += blocks)"},
    Defect{"every block starts at the first slab", "const i64 own = block_index();", "const i64 own = 0;"},
    Defect{"a barrier is missing", "    barrier();\n", ""},
    Defect{"lanes exchange with the wrong ones", "shuffle_xor_word(from.word[i], lanes)",
           "shuffle_xor_word(from.word[i], lanes == 4 ? 8 : lanes)"},
    Defect{"lanes combine highest bit first", "for (int lanes = 1; lanes < 32; lanes *= 2)",
           "for (int lanes = 16; lanes > 0; lanes /= 2)"},
    Defect{"only the first warp counts", "for (int lanes = 1; lanes < warp_count; lanes *= 2)",
           "for (int lanes = 1; lanes < 1; lanes *= 2)"},
    Defect{"states that do not exist are combined", "distance >= spread() && place + distance < end",
           "distance >= spread()"},
    Defect{"a product starts at 0", "State identity() { return {A(1)}; }", "State identity() { return {A(0)}; }"},
    Defect{"partials are read before they are there", "} while (!complete);", "} while (false);"},
    Defect{"partials of an earlier launch pass", "complete = complete && u32(slot >> 32) == tag;",
           "complete = complete && slot != 0;"},
    Defect{"the launch is not counted", "last_tag + 1u", "1u"},
    Defect{"a block collects its neighbour's partial", "place >> places.log2_spread",
           "(place >> places.log2_spread) == 1 ? 0 : place >> places.log2_spread"},
    Defect{"a block's partial has the wrong place", "slot(first + i, block_index(), Blocks)",
           "slot(first + i, grid_blocks() - 1 - block_index(), Blocks)"},
    Defect{"loads are wide whatever the alignment", "        aligned = ", "        aligned = true || "},
    Defect{"the empty flag is lost", "u64(tag) << 32 | u32(empty)", "u64(tag) << 32"},
};

/// The text with every `from` replaced; the same text where there is none.
std::string edited(std::string text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
}

/// Three blocks, several folds of different widths and monoids, a store, masks of which one accepts nothing.
oracle::Case graph_under_test() {
    const char* text = "g(x: f32[n], y: f64[n]) -> s = sum(x), p = product(y), low = argmin(y where x > f32(0.5)), "
                       "m = mean(x), z = x * f32(2), none = argmax(x where x > f32(9))";
    return {1, parse(text), {19'937}};
}

/// Fractions of no special value, other ones for each launch.
oracle::Inputs inputs(std::size_t n, int launch) {
    oracle::Inputs inputs;
    for (std::size_t i = 0; i < n; ++i) {
        const auto k = static_cast<double>((i * 7919 + static_cast<std::size_t>(launch) * 31) % 1'999);
        inputs["x"].push_back(oracle::to_bits(static_cast<float>(k / 1'999)));
        inputs["y"].push_back(oracle::to_bits(1.0 + (k - 999) * 1e-6));
    }
    return inputs;
}

/// Runs three launches on one workspace, each under another order of threads. What is wrong, or nothing.
std::optional<std::string> outcome(const Plan& plan, const std::vector<cuda::Kernel>& kernels, const HostModule& module,
                                   std::size_t entry) {
    const oracle::Case test = graph_under_test();
    const Executable reference = compile(test.graph, {.device = "cpu"});
    EmulatedPlan emulated(plan, kernels, module, entry);
    int launch = 0;
    for (const Order order : {Order::forward, Order::backward, Order::shuffled}) {
        const oracle::Inputs bits = inputs(static_cast<std::size_t>(test.extents[0]), ++launch);
        const BoundCase bound(plan, test, bits);
        try {
            const auto scalars = emulated.run(bound.bound(), order, 1);
            if (auto wrong = difference(run(reference, test, bits), bound.results(scalars))) return wrong;
        } catch (const std::runtime_error& error) {
            return error.what();
        }
    }
    return {};
}

TEST(SeededBugs, are_all_found_by_the_emulator) {
    if (host_compiler().empty()) GTEST_SKIP() << "no host compiler: generated kernels cannot be executed here";
    const Plan plan = fuse(graph_under_test().graph);
    const std::vector<cuda::Kernel> kernels = kernels_of(plan);
    ASSERT_EQ(kernels.size(), 1u);
    std::vector<std::string> sources{kernels[0].source};
    for (const Defect& defect : defects) {
        sources.push_back(edited(kernels[0].source, defect.from, defect.to));
        EXPECT_TRUE(sources.back() != kernels[0].source) << defect.name << ": the edit no longer applies";
    }
    const HostModule module(sources);
    EXPECT_EQ(outcome(plan, kernels, module, 0), std::nullopt) << "without a defect";
    for (std::size_t i = 0; i < defects.size(); ++i)
        EXPECT_TRUE(outcome(plan, kernels, module, i + 1)) << defects[i].name << ": not found";
}

} // namespace
} // namespace gf::emulator
