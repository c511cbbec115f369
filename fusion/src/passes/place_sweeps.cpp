#include "passes/place_sweeps.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>

namespace gf::plan {

namespace {

std::size_t at(int number) { return static_cast<std::size_t>(number); }

/// All stores and reduces over one domain at one stage, before splitting, in the order of the graph.
struct Group {
    std::vector<int> dims;
    int stage;
    std::vector<PlacedStore> stores;
    std::vector<int> reduces;
};

/// The identity of a fold: monoid, element, accumulator, value, mask.
using FoldKey = std::tuple<const MonoidOp*, DType, DType, int, int>;

class SweepPlacer {
public:
    explicit SweepPlacer(const Graph& graph)
        : graph_(graph), placement_(placement_of(graph)), live_(live_nodes(graph)), stage_(stages_of(graph)),
          origin_(at(graph.node_count()), -1), seen_in_(at(graph.node_count()), -1) {}

    Placement place() && {
        find_origins();
        collect_groups();
        for (const Group& group : groups_) split(group);
        place_scalars();
        complete(graph_, placement_);
        return std::move(placement_);
    }

private:
    void find_origins() {
        for (int n = 0; n < graph_.node_count(); ++n) {
            if (graph_.node(n).kind == NodeKind::reduce)
                origin_[at(n)] = n;
            else if (stage_[at(n)] > 0)
                origin_[at(n)] = origin_[at(forcing_operand(n, stage_[at(n)]))];
        }
    }

    /// The first operand with this stage.
    int forcing_operand(int node, int stage) const {
        for (const int operand : graph_.operands(node))
            if (stage_[at(operand)] == stage) return operand;
        throw InternalError(fmt::format("place_sweeps: no operand of node {} has stage {}", node, stage));
    }

    Group& group_of(std::vector<int> dims, int stage) {
        const auto [found, is_new] = group_number_.try_emplace({dims, stage}, groups_.size());
        if (is_new) groups_.push_back({std::move(dims), stage, {}, {}});
        return groups_[found->second];
    }

    void collect_groups() {
        for (int n = 0; n < graph_.node_count(); ++n) {
            if (!live_[at(n)]) continue;
            const Node& node = graph_.node(n);
            if (node.kind == NodeKind::reduce)
                group_of(domain_of(graph_.node(graph_.operands(n)[0])), stage_[at(n)] - 1).reduces.push_back(n);
            for (const int output : placement_.outputs_of[at(n)]) {
                const int array = placement_.output_array[at(output)];
                if (array >= 0)
                    group_of(domain_of(node), stage_[at(n)]).stores.push_back({n, array});
                else if (stage_[at(n)] == 0)
                    group_of({}, 0);
            }
        }
        std::stable_sort(groups_.begin(), groups_.end(),
                         [](const Group& a, const Group& b) { return a.stage < b.stage; });
    }

    /// Fills a group's sweeps: stores first, then folds in order; a new sweep when the last one is full.
    void split(const Group& group) {
        const std::size_t first = placement_.sweeps.size();
        begin_sweep(group, {});
        most_words_ = share_of_words(group);
        for (const PlacedStore& store : group.stores) {
            make_room(group, {store.node}, {}, 1);
            placement_.sweeps.back().stores.push_back(store);
        }
        for (const std::vector<int>& sharing : sharing_reduces(group))
            for (const int reduce : sharing) {
                make_room(group, graph_.operands(reduce), folds_of(reduce), 0);
                placement_.sweeps.back().reduces.push_back(reduce);
                placement_.made_in[at(reduce)] = static_cast<int>(placement_.sweeps.size()) - 1;
            }
        placement_.sweeps[first].reason = reason_for(placement_.sweeps[first], first);
    }

    static int words_of(const FoldKey& fold) {
        const auto& [monoid, element, accumulator, value, mask] = fold;
        return monoid->traits(element, accumulator, mask >= 0).thread_words(4);
    }

    /// The number of sweeps that a group's sets of reductions fill, at `most_words` words a sweep.
    static std::size_t sweeps_of(const std::vector<std::vector<FoldKey>>& sets, int most_words) {
        std::size_t sweeps = 0;
        int words = most_words + 1;
        std::set<FoldKey> open;
        for (const std::vector<FoldKey>& folds : sets) {
            const auto added = [&] {
                int sum = 0;
                for (const FoldKey& fold : folds) sum += open.contains(fold) ? 0 : words_of(fold);
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
        for (const std::vector<int>& sharing : sharing_reduces(group)) sets.push_back(folds_of(sharing[0]));
        const std::size_t fewest = sweeps_of(sets, max_sweep_words);
        int words = max_sweep_words;
        if (fewest > 1)
            while (words > 1 && sweeps_of(sets, words - 1) == fewest) --words;
        return words;
    }

    /// A group's reductions in sets that share a fold; the sets and their elements are in the order of the graph.
    std::vector<std::vector<int>> sharing_reduces(const Group& group) const {
        std::vector<std::vector<int>> sets;
        std::map<FoldKey, std::size_t> number;
        for (const int reduce : group.reduces) {
            const auto [found, is_new] = number.try_emplace(folds_of(reduce)[0], sets.size());
            if (is_new) sets.emplace_back();
            sets[found->second].push_back(reduce);
        }
        return sets;
    }

    /// The folds that a reduction needs: its own, then the Any fold over its mask if it needs one.
    std::vector<FoldKey> folds_of(int reduce) const {
        const Node& node = graph_.node(reduce);
        const std::vector<int> operands = graph_.operands(reduce);
        const int mask = node.masked ? operands[1] : -1;
        std::vector<FoldKey> folds{{node.reduce->monoid, value_type(graph_.node(operands[0]).type),
                                    value_type(node.accumulator), operands[0], mask}};
        if (needs_acceptance(node)) folds.emplace_back(reduce_op::any.monoid, DType::boolean, DType::boolean, mask, -1);
        return folds;
    }

    /// Counts these roots, folds and stored arrays in the open sweep, or in a new one if they do not fit.
    void make_room(const Group& group, const std::vector<int>& roots, const std::vector<FoldKey>& folds, int stores) {
        for (bool retried = false;; retried = true) {
            int words = 0;
            std::vector<FoldKey> added;
            for (const FoldKey& fold : folds) {
                if (std::find(open_folds_.begin(), open_folds_.end(), fold) != open_folds_.end()) continue;
                words += words_of(fold);
                added.push_back(fold);
            }
            auto [arrays, parameters] = count_new_inputs(roots);
            arrays += stores;
            const bool words_fit = words == 0 || open_folds_.empty() || open_words_ + words <= most_words_;
            const bool arrays_fit = open_arrays_ + arrays <= max_sweep_arrays;
            const bool parameters_fit = open_parameters_ + parameters <= max_sweep_parameters;
            if (words_fit && arrays_fit && parameters_fit) {
                open_words_ += words;
                open_arrays_ += arrays;
                open_parameters_ += parameters;
                open_folds_.insert(open_folds_.end(), added.begin(), added.end());
                return;
            }
            if (retried)
                throw InvalidGraph(fmt::format("{}", operation_of(graph_.node(roots[0]))),
                                   fmt::format("reads {} arrays and {} addresses, strides and run-time scalars, but "
                                               "one sweep takes at most {} and {}",
                                               arrays, parameters, max_sweep_arrays, max_sweep_parameters),
                                   "split the expression, or bring the inputs together in one array with one more dim");
            begin_sweep(group, !words_fit
                                   ? fmt::format("a sweep folds at most {} words for four lanes", max_sweep_words)
                               : !arrays_fit ? fmt::format("a sweep takes at most {} arrays", max_sweep_arrays)
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
        open_folds_.clear();
        open_words_ = open_arrays_ = open_parameters_ = 0;
    }

    struct Inputs {
        int arrays = 0, parameters = 0;
    };

    /// The inputs that the backward slice of the roots adds to the open sweep; marks the slice as seen.
    Inputs count_new_inputs(std::vector<int> open) {
        const int sweep = static_cast<int>(placement_.sweeps.size());
        Inputs inputs;
        while (!open.empty()) {
            const int node = open.back();
            open.pop_back();
            if (std::exchange(seen_in_[at(node)], sweep) == sweep) continue;
            check_placed_nodes(graph_, ++visits_);
            const NodeKind kind = graph_.node(node).kind;
            if (kind == NodeKind::input) ++inputs.arrays;
            inputs.parameters += parameter_words(graph_.node(node));
            if (kind == NodeKind::reduce) continue;
            for (const int operand : graph_.operands(node)) open.push_back(operand);
        }
        return inputs;
    }

    /// Places scalar results that are maps: the last sweep that computes one of their operands yields them.
    void place_scalars() {
        std::vector<int> home(at(graph_.node_count()), -1);
        for (int n = 0; n < graph_.node_count(); ++n) {
            const Node& node = graph_.node(n);
            if (!live_[at(n)] || !node.dims.empty()) continue;
            home[at(n)] = placement_.made_in[at(n)];
            if (node.kind != NodeKind::reduce)
                for (const int operand : graph_.operands(n)) home[at(n)] = std::max(home[at(n)], home[at(operand)]);
            if (placement_.outputs_of[at(n)].empty()) continue;
            placement_.made_in[at(n)] = home[at(n)]; // later sweeps read the yielded scalar
            if (home[at(n)] >= 0)
                placement_.sweeps[at(home[at(n)])].yields.push_back(n);
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
    std::string reason_for(const PlacedSweep& sweep, std::size_t number) const {
        if (sweep.stage == 0) return number == 0 ? "" : "another domain";
        constexpr int shown = 6;
        int node = -1;
        std::string path;
        if (!sweep.stores.empty()) {
            node = sweep.stores[0].node;
            path = placement_.arrays[at(sweep.stores[0].array)].name;
        } else {
            node = forcing_operand(sweep.reduces[0], sweep.stage);
            path = operation_of(graph_.node(sweep.reduces[0]));
        }
        for (int steps = 0; graph_.node(node).kind != NodeKind::reduce; ++steps) {
            if (steps == shown) {
                path.insert(0, "… → ");
                node = origin_[at(node)];
                break;
            }
            path.insert(0, operation_of(graph_.node(node)) + " → ");
            node = forcing_operand(node, sweep.stage);
        }
        return operation_of(graph_.node(node)) + " → " + path;
    }

    const Graph& graph_;
    Placement placement_;
    std::vector<bool> live_;
    std::vector<int> stage_;   ///< by node: the stage of its value
    std::vector<int> origin_;  ///< by node of stage > 0: the reduction that a path of forcing operands leads to
    std::vector<int> seen_in_; ///< by node: the last sweep being filled that needed it
    std::map<std::pair<std::vector<int>, int>, std::size_t> group_number_;
    std::vector<Group> groups_;
    // The sweep being filled.
    std::vector<FoldKey> open_folds_;
    int open_words_ = 0;
    int most_words_ = max_sweep_words; ///< the most words of each of the group's sweeps
    int open_arrays_ = 0;
    int open_parameters_ = 0;
    std::size_t visits_ = 0; ///< visits of nodes by all sweeps
};

} // namespace

Placement place_sweeps(const Graph& graph) { return SweepPlacer(graph).place(); }

} // namespace gf::plan
