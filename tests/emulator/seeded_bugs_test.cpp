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
    Defect{"lanes combine highest bit first", "for (int distance = 1; distance < 32; distance *= 2)",
           "for (int distance = 16; distance > 0; distance /= 2)"},
    Defect{"only the first warp counts", "for (int distance = 1; distance < warp_count; distance *= 2)",
           "for (int distance = 1; distance < 1; distance *= 2)"},
    Defect{"blocks that do not exist are combined", "(thread + distance) * each < count", "true"},
    Defect{"a lane's records that do not exist are combined", "smaller(each, count - thread * each)", "each"},
    Defect{"a product starts at 0", "State identity() { return {A(1)}; }", "State identity() { return {A(0)}; }"},
    Defect{"partials are read before they are there", "} while (missing != 0);", "} while (false);"},
    Defect{"partials of an earlier launch pass", "missing |= u32(slots[i] >> 32) ^ tag;", "missing |= slots[i] == 0;"},
    Defect{"the launch is not counted", "last_tag + 1u", "1u"},
    Defect{"at the last tag old slots stay", "memory[header + i] = 0;", "memory[header + i] = memory[header + i];"},
    Defect{"a block collects its neighbour's partial", "(i < each ? i : 0), blocks - 1)",
           "(i < each ? i : 0), blocks - 2)"},
    Defect{"a block's partial has the wrong place", "record<Words>(block_index())",
           "record<Words>(grid_blocks() - 1 - block_index())"},
    Defect{"loads are wide whatever the alignment", "        aligned = ", "        aligned = true || "},
    Defect{"the empty flag is lost", "u64(tag) << 32 | u32(empty)", "u64(tag) << 32"},
};

/// The text with every `from` replaced; the same text where there is none.
std::string edited(std::string text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
}

/// Three blocks, several folds of different widths and monoids, a store, masks of which one accepts nothing: a state that
/// many threads collect. And 78 blocks whose states one warp collects, four a lane.
std::vector<oracle::Case> graphs_under_test() {
    const char* wide = "g(x: f32[n], y: f64[n]) -> s = sum(x), p = product(y), low = argmin(y where x > f32(0.5)), "
                       "m = mean(x), z = x * f32(2), none = argmax(x where x > f32(9))";
    return {{1, parse(wide), {19'937}}, {2, parse("g(x: i8[n]) -> s = sum(x)"), {319'000}}};
}

/// Numbers of no special value, other ones for each launch.
oracle::Inputs inputs(const oracle::Case& test, int launch) {
    oracle::Inputs inputs;
    for (int node = 0; node < test.graph.node_count(); ++node) {
        const Node& input = test.graph.node(node);
        if (input.kind != NodeKind::input) continue;
        std::vector<oracle::Bits>& bits = inputs[input.name];
        for (std::int64_t i = 0; i < test.extents[0]; ++i) {
            const std::int64_t k = (i * 7919 + launch * 31) % 1'999;
            const auto fraction = static_cast<double>(k) / 1'999;
            bits.push_back(input.type == DType::f32   ? oracle::to_bits(static_cast<float>(fraction))
                           : input.type == DType::f64 ? oracle::to_bits(1.0 + (fraction - 0.5) * 1e-3)
                                                      : static_cast<std::uint8_t>(k));
        }
    }
    return inputs;
}

/// A case, its plan, and one module with the kernel as it is and with each defect.
struct Subject {
    oracle::Case test;
    Executable reference;
    Plan plan;
    std::vector<cuda::Kernel> kernels;
    HostModule module;

    static std::vector<std::string> sources(const cuda::Kernel& kernel) {
        std::vector<std::string> sources{kernel.source};
        for (const Defect& defect : defects) sources.push_back(edited(kernel.source, defect.from, defect.to));
        return sources;
    }
    explicit Subject(const oracle::Case& given)
        : test(given), reference(compile(test.graph, {.device = "cpu"})), plan(fuse(test.graph)),
          kernels(kernels_of(plan)), module(sources(kernels.at(0))) {}

    /// Launches a source under each order of threads, on one workspace. Between the first launch and the others as many pass
    /// as there are tags, the last of them in a single block. What is wrong, or nothing.
    std::optional<std::string> outcome(std::size_t source) const {
        EmulatedPlan emulated(plan, kernels, module, source);
        oracle::Case short_test = test;
        short_test.extents[0] = 5;
        int launch = 0;
        try {
            for (const Order order :
                 {Order::forward, Order::last_block, Order::backward, Order::shuffled, Order::last_block}) {
                if (++launch == 2) {
                    emulated.set_launches(0xfffffffeu);
                    if (auto wrong = launched(emulated, short_test, launch, order)) return wrong;
                }
                if (auto wrong = launched(emulated, test, launch, order)) return wrong;
            }
        } catch (const std::runtime_error& error) {
            return error.what();
        }
        return {};
    }
    std::optional<std::string> launched(EmulatedPlan& emulated, const oracle::Case& given, int launch,
                                        Order order) const {
        const oracle::Inputs bits = inputs(given, launch);
        const BoundCase bound(plan, given, bits);
        const auto scalars = emulated.run(bound.bound(), order, 1);
        return difference(run(reference, given, bits), bound.results(scalars));
    }
    bool shows(const Defect& defect) const { return kernels[0].source.find(defect.from) != std::string::npos; }
};

TEST(SeededBugs, are_all_found_by_the_emulator) {
    if (host_compiler().empty()) GTEST_SKIP() << "no host compiler: generated kernels cannot be executed here";
    std::vector<std::unique_ptr<Subject>> subjects;
    for (const oracle::Case& test : graphs_under_test()) {
        subjects.push_back(std::make_unique<Subject>(test));
        EXPECT_EQ(subjects.back()->outcome(0), std::nullopt) << "without a defect";
    }
    for (std::size_t i = 0; i < defects.size(); ++i) {
        bool applies = false, found = false;
        for (const auto& subject : subjects) {
            applies = applies || subject->shows(defects[i]);
            found = found || (subject->shows(defects[i]) && subject->outcome(i + 1));
        }
        EXPECT_TRUE(applies) << defects[i].name << ": the edit no longer applies";
        EXPECT_TRUE(found) << defects[i].name << ": not found";
    }
}

} // namespace
} // namespace gf::emulator
