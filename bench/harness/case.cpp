// Creates a case when it is measured: checks memory, adds contenders, and times them.
#include "harness/case.hpp"

#include <algorithm>
#include <utility>

#include "harness/cuda.hpp"
#include "harness/timing.hpp"

namespace bench {

namespace {

constexpr std::int64_t rotated_bytes = std::int64_t{1} << 30;
constexpr std::int64_t most_copies = 64;

/// Throws NoRoom unless that much device memory is free, and some more for the contenders.
void expect_room(double bytes) {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total));
    const double needed = bytes + double{1 << 30};
    if (static_cast<double>(free) < needed)
        throw NoRoom("needs " + std::to_string(static_cast<std::int64_t>(needed)) + " bytes of device memory, " +
                     std::to_string(free) + " are free");
}

Spec spec_of(const CaseFacts& facts, const char* mode, int repetitions) {
    return {.workload = facts.workload,
            .type = facts.type,
            .bytes = facts.bytes,
            .mode = mode,
            .elements = facts.elements,
            .moved = facts.bytes + static_cast<std::int64_t>(facts.writes * static_cast<double>(facts.bytes)),
            .contenders = facts.contenders,
            .repetitions = repetitions,
            .measure = {}};
}

Case make_case(const CaseFacts& facts, const Make& make, int copies, const std::set<std::string>& wanted) {
    expect_room(static_cast<double>(facts.bytes) * copies * (1 + facts.extra));
    Case made(copies, wanted);
    make(made);
    return made;
}

} // namespace

Spec graph_case(CaseFacts facts, Make make) {
    const int copies = static_cast<int>(std::clamp<std::int64_t>(rotated_bytes / facts.bytes, 1, most_copies));
    const int rounds = facts.bytes >= std::int64_t{1} << 28 ? 9 : 15;
    Spec spec = spec_of(facts, "graph", rounds);
    spec.measure = [=](const Spec&, const std::set<std::string>& wanted, const Settings& settings) {
        return time_graphs(make_case(facts, make, copies, wanted), rounds, settings.keep_l2);
    };
    return spec;
}

Spec call_case(CaseFacts facts, Make make) {
    Spec spec = spec_of(facts, "call", 1);
    spec.measure = [=](const Spec&, const std::set<std::string>& wanted, const Settings&) {
        return time_calls(make_case(facts, make, 1, wanted));
    };
    return spec;
}

std::vector<std::int64_t> powers_of_two(int first, int last, int step) {
    std::vector<std::int64_t> powers;
    for (int exponent = first; exponent <= last; exponent += step) powers.push_back(std::int64_t{1} << exponent);
    return powers;
}

} // namespace bench
