// Kernels in the emulator against the CPU backend, by bits: what tests of courses share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gridfold/fusion/executable.hpp>
#include <gridfold/ops/text.hpp>
#include <gtest/gtest.h>

#include "bound_case.hpp"
#include "emulated_plan.hpp"
#include "subject.hpp"

namespace gf::emulator {

/// Gives the case the next seed, by fours, whose arrays begin at multiples of 16 bytes.
inline void align(oracle::Case& test, const Plan& plan) {
    const auto is_aligned = [](const BoundCase& of) {
        return std::ranges::all_of(of.bound().arrays, [](const BoundArray& array) {
            return reinterpret_cast<std::uintptr_t>(array.address) % 16 == 0;
        });
    };
    while (!is_aligned(BoundCase(plan, test, inputs_of(test)))) test.seed += 4;
}

/// Launch number `number` of a plan; the first difference from the CPU's results, or nothing.
inline std::optional<std::string> what_is_wrong(EmulatedPlan& emulated, const Plan& plan, const Executable& reference,
                                                const oracle::Case& test, std::uint64_t number,
                                                std::int64_t most_clusters) {
    const oracle::Inputs inputs = inputs_of(test);
    const BoundCase bound(plan, test, inputs);
    try {
        const Order order = all_orders[number % std::size(all_orders)];
        const auto scalars = emulated.run(bound.bound(), order, number, most_clusters);
        if (auto wrong = difference(run(reference, test, inputs), bound.results(scalars)))
            return fmt::format("launch {}: {}", number, *wrong);
    } catch (const std::exception& error) {
        return fmt::format("launch {}: {}", number, error.what());
    }
    return {};
}

/// A graph, its plan, the kernels of the plan, and the CPU's executable.
class SubjectOfCourse {
public:
    std::vector<std::string> sources() const {
        std::vector<std::string> sources;
        for (const cuda::Kernel& kernel : kernels_) sources.push_back(kernel.source);
        return sources;
    }
    std::size_t kernels() const { return kernels_.size(); }
    const cuda::Schedule& schedule() const { return kernels_.front().schedule; }

protected:
    SubjectOfCourse(const char* text, Plan (*plan_of)(const Graph&))
        : graph_(parse(text)), plan_(plan_of(graph_)), reference_(compile(graph_, {.device = "cpu"})) {}

    Graph graph_;
    Plan plan_;
    Executable reference_;
    std::vector<cuda::Kernel> kernels_;
};

/// Compiles the kernels of all subjects together, and expects that nothing is wrong with any of them. A Subject is a
/// SubjectOfCourse with name() and what_is_wrong(module, the number of its first kernel).
template <class Subject, class Given> void expect_the_cpus_bits_of(const std::vector<Given>& cases) {
    if (host_compiler().empty()) GTEST_SKIP() << "no host compiler: generated kernels cannot be executed here";
    std::vector<std::unique_ptr<Subject>> subjects;
    std::vector<std::string> sources;
    for (const Given& given : cases) {
        subjects.push_back(std::make_unique<Subject>(given));
        for (std::string& source : subjects.back()->sources()) sources.push_back(std::move(source));
    }
    const HostModule module(sources);
    std::size_t entry = 0;
    for (const auto& subject : subjects) {
        if (const auto wrong = subject->what_is_wrong(module, entry))
            ADD_FAILURE() << subject->name() << "\n" << *wrong;
        entry += subject->kernels();
    }
}

} // namespace gf::emulator
