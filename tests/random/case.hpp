// A test case: a graph, the extents of its dims, and inputs that follow from a seed.
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

/// What the seed binds to an input or scalar called `name`: small numbers, numbers of any size, or mixtures with the
/// special ones (NaN, infinities, zeros, denormals, extremes). Depends on nothing else of the graph.
std::vector<Bits> random_elements(std::uint64_t seed, std::string_view name, DType type, std::size_t count);

/// All inputs of a case.
Inputs inputs_of(const Case& test);

/// The elements of a node's domain (one, without dims).
std::int64_t element_count(const Case& test, const Node& node);

/// The case as the text of a regression file: "# seed 7, n = 5", whose inputs follow from the seed, and the graph.
std::string describe(const Case& test);
/// The case that such a text describes. Lines of comment before the one with the seed are not read. Throws
/// std::runtime_error for any other text, InvalidGraph for a graph that is none.
Case read_case(std::string_view text);

} // namespace gf::oracle
