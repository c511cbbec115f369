// Inputs from a seed.
#include "case.hpp"

#include <array>
#include <map>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>
#include <gridfold/ops/text.hpp>

namespace gf::oracle {

namespace {

/// How an input's elements are drawn.
struct Style {
    enum class Numbers { small, fractions, any } numbers;
    double special; ///< probability of a special number
};

Style random_style(Random& random) {
    constexpr std::array numbers{Style::Numbers::small, Style::Numbers::small, Style::Numbers::fractions,
                                 Style::Numbers::any};
    constexpr std::array special{0.0, 0.0, 0.0, 0.002, 0.2};
    return {random.pick(numbers), random.pick(special)};
}

Bits special_integer(Random& random, DType type) {
    const std::array<Wide, 5> choices{lowest_of(type), highest_of(type), lowest_of(type) + 1, Wide{0}, Wide{-1}};
    return wrap(random.pick(choices), type);
}

Bits special_float(Random& random, DType type) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    // For f32 and the 16-bit types the last ones round to their denormals, least normals or zeros.
    constexpr std::array choices{std::numeric_limits<double>::quiet_NaN(),
                                 infinity,
                                 -infinity,
                                 0.0,
                                 -0.0,
                                 0x1p-149,
                                 -0x1.8p-130,
                                 0x1p-24,
                                 0x1p-126,
                                 -0x1p-1074};
    return convert(to_bits(random.pick(choices)), DType::f64, type);
}

Bits random_element(Random& random, DType type, const Style& style) {
    if (type == DType::boolean) return random.bits() & 1;
    const bool special = style.special > 0 && random.chance(style.special);
    if (!is_floating(type)) {
        if (special) return special_integer(random, type);
        if (style.numbers == Style::Numbers::any) return wrap(static_cast<Wide>(random.bits()), type);
        return wrap(random.between(kind_of(type) == Kind::unsigned_integer ? 0 : -9, 9), type);
    }
    if (special) return special_float(random, type);
    switch (style.numbers) {
    case Style::Numbers::small: return convert(to_bits(static_cast<double>(random.between(-9, 9))), DType::f64, type);
    case Style::Numbers::fractions:
        return convert(to_bits(static_cast<double>(random.between(-999'999, 999'999)) * 1e-5), DType::f64, type);
    case Style::Numbers::any: break;
    }
    const double mantissa = static_cast<double>(random.between(-(1 << 30), 1 << 30));
    return convert(to_bits(std::ldexp(mantissa, static_cast<int>(random.between(-60, 0)))), DType::f64, type);
}

} // namespace

std::vector<Bits> random_elements(std::uint64_t seed, std::string_view name, DType type, std::size_t count) {
    for (char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 0x9e3779b97f4a7c15ull;
    Random random(seed);
    const Style style = random_style(random);
    std::vector<Bits> elements(count);
    for (Bits& element : elements) element = random_element(random, type, style);
    return elements;
}

std::int64_t element_count(const Case& test, const Node& node) {
    std::int64_t count = 1;
    for (const DimId dim : node.dims) count *= test.extents[dim.index()];
    return count;
}

Inputs inputs_of(const Case& test) {
    Inputs inputs;
    for (const NodeId n : test.graph.nodes()) {
        const Node& node = test.graph.node(n);
        if (node.kind == NodeKind::input || node.kind == NodeKind::scalar)
            inputs[node.name] =
                random_elements(test.seed, node.name, node.type, static_cast<std::size_t>(element_count(test, node)));
    }
    return inputs;
}

std::string describe(const Case& test) {
    std::string text = fmt::format("# seed {}", test.seed);
    for (std::size_t d = 0; d < test.extents.size(); ++d)
        text += fmt::format(", {} = {}", test.graph.dims()[d].name, test.extents[d]);
    return text + "\n" + to_text(test.graph) + "\n";
}

Case read_case(std::string_view text) {
    const std::size_t begin = text.find("# seed ");
    if (begin == text.npos) throw std::runtime_error("no line of the form \"# seed 7, n = 5\"");
    std::istringstream line{std::string(text.substr(begin, text.find('\n', begin) - begin))};
    std::string word;
    Case test{0, parse(text), {}};
    line >> word >> word >> test.seed;
    std::map<std::string, std::int64_t> extents;
    for (char comma = 0, equals = 0; line >> comma >> word >> equals;) line >> extents[word];
    for (const auto& dim : test.graph.dims())
        if (const auto extent = extents.find(dim.name); extent != extents.end() && extent->second >= 0)
            test.extents.push_back(extent->second);
    if (!line.eof() || extents.size() != test.graph.dims().size() || extents.size() != test.extents.size())
        throw std::runtime_error("the line \"# seed …\" lacks the extent of a dim, or holds something else");
    return test;
}

} // namespace gf::oracle
