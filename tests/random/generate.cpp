// The generator: declares dims and inputs, then repeatedly applies random rows to existing values.
#include "generate.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <gridfold/core/device_text.hpp>
#include <gridfold/core/view.hpp>

namespace gf::oracle {

namespace {

/// The kinds of graphs, so that features that are rare in most graphs are reached, too.
struct Profile {
    int share;       ///< graphs of 1,000
    int steps;       ///< in hundredths of GenerateOptions::max_steps
    int maps, folds; ///< of 100 steps; the rest are casts
    int stages;      ///< most reductions on a path
    int recent;      ///< number of draws; the latest candidate of them is taken
    int most_inputs, most_outputs;
    int least_rank, most_rank;
    double nothing; ///< probability that a mask accepts no element
    double scalars; ///< probability that an operand is the result of a fold
    bool hollow;    ///< one extent is 0
};
constexpr Profile profiles[] = {
    {660, 100, 65, 25, 3, 2, 4, 5, 1, 3, 0.05, 0, false},
    {70, 250, 20, 75, 1, 1, 4, 24, 1, 2, 0.05, 0, false},       // wide: states of many words, sweeps that split
    {80, 250, 45, 50, 12, 5, 2, 5, 1, 2, 0.05, 0.1, false},     // deep: chains of sweeps
    {120, 150, 45, 40, 4, 1, 3, 8, 1, 2, 0.8, 0.5, false},      // empty: values computed from folds of nothing
    {40, 100, 65, 30, 2, 2, 4, 5, 4, max_rank, 0.05, 0, false}, // high: many dims
    {25, 100, 65, 25, 2, 2, 4, 5, 1, 3, 0.05, 0, true},         // hollow: extents of 0
    {5, 100, 80, 15, 1, 1, 75, 75, 1, 3, 0.05, 0, false},       // broad: more arrays than a sweep can have
};

/// A value to build on.
struct Candidate {
    Value value;
    std::vector<int> dims; ///< increasing
    int stage = 0;         ///< most reductions on a path to it
};

class Generator {
public:
    Generator(std::uint64_t seed, const GenerateOptions& options)
        : options_(options), random_(seed), of_orders_(seed ^ 0x5ca77e4), of_shifts_(seed ^ 0x541f7),
          profile_(random_profile(random_)), test_{seed, Graph("g"), {}} {}

    Case generate() {
        declare();
        const auto steps = random_.between(2, std::max(2, options_.max_steps * profile_.steps / 100));
        // A row can refuse its operands (a literal that does not fit, say): draws again.
        for (int step = 0, refusals = 0; step < steps && refusals < 100; ++step) {
            try {
                advance();
            } catch (const InvalidGraph&) {
                --step;
                ++refusals;
            }
        }
        if (is_broad()) pair_inputs();
        yield_outputs();
        return std::move(test_);
    }

private:
    static const Profile& random_profile(Random& random) {
        std::int64_t left = random.between(0, 999);
        for (const Profile& profile : profiles)
            if ((left -= profile.share) < 0) return profile;
        return profiles[0];
    }

    Graph& graph() { return test_.graph; }
    bool is_broad() const { return profile_.most_inputs > 64; }

    /// Adds each input to the next as an output: more stores and loads than one sweep can have.
    void pair_inputs() {
        for (std::size_t i = 1; i < static_cast<std::size_t>(profile_.most_inputs) - 8; ++i) {
            const Operand pair[] = {candidates_[i - 1].value, candidates_[i].value};
            keep(graph().map(map_op::max, pair));
        }
    }

    void declare() {
        choose_extents();
        const std::size_t rank = test_.extents.size();
        std::vector<std::vector<int>> dims; // of each input
        const auto inputs = random_.between(is_broad() ? profile_.most_inputs - 8 : 1, profile_.most_inputs);
        for (int i = 0; i < inputs; ++i) {
            std::vector<int> own;
            for (std::size_t d = 0; d < rank; ++d)
                if (i == 0 || random_.chance(0.7)) own.push_back(static_cast<int>(d));
            if (own.empty()) own.push_back(0);
            if (random_.chance(0.3)) std::swap(own[random_.below(own.size())], own[random_.below(own.size())]);
            dims.push_back(own);
        }
        for (std::size_t d = 0; d < rank; ++d)
            graph().dim(fmt::format("d{}", d), random_.chance(0.1) ? std::optional(test_.extents[d]) : std::nullopt);
        for (const auto& own : dims) {
            std::vector<Dim> handles;
            for (int d : own) handles.push_back(graph().dim_at(DimId(d)));
            keep(graph().input(fmt::format("x{}", candidates_.size()), random_.pick(all_dtypes()), handles));
        }
        for (auto scalars = random_.between(0, 2); scalars > 0; --scalars)
            keep(graph().scalar(fmt::format("a{}", candidates_.size()), random_.pick(all_dtypes())));
        if (random_.chance(0.25)) keep(graph().index(graph().dim_at(DimId(random_.below(rank)))));
        if (random_.chance(0.1)) keep(constant(random_.pick(all_dtypes())));
    }

    Value constant(DType type) {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        constexpr std::array numbers{0.0,      0.0, -0.0,     -0.0,      1.0,
                                     -1.0,     0.1, infinity, -infinity, std::numeric_limits<double>::quiet_NaN(),
                                     0x1p-149, 6e4};
        if (is_floating(type)) return graph().constant(random_.pick(numbers), type);
        if (type == DType::boolean) return graph().constant(random_.chance(0.5), type);
        const std::array<Wide, 5> integers{0, 1, 5, lowest_of(type), highest_of(type)};
        const Wide integer = random_.chance(0.2) && is_signed(type) ? Wide{-1} : random_.pick(integers);
        if (is_signed(type)) return graph().constant(static_cast<std::int64_t>(integer), type);
        return graph().constant(static_cast<std::uint64_t>(integer), type);
    }
    static bool is_signed(DType type) { return kind_of(type) == Kind::signed_integer; }

    void choose_extents() {
        constexpr std::array<std::int64_t, 14> few{1, 2, 3, 31, 32, 33, 255, 256, 257, 511, 1000, 2047, 2048, 2049};
        constexpr std::array<std::int64_t, 11> some{4095,   4097,   6000,   8'192,  9'001, 10'240,
                                                    10'241, 16'384, 16'385, 18'433, 24'577};
        constexpr std::array<std::int64_t, 5> many{32'767, 40'961, 65'535, 65'536, 65'537};
        std::int64_t elements = random_.chance(0.6)   ? random_.pick(few)
                                : random_.chance(0.9) ? random_.pick(some)
                                                      : random_.pick(many);
        elements = std::min(elements, options_.max_elements);
        const auto usual = random_.chance(0.6) ? 1 : random_.chance(0.6) ? 2 : 3;
        const auto rank =
            static_cast<std::size_t>(profile_.least_rank > 1 ? random_.between(profile_.least_rank, profile_.most_rank)
                                                             : std::min(usual, profile_.most_rank));
        if (is_broad()) elements = std::min<std::int64_t>(elements, 2049); // of each of so many arrays
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
        if (of_shifts_.chance(0.06)) shift();
        const auto kind = random_.between(0, 99);
        if (kind < profile_.maps) return map();
        if (kind < profile_.maps + profile_.folds) return reduce();
        const Candidate drawn = any();
        keep(graph().cast(drawn.value, random_.pick(all_dtypes())), drawn.stage);
    }

    /// Shifts a candidate, or its shift.
    void shift() {
        const Candidate drawn = candidates_.back().dims.empty() ? of_shifts_.pick(candidates_) : candidates_.back();
        if (drawn.dims.empty()) return;
        Value value = drawn.value;
        do {
            const Dim dim = graph().dim_at(DimId(of_shifts_.pick(drawn.dims)));
            constexpr std::array<std::int64_t, 8> offsets{-1, 1, -2, 3, 5, -40, 300, -3000};
            const std::array edges{edge::value(0), edge::value(1), edge::clamp, edge::wrap};
            value = graph().shift(value, dim, of_shifts_.pick(offsets), of_shifts_.pick(edges));
        } while (of_shifts_.chance(0.3));
        keep(value, drawn.stage);
    }

    // Drawing operands ------------------------------------------------------------------------------------------------

    /// Any candidate, later ones more often; folded scalars with the profile's probability.
    const Candidate& any() {
        if (random_.chance(profile_.scalars))
            for (int attempt = 0; attempt < 8; ++attempt)
                if (const Candidate& drawn = random_.pick(candidates_); drawn.dims.empty() && drawn.stage > 0)
                    return drawn;
        std::size_t latest = 0;
        for (int draw = 0; draw < profile_.recent; ++draw) latest = std::max(latest, random_.below(candidates_.size()));
        return candidates_[latest];
    }

    /// A candidate of an allowed type: drawn, or cast to such a type.
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
        if (random_.chance(0.5)) return random_.between(-1, 3);
        if (random_.chance(0.1)) return -0.0;
        return static_cast<double>(random_.between(-20, 20)) * 0.25;
    }

    // Applying rows ---------------------------------------------------------------------------------------------------

    void map() {
        const bool choosing = profile_.scalars > 0.3 && random_.chance(0.5);
        const MapOp* const choices[] = {&map_op::select, &map_op::choose};
        const MapOp& row = choosing ? *random_.pick(choices) : *random_.pick(all_maps());
        if (row.builtin < 0 || (!options_.functions && detail::calls_functions(row.expression))) return map();
        std::vector<Operand> operands;
        int stage = 0;
        for (std::size_t slot = 0; slot < static_cast<std::size_t>(row.arity); ++slot) {
            if (slot > 0 && random_.chance(0.2)) {
                operands.emplace_back(0);
                operands.back().literal = literal();
                continue;
            }
            if (random_.chance(0.16)) { // the constants and equal operands that simplify looks for
                if (slot > 0 && operands[slot - 1].literal == std::nullopt && random_.chance(0.5) &&
                    suits(row.rule, slot, operands[slot - 1].value.type()))
                    operands.push_back(operands[slot - 1]);
                else
                    operands.emplace_back(constant(constant_type(row.rule, slot)));
                continue;
            }
            const Candidate operand = any_of([&](DType type) { return suits(row.rule, slot, type); });
            stage = std::max(stage, operand.stage);
            operands.emplace_back(operand.value);
        }
        const Value value = graph().map(row, operands);
        keep(value, stage);
        if (row.arity == 1 && suits(row.rule, 0, value.type()) && random_.chance(0.1)) {
            const Operand again[] = {value};
            keep(graph().map(row, again), stage);
        }
    }

    /// A type for the slot: often that of some candidate.
    DType constant_type(TypeRule rule, std::size_t slot) {
        for (DType type = any().value.type();; type = random_.pick(all_dtypes()))
            if (suits(rule, slot, type)) return type;
    }

    void reduce() {
        const ReduceOp& row = *random_.pick(all_reductions());
        if (row.builtin < 0 || (!options_.functions && &row == &reduce_op::logsumexp)) return reduce();
        if (profile_.hollow && row.needs_elements) return reduce();
        Candidate operand = any();
        for (int attempt = 0; attempt < 8 && (operand.dims.empty() || operand.stage >= profile_.stages); ++attempt)
            operand = random_.chance(profile_.scalars) ? random_.pick(candidates_) : any();
        if (operand.stage >= profile_.stages) return;
        ReduceOptions how;
        int stage = operand.stage;
        if (random_.chance(std::max(0.35, profile_.nothing))) {
            const Candidate mask = mask_for(operand);
            how.where = mask.value;
            stage = std::max(stage, mask.stage);
        }
        if (options_.otherwise && how.where && row.on_empty == OnEmpty::undefined && random_.chance(0.15))
            how.otherwise = literal();
        if (random_.chance(0.3)) how.accumulate = random_.chance(0.7) ? DType::f64 : random_.pick(all_dtypes());
        if (row.argument == ReduceArgument::ddof) how.ddof = static_cast<int>(random_.between(0, 2));
        if (row.argument == ReduceArgument::rank) how.rank = static_cast<int>(random_.between(0, 3));
        if (options_.keeps_dims && operand.dims.size() > 1 && random_.chance(0.5))
            for (const int dim : operand.dims)
                if (random_.chance(0.5)) how.over.push_back(graph().dim_at(DimId(dim)));
        std::vector<Value> values{operand.value};
        while (values.size() < static_cast<std::size_t>(row.monoid->operands)) {
            const Candidate other = beside(operand);
            values.push_back(other.value);
            stage = std::max(stage, other.stage);
        }
        const Value value = graph().reduce(row, values, how);
        keep(value, stage + 1);
    }

    /// A value whose dims are among the operand's, of no later stage; the operand if none is drawn.
    Candidate beside(const Candidate& operand) {
        for (int attempt = 0; attempt < 8; ++attempt) {
            const Candidate& other = any();
            if (std::ranges::includes(operand.dims, other.dims) && other.stage <= operand.stage) return other;
        }
        return operand;
    }

    /// A bool value whose dims are among the operand's: an existing one, or a comparison.
    Candidate mask_for(const Candidate& operand) {
        if (random_.chance(0.03)) return {constant(DType::boolean), {}, 0};
        const bool nothing = random_.chance(profile_.nothing);
        Candidate drawn = operand;
        for (int attempt = 0; attempt < 8; ++attempt) {
            const Candidate& other = any();
            if (!std::ranges::includes(operand.dims, other.dims) || other.stage > operand.stage) continue;
            if (other.value.type() == DType::boolean && !nothing) return other;
            drawn = other;
        }
        if (nothing) { // x < x accepts nothing
            const Operand itself[] = {drawn.value, drawn.value};
            keep(graph().map(map_op::less, itself), drawn.stage);
            return candidates_.back();
        }
        const MapOp* const comparisons[] = {&map_op::less, &map_op::greater_equal, &map_op::not_equal};
        const Operand operands[] = {drawn.value, random_.between(0, 3)};
        keep(graph().map(*random_.pick(comparisons), operands), drawn.stage);
        return candidates_.back();
    }

    void keep(Value value, int stage = 0) {
        std::vector<int> dims;
        for (const Dim& dim : value.dims()) dims.push_back(dim.id().number());
        std::ranges::sort(dims);
        candidates_.push_back({value, dims, stage});
    }

    // Outputs ---------------------------------------------------------------------------------------------------------

    /// Declares outputs: values that nothing reads, the latest first, and sometimes another.
    void yield_outputs() {
        std::set<NodeId> nodes;
        const auto most = static_cast<std::size_t>(profile_.most_outputs);
        for (auto candidate = candidates_.rbegin(); candidate != candidates_.rend(); ++candidate) {
            const NodeId node = candidate->value.node();
            const NodeKind kind = graph().node(node).kind;
            const bool made =
                kind == NodeKind::map || kind == NodeKind::cast || kind == NodeKind::shift || kind == NodeKind::reduce;
            const bool wanted = made ? graph().users(node).empty() || random_.chance(0.15) : random_.chance(0.03);
            if (wanted && nodes.size() < most) nodes.insert(node);
        }
        if (nodes.empty()) nodes.insert(candidates_.back().value.node());
        for (const NodeId node : nodes)
            graph().append_output(fmt::format("o{}", graph().outputs().size()), node, random_order(node));
        if (random_.chance(0.02)) graph().output("again", graph().value(*nodes.begin()));
        if (!profile_.hollow) return;
        const std::size_t d = random_.below(test_.extents.size());
        if (!graph().dims()[d].extent) test_.extents[d] = 0;
    }

    /// Sometimes an order of its own for an array's dims.
    std::vector<DimId> random_order(NodeId node) {
        std::vector<DimId> order = domain_of(graph().node(node));
        if (order.size() < 2 || !of_orders_.chance(0.2)) return {};
        std::size_t from = of_orders_.below(order.size()), to = of_orders_.below(order.size());
        if (from == to) to = (from + 1) % order.size();
        std::swap(order[from], order[to]);
        return order;
    }

    GenerateOptions options_;
    Random random_;
    Random of_orders_, of_shifts_; ///< apart, so that other draws of a seed stay as they were
    const Profile& profile_;
    Case test_;
    std::vector<Candidate> candidates_;
};

} // namespace

Case generate(std::uint64_t seed, const GenerateOptions& options, Coverage& coverage) {
    Case test = Generator(seed, options).generate();
    count(test, coverage);
    return test;
}

} // namespace gf::oracle
