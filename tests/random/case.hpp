// A test case: a graph, the extents of its dims, and a seed that determines the inputs.
#pragma once

#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gridfold/ops/graph.hpp>

#include "oracle.hpp"

namespace gf::oracle {

/// Random numbers that are the same with every standard library.
class Random {
public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}
    std::uint64_t bits() { return engine_(); }
    /// In [0, n).
    std::size_t below(std::size_t n) { return static_cast<std::size_t>(bits() % n); }
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(below(static_cast<std::size_t>(high - low + 1)));
    }
    bool chance(double probability) { return static_cast<double>(bits() >> 11) * 0x1p-53 < probability; }
    template <class C> const auto& pick(const C& choices) { return choices[below(std::size(choices))]; }

private:
    std::mt19937_64 engine_;
};

struct Case {
    std::uint64_t seed = 0;
    Graph graph;
    std::vector<std::int64_t> extents; ///< by the graph's dims
};

/// The elements of an input or scalar called `name`: small numbers, numbers of any size, or mixtures with special ones
/// (NaN, infinities, zeros, denormals, extremes). They depend only on the arguments.
std::vector<Bits> random_elements(std::uint64_t seed, std::string_view name, DType type, std::size_t count);

/// All inputs of a case.
Inputs inputs_of(const Case& test);

/// The elements of a node's domain (one, without dims).
std::int64_t element_count(const Case& test, const Node& node);

/// The case as the text of a regression file: "# seed 7, n = 5", then the graph.
std::string describe(const Case& test);
/// The case of the text of a regression file. Comments before the line with the seed are skipped. Throws
/// std::runtime_error for any other text, InvalidGraph for an invalid graph.
Case read_case(std::string_view text);

} // namespace gf::oracle
