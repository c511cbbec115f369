// The generator: declares dims and inputs, then keeps applying random rows to what it has.
#include "generate.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <set>

#include <fmt/format.h>

namespace gf::oracle {

namespace {

constexpr int max_stage = 3;
constexpr std::size_t max_outputs = 5;

/// A value to build on.
struct Candidate {
    Value value;
    std::vector<int> dims; ///< increasing
    int stage = 0;         ///< reductions that lie behind it, one after the other
};

class Generator {
public:
    Generator(std::uint64_t seed, const GenerateOptions& options)
        : options_(options), random_(seed), test_{seed, Graph("g"), {}} {}

    Case generate() {
        declare();
        const auto steps = random_.between(2, options_.max_steps);
        // A row can refuse what was drawn for it (a literal that does not fit, say): draw again.
        for (int step = 0, refusals = 0; step < steps && refusals < 100; ++step) {
            try {
                advance();
            } catch (const InvalidGraph&) {
                --step;
                ++refusals;
            }
        }
        yield_outputs();
        return std::move(test_);
    }

private:
    Graph& graph() { return test_.graph; }

    void declare() {
        choose_extents();
        const std::size_t rank = test_.extents.size();
        std::vector<std::vector<int>> dims; // of each input
        const auto inputs = random_.between(1, 4);
        for (int i = 0; i < inputs; ++i) {
            std::vector<int> own;
            for (std::size_t d = 0; d < rank; ++d)
                if (i == 0 || random_.chance(0.7)) own.push_back(static_cast<int>(d));
            if (own.empty()) own.push_back(0);
            if (random_.chance(0.3)) std::swap(own.front(), own[random_.below(own.size())]);
            dims.push_back(own);
        }
        for (std::size_t d = 0; d < rank; ++d)
            graph().dim(fmt::format("d{}", d), random_.chance(0.1) ? std::optional(test_.extents[d]) : std::nullopt);
        for (const auto& own : dims) {
            std::vector<Dim> handles;
            for (int d : own) handles.push_back(graph().dim_at(d));
            keep(graph().input(fmt::format("x{}", candidates_.size()), random_.pick(all_dtypes()), handles));
        }
        for (auto scalars = random_.between(0, 2); scalars > 0; --scalars)
            keep(graph().scalar(fmt::format("a{}", candidates_.size()), random_.pick(all_dtypes())));
        if (random_.chance(0.25)) keep(graph().index(graph().dim_at(static_cast<int>(random_.below(rank)))));
        if (random_.chance(0.1)) keep(graph().constant(random_.between(0, 5), random_.pick(all_dtypes())));
    }

    void choose_extents() {
        constexpr std::array<std::int64_t, 14> few{1, 2, 3, 31, 32, 33, 255, 256, 257, 511, 1000, 2047, 2048, 2049};
        constexpr std::array<std::int64_t, 8> some{4095, 4097, 6000, 10'241, 16'384, 16'385, 18'433, 24'577};
        constexpr std::array<std::int64_t, 5> many{32'767, 40'961, 65'535, 65'536, 65'537};
        std::int64_t elements = random_.chance(0.6)   ? random_.pick(few)
                                : random_.chance(0.9) ? random_.pick(some)
                                                      : random_.pick(many);
        elements = std::min(elements, options_.max_elements);
        const std::size_t rank = random_.chance(0.6) ? 1 : random_.chance(0.6) ? 2 : 3;
        constexpr std::array<std::int64_t, 7> sides{1, 2, 3, 4, 5, 7, 33};
        for (std::size_t d = 1; d < rank; ++d) {
            const std::int64_t side = std::min(random_.pick(sides), elements);
            test_.extents.push_back(side);
            elements /= side;
        }
        test_.extents.push_back(elements);
        std::swap(test_.extents.back(), test_.extents[random_.below(rank)]);
    }

    void advance() {
        const std::size_t kind = random_.below(100);
        if (kind < 65) return map();
        if (kind < 90) return reduce();
        const Candidate drawn = any();
        keep(graph().cast(drawn.value, random_.pick(all_dtypes())), drawn.stage);
    }

    // Drawing operands -------------------------------------------------------------------------------------------------

    /// Any candidate, later ones more often, scalars and arrays.
    const Candidate& any() {
        const std::size_t n = candidates_.size();
        return candidates_[std::max(random_.below(n), random_.below(n))];
    }

    /// One whose type is allowed: drawn, or cast to such a type.
    template <class Allowed> Candidate any_of(const Allowed& allowed) {
        for (int attempt = 0; attempt < 8; ++attempt) {
            const Candidate& drawn = any();
            if (allowed(drawn.value.type())) return drawn;
        }
        DType type = random_.pick(all_dtypes());
        while (!allowed(type)) type = random_.pick(all_dtypes());
        const Candidate drawn = any();
        keep(graph().cast(drawn.value, type), drawn.stage);
        return candidates_.back();
    }

    static bool suits(TypeRule rule, std::size_t slot, DType type) {
        switch (rule) {
        case TypeRule::same:
        case TypeRule::quotient:
        case TypeRule::floating:
        case TypeRule::compare:
        case TypeRule::logical:
        case TypeRule::test: return true;
        case TypeRule::number: return type != DType::boolean;
        case TypeRule::integer: return !is_floating(type);
        case TypeRule::shift: return is_integer(type);
        case TypeRule::select: return slot > 0 || type == DType::boolean;
        }
        return true;
    }

    Literal literal() {
        if (random_.chance(0.5)) return random_.between(0, 5);
        return static_cast<double>(random_.between(-20, 20)) * 0.25;
    }

    // Applying rows ----------------------------------------------------------------------------------------------------

    void map() {
        const MapRow& row = *random_.pick(all_maps());
        if (row.builtin < 0 || (options_.inexact == Inexact::never && !row.facts.exact)) return map();
        const bool last = options_.inexact == Inexact::last && !row.facts.exact;
        std::vector<Operand> operands;
        int stage = 0;
        for (std::size_t slot = 0; slot < static_cast<std::size_t>(row.arity); ++slot) {
            if (slot > 0 && random_.chance(0.2)) {
                operands.emplace_back(0);
                operands.back().literal = last ? Literal(row.low + (row.high - row.low) * 0.25) : literal();
                continue;
            }
            Candidate operand =
                any_of([&](DType type) { return last ? is_floating(type) : suits(row.rule, slot, type); });
            stage = std::max(stage, operand.stage);
            if (last) {
                const Operand clamped[] = {operand.value, row.low, row.high};
                operand.value = graph().map(map_row::clamp, clamped);
            }
            operands.emplace_back(operand.value);
        }
        const Value value = graph().map(row, operands);
        if (last)
            last_.push_back(value);
        else
            keep(value, stage);
    }

    void reduce() {
        const ReduceRow& row = *random_.pick(all_reductions());
        if (row.builtin < 0 || (options_.inexact == Inexact::never && row.ulps > 0)) return reduce();
        const bool last = options_.inexact == Inexact::last && row.ulps > 0;
        Candidate operand = any();
        for (int attempt = 0; attempt < 8 && (operand.dims.empty() || operand.stage == max_stage); ++attempt)
            operand = any();
        if (operand.stage == max_stage) return;
        if (last) {
            if (!is_floating(operand.value.type())) operand.value = graph().cast(operand.value, DType::f32);
            const Operand clamped[] = {operand.value, -20.0, 20.0};
            operand.value = graph().map(map_row::clamp, clamped);
        }
        ReduceOptions how;
        int stage = operand.stage;
        if (random_.chance(0.35)) {
            const Candidate mask = mask_for(operand);
            how.where = mask.value;
            stage = std::max(stage, mask.stage);
        }
        if (random_.chance(0.3)) how.accumulate = random_.pick(all_dtypes());
        if (row.takes_ddof) how.ddof = static_cast<int>(random_.between(0, 2));
        const Value value = graph().reduce(row, operand.value, how);
        if (last)
            last_.push_back(value);
        else
            keep(value, stage + 1);
    }

    /// A bool value whose dims are among the operand's: one that is there, or a comparison.
    Candidate mask_for(const Candidate& operand) {
        Candidate drawn = operand;
        for (int attempt = 0; attempt < 8; ++attempt) {
            const Candidate& other = any();
            if (!std::ranges::includes(operand.dims, other.dims) || other.stage > operand.stage) continue;
            if (other.value.type() == DType::boolean) return other;
            drawn = other;
        }
        const MapRow* const comparisons[] = {&map_row::less, &map_row::greater_equal, &map_row::not_equal};
        // Now and then nothing is accepted: nothing is below −∞.
        Operand bound(0);
        bound.literal = random_.chance(0.1) && is_floating(drawn.value.type())
                            ? Literal(-std::numeric_limits<double>::infinity())
                            : Literal(random_.between(0, 3));
        const Operand operands[] = {drawn.value, bound};
        keep(graph().map(*random_.pick(comparisons), operands), drawn.stage);
        return candidates_.back();
    }

    void keep(Value value, int stage = 0) {
        std::vector<int> dims;
        for (const Dim& dim : value.dims()) dims.push_back(dim.position());
        std::ranges::sort(dims);
        candidates_.push_back({value, dims, stage});
    }

    // Outputs ----------------------------------------------------------------------------------------------------------

    /// Values that nothing reads, the latest first, and now and then another.
    void yield_outputs() {
        std::set<int> nodes;
        for (const Value& value : last_)
            if (nodes.size() < max_outputs) nodes.insert(value.node());
        for (auto candidate = candidates_.rbegin(); candidate != candidates_.rend(); ++candidate) {
            const int node = candidate->value.node();
            const NodeKind kind = graph().node(node).kind;
            const bool made = kind == NodeKind::map || kind == NodeKind::cast || kind == NodeKind::reduce;
            const bool wanted = made ? graph().users(node).empty() || random_.chance(0.15) : random_.chance(0.03);
            if (wanted && nodes.size() < max_outputs) nodes.insert(node);
        }
        if (nodes.empty()) nodes.insert(candidates_.back().value.node());
        for (int node : nodes) graph().output(fmt::format("o{}", graph().outputs().size()), graph().value(node));
        allow_empty_extents();
    }

    void allow_empty_extents() {
        if (!random_.chance(0.03)) return;
        const std::size_t d = random_.below(test_.extents.size());
        for (int n = 0; n < graph().node_count(); ++n)
            if (graph().node(n).kind == NodeKind::reduce && graph().node(n).reduce->needs_elements) return;
        if (!graph().dims()[d].extent) test_.extents[d] = 0;
    }

    GenerateOptions options_;
    Random random_;
    Case test_;
    std::vector<Candidate> candidates_;
    std::vector<Value> last_; ///< only to be yielded
};

/// The nodes that an output depends on.
std::set<int> live_nodes(const Graph& graph) {
    std::set<int> live;
    for (const auto& output : graph.outputs()) live.insert(output.node);
    for (int n = graph.node_count() - 1; n >= 0; --n)
        if (live.contains(n))
            for (int operand : graph.operands(n)) live.insert(operand);
    return live;
}

void count(const Case& test, Coverage& coverage) {
    const Graph& graph = test.graph;
    for (int n : live_nodes(graph)) {
        const Node& node = graph.node(n);
        switch (node.kind) {
        case NodeKind::input: ++coverage[fmt::format("input {}", to_text(node.type))]; break;
        case NodeKind::scalar: ++coverage[fmt::format("scalar {}", to_text(node.type))]; break;
        case NodeKind::constant: ++coverage["other constant"]; break;
        case NodeKind::index: ++coverage["other index"]; break;
        case NodeKind::map:
            ++coverage[fmt::format("map {}", node.map->name)];
            ++coverage[fmt::format("compute {}", to_text(node.compute))];
            break;
        case NodeKind::cast: ++coverage[fmt::format("cast to {}", to_text(node.type))]; break;
        case NodeKind::reduce:
            ++coverage[fmt::format("reduce {}", node.reduce->name)];
            ++coverage[fmt::format("accumulate in {}", to_text(node.accumulator))];
            if (node.masked) ++coverage["other mask"];
            break;
        }
    }
    for (const auto& output : graph.outputs()) {
        const Node& node = graph.node(output.node);
        ++coverage[fmt::format("{} {}", node.dims.empty() ? "yield" : "store", to_text(node.type))];
    }
    ++coverage[fmt::format("rank {}", test.extents.size())];
}

} // namespace

Case generate(std::uint64_t seed, const GenerateOptions& options, Coverage& coverage) {
    Case test = Generator(seed, options).generate();
    count(test, coverage);
    return test;
}

std::vector<std::string> missing(const Coverage& coverage, const GenerateOptions& options) {
    std::vector<std::string> wanted{"other constant", "other index", "other mask", "rank 1", "rank 2", "rank 3"};
    for (const MapRow* row : all_maps())
        if (row->builtin >= 0 && (row->facts.exact || options.inexact != Inexact::never))
            wanted.push_back(fmt::format("map {}", row->name));
    for (const ReduceRow* row : all_reductions())
        if (row->builtin >= 0 && (row->ulps == 0 || options.inexact != Inexact::never))
            wanted.push_back(fmt::format("reduce {}", row->name));
    for (DType type : all_dtypes())
        for (const char* role : {"input", "scalar", "compute", "cast to", "store", "yield"})
            wanted.push_back(fmt::format("{} {}", role, to_text(type)));
    std::erase_if(wanted, [&](const std::string& what) { return coverage.contains(what); });
    return wanted;
}

std::string to_text(const Coverage& coverage) {
    std::string text;
    for (const auto& [what, times] : coverage) text += fmt::format("{:>8}  {}\n", times, what);
    return text;
}

} // namespace gf::oracle
