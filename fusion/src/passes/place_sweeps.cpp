#include "passes/place_sweeps.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>
#include <gridfold/ops/type_rule.hpp>

#include "passes/place_results.hpp"
#include "plan/format_id.hpp"

namespace gf::plan {

namespace {

/// All stores and reduces over one domain at one stage that keep the same dims, before splitting, in the order of the
/// graph. (A store keeps none.)
struct Group {
    std::vector<DimId> dims;
    int stage;
    std::vector<DimId> kept;
    std::vector<PlacedStore> stores;
    std::vector<NodeId> reduces;
};

/// The identity of a fold: monoid, element, accumulator, operands, mask.
using FoldKey = std::tuple<const MonoidOp*, DType, DType, std::vector<NodeId>, NodeId>;

class SweepPlacer {
public:
    /// `apart`: the outputs that are not computed in the sweep of the results that they follow from.
    SweepPlacer(const Graph& graph, std::set<NodeId>& apart)
        : graph_(graph), apart_(apart), placement_(placement_of(graph)), live_(live_nodes(graph)),
          stage_(stages_of(graph)), of_results_(maps_of_results(graph, stage_)), stored_later_(stage_.size()),
          origin_(stage_.size()), seen_in_(stage_.size()) {}

    /// The placement; none if more outputs must be apart, which it adds.
    std::optional<Placement> place() && {
        find_origins();
        collect_groups();
        for (const Group& group : groups_) split(group);
        const std::vector<NodeId> failed =
            place_outputs_of_results(graph_, placement_, rooms_, of_results_, stored_later_);
        if (!failed.empty()) {
            apart_.insert(failed.begin(), failed.end());
            return {};
        }
        place_scalars();
        complete(graph_, placement_);
        return std::move(placement_);
    }

private:
    void find_origins() {
        for (const NodeId n : graph_.nodes()) {
            if (graph_.node(n).kind == NodeKind::reduce)
                origin_[n] = n;
            else if (stage_[n] > 0)
                origin_[n] = origin_[forcing_operand(n, stage_[n])];
        }
    }

    /// The first operand with this stage.
    NodeId forcing_operand(NodeId node, int stage) const {
        for (const NodeId operand : graph_.operands(node))
            if (stage_[operand] == stage) return operand;
        throw InternalError(fmt::format("place_sweeps: no operand of node {} has stage {}", node, stage));
    }

    Group& group_of(std::vector<DimId> dims, int stage, std::vector<DimId> kept = {}) {
        const auto [found, is_new] = group_number_.try_emplace({dims, stage, kept}, groups_.size());
        if (is_new) groups_.push_back({std::move(dims), stage, std::move(kept), {}, {}});
        return groups_[found->second];
    }

    void collect_groups() {
        for (const NodeId n : graph_.nodes()) {
            if (!live_[n]) continue;
            const Node& node = graph_.node(n);
            if (node.kind == NodeKind::reduce)
                group_of(domain_of(graph_.node(graph_.operands(n)[0])), stage_[n] - 1, node.dims).reduces.push_back(n);
            if (placement_.outputs_of[n].empty()) continue;
            if (node.dims.empty()) { // yielded
                if (stage_[n] == 0) group_of({}, 0);
            } else if (of_results_[n] && has_outputs_in_order(placement_, n) && !apart_.contains(n)) {
                stored_later_[n] = true;
            } else if (node.kind != NodeKind::reduce) { // those are stored where they are folded
                std::vector<PlacedStore>& stores = group_of(domain_of(node), stage_[n]).stores;
                std::ranges::copy(stores_of_outputs(placement_, n), std::back_inserter(stores));
            }
        }
        join_stores();
        std::stable_sort(groups_.begin(), groups_.end(),
                         [](const Group& a, const Group& b) { return a.stage < b.stage; });
    }

    /// Moves stores without folds beside them into a group over the same domain that keeps dims: one sweep reads all.
    void join_stores() {
        for (Group& group : groups_) {
            if (!group.reduces.empty() || group.stores.empty()) continue;
            const auto beside = std::ranges::find_if(groups_, [&](const Group& other) {
                return !other.kept.empty() && other.dims == group.dims && other.stage == group.stage;
            });
            if (beside != groups_.end()) beside->stores = std::move(group.stores), group.stores.clear();
        }
        std::erase_if(groups_, [](const Group& group) {
            return group.reduces.empty() && group.stores.empty() && !group.dims.empty();
        });
    }

    /// Fills a group's sweeps: stores first, then folds in order; a new sweep when the last one is full.
    void split(const Group& group) {
        const SweepId first = placement_.sweeps.next();
        begin_sweep(group, {});
        most_words_ = share_of_words(group);
        for (const PlacedStore& store : group.stores) {
            make_room(group, {store.node}, {}, 1, stride_words(placement_.arrays[store.array]));
            placement_.sweeps.back().stores.push_back(store);
        }
        for (const std::vector<NodeId>& sharing : sharing_reduces(group))
            for (const NodeId reduce : sharing) {
                const Node& node = graph_.node(reduce);
                const int arrays =
                    arrays_of_results(node) * std::max(1, static_cast<int>(placement_.outputs_of[reduce].size()));
                make_room(group, graph_.operands(reduce), folds_of(reduce), arrays, stride_words_of(reduce));
                placement_.sweeps.back().reduces.push_back(reduce);
                if (!node.dims.empty() && !placement_.outputs_of[reduce].empty())
                    store_value(graph_, placement_, reduce, placement_.sweeps.back());
                placement_.made_in[reduce] = SweepId(placement_.sweeps.size() - 1);
            }
        placement_.sweeps[first].reason = reason_for(placement_.sweeps[first], first);
    }

    /// Words of a thread with four lanes. Where a group keeps dims inside folded ones, each is a result's own.
    static int words_of(const Group& group, const FoldKey& fold) {
        const auto& [monoid, element, accumulator, values, mask] = fold;
        const bool keeps_leading = std::ranges::equal(group.kept, std::span(group.dims).first(group.kept.size()));
        if (!keeps_leading) return 4 * monoid->state_words(element, accumulator); // defect: own states
        return monoid->traits(element, accumulator, mask.valid()).thread_words(4);
    }

    /// The number of sweeps that a group's sets of reductions fill, at `most_words` words a sweep.
    static std::size_t sweeps_of(const Group& group, const std::vector<std::vector<FoldKey>>& sets, int most_words) {
        std::size_t sweeps = 0;
        int words = most_words + 1;
        std::set<FoldKey> open;
        for (const std::vector<FoldKey>& folds : sets) {
            const auto added = [&] {
                int sum = 0;
                for (const FoldKey& fold : folds) sum += open.contains(fold) ? 0 : words_of(group, fold);
                return sum;
            };
            if (words + added() > most_words) {
                ++sweeps;
                words = 0;
                open.clear();
            }
            words += added();
            open.insert(folds.begin(), folds.end());
        }
        return sweeps;
    }

    /// The least limit of words a sweep that does not increase the group's number of sweeps. It makes the sweeps about
    /// equally wide: a sweep's time grows faster than its width.
    int share_of_words(const Group& group) const {
        std::vector<std::vector<FoldKey>> sets;
        for (const std::vector<NodeId>& sharing : sharing_reduces(group)) {
            std::vector<FoldKey>& folds = sets.emplace_back();
            for (const NodeId reduce : sharing)
                for (const FoldKey& fold : folds_of(reduce))
                    if (std::ranges::find(folds, fold) == folds.end()) folds.push_back(fold);
        }
        const std::size_t fewest = sweeps_of(group, sets, max_sweep_words);
        int words = max_sweep_words;
        if (fewest > 1)
            while (words > 1 && sweeps_of(group, sets, words - 1) == fewest) --words;
        return words;
    }

    /// A group's reductions in sets that share a fold; the sets and their elements are in the order of the graph.
    std::vector<std::vector<NodeId>> sharing_reduces(const Group& group) const {
        std::vector<std::vector<NodeId>> sets;
        std::map<FoldKey, std::size_t> number;
        for (const NodeId reduce : group.reduces) {
            const auto [found, is_new] = number.try_emplace(folds_of(reduce)[0], sets.size());
            if (is_new) sets.emplace_back();
            sets[found->second].push_back(reduce);
        }
        return sets;
    }

    /// The folds that a reduction needs: its own, then the one that says whether it accepted enough, if it needs one.
    std::vector<FoldKey> folds_of(NodeId reduce) const {
        const Node& node = graph_.node(reduce);
        const std::vector<NodeId> operands = graph_.operands(reduce);
        const std::span<const NodeId> values = folded_operands(node, operands);
        const NodeId mask = mask_operand(node, operands);
        std::vector<DType> types;
        for (const NodeId value : values) types.push_back(graph_.node(value).type);
        std::vector<FoldKey> folds{{node.reduce->monoid,
                                    value_type(reduce_typing(*node.reduce, types, {}).element),
                                    value_type(node.accumulator),
                                    {values.begin(), values.end()},
                                    mask}};
        if (is_undefined_over_nothing(node))
            folds.emplace_back(acceptance_of(node).monoid, DType::boolean, DType::boolean, std::vector{mask}, NodeId());
        return folds;
    }

    /// stride_words() of the arrays of a reduction's results.
    int stride_words_of(NodeId reduce) const {
        int words = 0;
        for (const std::size_t output : placement_.outputs_of[reduce])
            for (const ArrayId array : {placement_.output_array[output], placement_.output_validity[output]})
                if (array.valid()) words += stride_words(placement_.arrays[array]);
        return words;
    }

    /// Counts these roots, folds, stored arrays and their strides in the open sweep, or in a new one if they do not
    /// fit.
    void make_room(const Group& group, const std::vector<NodeId>& roots, const std::vector<FoldKey>& folds, int stores,
                   int strides) {
        for (bool retried = false;; retried = true) {
            int words = 0;
            std::vector<FoldKey> added;
            for (const FoldKey& fold : folds) {
                if (std::find(open_folds_.begin(), open_folds_.end(), fold) != open_folds_.end()) continue;
                words += words_of(group, fold);
                added.push_back(fold);
            }
            auto [arrays, parameters] = count_new_inputs(roots);
            arrays += stores;
            parameters += strides;
            const bool words_fit =
                words == 0 || open_folds_.empty() || open_words_ + words <= most_words_; // defect: words fit
            const SweepRoom taken{rooms_.back().arrays + arrays, rooms_.back().parameters + parameters};
            if (words_fit && taken.fits()) {
                open_words_ += words;
                rooms_.back() = taken;
                open_folds_.insert(open_folds_.end(), added.begin(), added.end());
                return;
            }
            if (retried)
                throw InvalidGraph(fmt::format("{}", operation_of(graph_.node(roots[0]))),
                                   fmt::format("reads {} arrays and {} addresses, strides and run-time scalars, but "
                                               "one sweep takes at most {} and {}",
                                               arrays, parameters, max_sweep_arrays, max_sweep_parameters),
                                   "split the expression, or bring the inputs together in one array with one more dim");
            begin_sweep(group, !words_fit ? "a sweep has no more accumulators than fit a GPU's registers"
                               : taken.arrays > max_sweep_arrays
                                   ? fmt::format("a sweep takes at most {} arrays", max_sweep_arrays)
                                   : fmt::format("a sweep takes at most {} addresses, strides and scalars",
                                                 max_sweep_parameters));
        }
    }

    void begin_sweep(const Group& group, std::string reason) {
        PlacedSweep sweep;
        sweep.dims = group.dims;
        sweep.stage = group.stage;
        sweep.reason = std::move(reason);
        placement_.sweeps.push_back(std::move(sweep));
        rooms_.push_back({});
        open_folds_.clear();
        open_words_ = 0;
    }

    /// What the backward slice of the roots adds to the open sweep; marks the slice as seen.
    SweepRoom count_new_inputs(std::vector<NodeId> open) {
        const SweepId sweep = placement_.sweeps.next();
        SweepRoom inputs;
        while (!open.empty()) {
            const NodeId node = open.back();
            open.pop_back();
            if (std::exchange(seen_in_[node], sweep) == sweep) continue;
            check_placed_nodes(graph_, ++visits_);
            const NodeKind kind = graph_.node(node).kind;
            if (kind == NodeKind::input) ++inputs.arrays;
            if (kind == NodeKind::reduce) inputs.arrays += arrays_of_results(graph_.node(node));
            inputs.parameters += parameter_words(graph_.node(node));
            if (kind == NodeKind::reduce) continue;
            for (const NodeId operand : graph_.operands(node)) open.push_back(operand);
        }
        return inputs;
    }

    /// Places scalar results that are maps: the last sweep that computes one of their operands yields them.
    void place_scalars() {
        Table<NodeId, SweepId> home(live_.size());
        for (const NodeId n : graph_.nodes()) {
            const Node& node = graph_.node(n);
            if (!live_[n] || !node.dims.empty()) continue;
            home[n] = placement_.made_in[n];
            if (node.kind != NodeKind::reduce)
                for (const NodeId operand : graph_.operands(n))
                    home[n] = std::max(home[n], home[operand]); // defect: home
            if (placement_.outputs_of[n].empty()) continue;
            placement_.made_in[n] = home[n]; // later sweeps read the yielded scalar
            if (home[n].valid())
                placement_.sweeps[home[n]].yields.push_back(n);
            else
                empty_domain_sweep().yields.push_back(n);
        }
    }

    PlacedSweep& empty_domain_sweep() {
        const auto found = std::find_if(placement_.sweeps.begin(), placement_.sweeps.end(),
                                        [](const PlacedSweep& s) { return s.stage == 0 && s.dims.empty(); });
        return *found;
    }

    /// "mean → sub → sum": the path from a reduction of an earlier stage to a result of this sweep.
    std::string reason_for(const PlacedSweep& sweep, SweepId id) const {
        if (sweep.stage == 0) {
            if (id.number() == 0) return "";
            const auto earlier = std::span(placement_.sweeps.begin(), id.index());
            const bool same = std::ranges::any_of(earlier, [&](const PlacedSweep& s) { return s.dims == sweep.dims; });
            return same ? "it keeps other dims" : "another domain";
        }
        constexpr int shown = 6;
        NodeId node;
        std::string path;
        if (sweep.reduces.empty() || (!sweep.stores.empty() && sweep.stores[0].node != sweep.reduces[0])) {
            node = sweep.stores[0].node;
            path = placement_.arrays[sweep.stores[0].array].name;
        } else {
            node = forcing_operand(sweep.reduces[0], sweep.stage);
            path = operation_of(graph_.node(sweep.reduces[0]));
        }
        for (int steps = 0; graph_.node(node).kind != NodeKind::reduce; ++steps) {
            if (steps == shown) {
                path.insert(0, "… → ");
                node = origin_[node];
                break;
            }
            path.insert(0, operation_of(graph_.node(node)) + " → ");
            node = forcing_operand(node, sweep.stage);
        }
        return operation_of(graph_.node(node)) + " → " + path;
    }

    const Graph& graph_;
    std::set<NodeId>& apart_;
    Placement placement_;
    Table<NodeId, bool> live_;
    Table<NodeId, int> stage_;
    Table<NodeId, bool> of_results_;
    Table<NodeId, bool> stored_later_; ///< outputs that place_outputs_of_results() stores
    Table<NodeId, NodeId> origin_;     ///< of a stage > 0: the reduction that a path of forcing operands leads to
    Table<NodeId, SweepId> seen_in_;   ///< the last sweep being filled that needed the node
    std::map<std::tuple<std::vector<DimId>, int, std::vector<DimId>>, std::size_t> group_number_;
    std::vector<Group> groups_;
    Table<SweepId, SweepRoom> rooms_; ///< by sweep
    // The sweep being filled.
    std::vector<FoldKey> open_folds_;
    int open_words_ = 0;
    int most_words_ = max_sweep_words; ///< the most words of each of the group's sweeps
    std::size_t visits_ = 0;           ///< visits of nodes by all sweeps
};

} // namespace

Placement place_sweeps(const Graph& graph) {
    std::set<NodeId> apart;
    for (int attempt = 0;; ++attempt) {
        // What is apart may leave others without room. The third time, all are apart, and nothing fails.
        if (attempt == 2)
            for (const NodeId n : graph.nodes()) apart.insert(n);
        if (std::optional<Placement> placed = SweepPlacer(graph, apart).place()) return *std::move(placed);
    }
}

} // namespace gf::plan
