// Bindings for a case, and conversion of results to the oracle's form.
#include "subject.hpp"

#include <array>
#include <cstring>

#include <fmt/format.h>
#include <gridfold/ops/text.hpp>

#include "layout.hpp"

namespace gf::oracle {

namespace {

Literal literal_of(Bits bits, DType type) {
    if (type == DType::boolean) return bits != 0;
    if (is_floating(type)) return number_of(bits, type);
    if (kind_of(type) == Kind::unsigned_integer) return static_cast<std::uint64_t>(bits);
    return static_cast<std::int64_t>(integer_of(bits, type));
}

Extents extents_of(const Case& test, const std::vector<DimId>& dims) {
    std::vector<std::int64_t> extents;
    for (const DimId dim : dims) extents.push_back(test.extents[dim.index()]);
    return Extents(extents);
}

} // namespace

HostArray::HostArray(DType type, std::size_t count, std::size_t offset)
    : type_(type), count_(count), offset_(offset), memory_(new std::byte[(count + offset) * size_of(type)]) {
    std::memset(memory_.get(), 0xa5, (count + offset) * size_of(type));
}

HostArray::HostArray(DType type, std::span<const Bits> elements, std::size_t offset)
    : HostArray(type, elements.size(), offset) {
    auto* to = static_cast<std::byte*>(address());
    for (const Bits bits : elements) {
        std::memcpy(to, &bits, size_of(type)); // little-endian
        to += size_of(type);
    }
}

std::vector<Bits> HostArray::elements() const {
    std::vector<Bits> elements(count_, 0);
    for (std::size_t i = 0; i < count_; ++i)
        std::memcpy(&elements[i], static_cast<const std::byte*>(address()) + i * size_of(type_), size_of(type_));
    return elements;
}

std::vector<Bits> elements_of(const View& view) {
    const std::size_t count = element_count(view.extents);
    std::vector<Bits> elements(count, 0);
    for (std::size_t i = 0; i < count; ++i)
        std::memcpy(&elements[i], static_cast<const std::byte*>(view.address) + i * size_of(view.type),
                    size_of(view.type));
    return elements;
}

std::vector<bool> bools_of(const View& view) {
    std::vector<bool> bools;
    if (view.extents.rank() > 0)
        for (const Bits bits : elements_of(view)) bools.push_back(bits != 0);
    return bools;
}

std::vector<Result> run(const Executable& executable, const Case& test, const Inputs& inputs) {
    Random random(test.seed), of_layouts = random_of_layouts(test);
    const bool has_strides = of_layouts.chance(0.25);
    std::vector<HostArray> arrays;
    Bindings bindings, outputs;
    const Graph& graph = test.graph;
    for (const NodeId n : graph.nodes()) {
        const Node& node = graph.node(n);
        if (node.kind == NodeKind::scalar) {
            bindings.emplace_back(node.name, 0);
            bindings.back().scalar = literal_of(inputs.at(node.name).at(0), node.type);
        } else if (node.kind == NodeKind::input) {
            const std::size_t offset = random.below(4);
            const Extents extents = extents_of(test, node.dims);
            if (has_strides && of_layouts.chance(0.7)) {
                const Layout layout = draw_layout(extents, of_layouts);
                auto* const memory =
                    static_cast<std::byte*>(arrays.emplace_back(node.type, layout.count, offset).address());
                scatter(node.type, inputs.at(node.name), extents, layout, memory);
                bindings.emplace_back(node.name,
                                      View(memory + static_cast<std::size_t>(layout.first) * size_of(node.type),
                                           node.type, extents, Memory::host, false, layout.strides));
                continue;
            }
            arrays.emplace_back(node.type, inputs.at(node.name), offset);
            bindings.emplace_back(node.name, View(arrays.back().address(), node.type, extents, Memory::host, false));
        }
    }
    if (random.chance(0.5)) {
        for (const auto& output : graph.outputs()) {
            const Node& node = graph.node(output.node);
            if (node.dims.empty()) continue;
            arrays.emplace_back(node.type, static_cast<std::size_t>(element_count(test, node)), random.below(4));
            outputs.emplace_back(output.name, View(arrays.back().address(), node.type,
                                                   extents_of(test, graph.dims_of(output)), Memory::host, true));
        }
    }
    // Sometimes as one of two problems: the bits must be the same.
    const bool as_one_of_two = random.chance(0.1);
    const Results run = as_one_of_two
                            ? executable.run_many(std::array{bindings, bindings}, std::array{Bindings{}, outputs})[1]
                            : executable.run(bindings, outputs);
    std::vector<Result> results;
    for (const Results::Entry& entry : run.entries())
        results.push_back({entry.name, entry.type, entry.is_array, entry.empty,
                           entry.is_array ? elements_of(entry.array) : std::vector<Bits>{entry.bits},
                           bools_of(entry.valid)});
    return results;
}

std::optional<std::string> difference(const std::vector<Result>& expected, const std::vector<Result>& actual) {
    if (expected.size() != actual.size())
        return fmt::format("expected {} results, got {}", expected.size(), actual.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const Result &e = expected[i], &a = actual[i];
        if (e.name != a.name || e.type != a.type || e.is_array != a.is_array)
            return fmt::format("result {}: expected {} {}{}, got {} {}{}", i, to_text(e.type), e.name,
                               e.is_array ? "[]" : "", to_text(a.type), a.name, a.is_array ? "[]" : "");
        if (e.empty != a.empty)
            return fmt::format("{}: expected {}, got {}", e.name, e.empty ? "none" : "a value",
                               a.empty ? "none" : "a value");
        if (e.empty) continue;
        if (e.elements.size() != a.elements.size())
            return fmt::format("{}: expected {} elements, got {}", e.name, e.elements.size(), a.elements.size());
        const auto is_valid = [](const Result& r, std::size_t k) { return r.valid.empty() || r.valid[k]; };
        for (std::size_t k = 0; k < e.elements.size(); ++k)
            if (is_valid(e, k) != is_valid(a, k))
                return fmt::format("{}[{}]: expected {}, got {}", e.name, k, is_valid(e, k) ? "a value" : "none",
                                   is_valid(a, k) ? "a value" : "none");
        for (std::size_t k = 0; k < e.elements.size(); ++k)
            if (!same(e.elements[k], a.elements[k], e.type))
                return fmt::format("{}[{}]: expected {} ({:#x}), got {} ({:#x})", e.name, k,
                                   constant_text(e.type, e.elements[k]), e.elements[k],
                                   constant_text(e.type, a.elements[k]), a.elements[k]);
    }
    return {};
}

} // namespace gf::oracle
