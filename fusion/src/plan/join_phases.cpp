#include "plan/join_phases.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include <gridfold/core/error.hpp>

#include "plan/order_code.hpp"

namespace gf::plan {

namespace {

using Makers = Table<ArrayId, SweepId>;

/// The sweep that stores each array; none stores inputs.
Makers makers_of(const Plan& plan) {
    Makers makers(plan.arrays.size());
    for (const SweepId s : plan.sweeps.ids())
        for (const Store& store : plan.sweeps[s].stores) makers[store.array] = s;
    return makers;
}

/// For each sweep, the sweeps that must run before it.
Table<SweepId, std::vector<bool>> all_before(const Plan& plan) {
    Table<SweepId, std::vector<bool>> before;
    for (const Sweep& sweep : plan.sweeps) {
        std::vector<bool> own(plan.sweeps.size());
        for (const SweepId earlier : sweep.after) {
            own[earlier.index()] = true;
            for (std::size_t s = 0; s < own.size(); ++s) own[s] = own[s] || before[earlier][s];
        }
        before.add(std::move(own));
    }
    return before;
}

bool is_in(const Chain& chain, SweepId sweep) { return std::ranges::find(chain, sweep) != chain.end(); }

/// True if the sweep folds everything: its results are scalars.
bool folds_all(const Sweep& sweep) { return !sweep.folds.empty() && kept_dims(sweep).empty(); }

/// True if the sweep reads what the chain's sweeps store only as values of the same element or row.
bool reads_rows_of(const Plan& plan, const Makers& makers, const Chain& chain, const Sweep& sweep) {
    const Sweep& first = plan.sweeps[chain.front()];
    const std::vector<DimId> kept = dims_of(first, kept_dims(first));
    return std::ranges::all_of(sweep.code, [&](const Instruction& i) {
        if (i.opcode != Opcode::load || !is_in(chain, makers[i.array])) return true;
        const std::vector<DimId>& dims = plan.arrays[i.array].dims;
        return i.steps.empty() && (dims == sweep.dims || dims == kept);
    });
}

/// True if the sweep writes its arrays in the order of its elements and results.
bool stores_in_order(const Plan& plan, const Sweep& sweep) {
    return std::ranges::all_of(sweep.stores, [&](const Store& store) { return is_flat(store, plan, sweep); });
}

/// True if the values of results depend on inputs only through folds and arrays with an element for each result, and
/// scalars only on folds.
bool computes_by_result(const Plan& plan, const Sweep& sweep) {
    if (std::ranges::any_of(sweep.yields, [&](const Yield& y) { return sweep.code[y.value].phase == 0; })) return false;
    const std::vector<DimId> kept = dims_of(sweep, kept_dims(sweep));
    Table<ValueId, bool> is_known; // for each result, without coordinates
    for (const Instruction& i : sweep.code) {
        const auto knows = [&](ValueId operand) { return !operand.valid() || is_known[operand]; };
        const bool known =
            i.domain.empty() || i.opcode == Opcode::finalize ||
            (i.opcode == Opcode::load ? i.steps.empty() && plan.arrays[i.array].dims == kept
                                      : i.opcode != Opcode::index && std::ranges::all_of(i.operands, knows));
        if (!known && is_per_result(sweep, i)) return false;
        is_known.add(known);
    }
    return true;
}

/// Appends the sweeps of a chain to one sweep. Equal instructions and folds become one.
class Joiner {
public:
    Joiner(const Plan& plan, const Chain& chain) : plan_(plan), chain_(chain) {
        joined_.dims = plan.sweeps[chain.front()].dims;
        joined_.stage = plan.sweeps[chain.front()].stage;
        joined_.reason = plan.sweeps[chain.front()].reason;
        for (const SweepId s : chain) append(plan.sweeps[s]);
        drop_temporaries();
        drop_scalars();
        const auto all = joined_.code.ids();
        keep_values(joined_, {all.begin(), all.end()});
    }
    Sweep take() { return std::move(joined_); }

private:
    void append(const Sweep& sweep) {
        Table<ValueId, ValueId> value_of(sweep.code.size());
        Table<FoldId, FoldId> fold_of(sweep.folds.size());
        const auto kept_name = [&](ValueId v) { return v.valid() ? value_of[v] : ValueId(); };
        // A fold stands before the values that are finalised from it, and after all others.
        const auto add_fold = [&](FoldId f) {
            if (fold_of[f].valid()) return fold_of[f];
            Fold fold = sweep.folds[f];
            fold.value = kept_name(fold.value);
            for (ValueId& other : fold.others) other = kept_name(other);
            fold.mask = kept_name(fold.mask);
            fold.phase = 0;
            for (const ValueId v : fold.reads()) fold.phase = std::max(fold.phase, joined_.code[v].phase);
            const auto same = std::ranges::find(joined_.folds, fold);
            return fold_of[f] =
                       same != joined_.folds.end() ? FoldId(same - joined_.folds.begin()) : joined_.folds.add(fold);
        };
        for (const ValueId v : sweep.code.ids()) {
            Instruction i = sweep.code[v];
            if (i.opcode == Opcode::load && stored_.contains(i.array)) {
                value_of[v] = stored_.at(i.array);
                continue;
            }
            if (const bool asks = i.opcode == Opcode::is_empty;
                (asks || i.opcode == Opcode::read) && yielded_.contains(i.scalar)) {
                const Yield& yield = yielded_.at(i.scalar);
                value_of[v] = asks ? yield.empty : yield.value;
                continue;
            }
            for (ValueId& operand : i.operands) operand = kept_name(operand);
            if (i.opcode == Opcode::finalize) i.fold = add_fold(i.fold);
            value_of[v] = intern(i);
        }
        for (const FoldId f : sweep.folds.ids()) add_fold(f);
        for (const Store& store : sweep.stores) {
            joined_.stores.push_back({value_of[store.value], store.array});
            stored_[store.array] = value_of[store.value];
        }
        for (const Yield& yield : sweep.yields) {
            joined_.yields.push_back({value_of[yield.value], yield.scalar, kept_name(yield.empty)});
            yielded_[yield.scalar] = joined_.yields.back();
        }
    }

    ValueId intern(Instruction i) {
        for (const ValueId operand : i.operands)
            if (operand.valid()) {
                i.domain |= joined_.code[operand].domain;
                i.phase = std::max(i.phase, joined_.code[operand].phase);
            }
        if (i.opcode == Opcode::finalize) i.phase = joined_.folds[i.fold].phase + 1;
        const auto key = [](const Instruction& a) {
            return std::tuple(a.opcode, a.type, a.operands, a.parameter, a.scalar, a.array, a.dim, a.fold, a.bits,
                              a.steps, a.map, a.compute, a.round_to, a.reduce, a.element, a.accumulator, a.argument);
        };
        for (const ValueId known : joined_.code.ids())
            if (key(joined_.code[known]) == key(i)) return known;
        return joined_.code.add(i);
    }

    /// Drops the stores of temporaries that no sweep outside the chain loads.
    void drop_temporaries() {
        const auto is_loaded = [&](ArrayId array) {
            for (const SweepId s : plan_.sweeps.ids())
                if (!is_in(chain_, s))
                    for (const Instruction& i : plan_.sweeps[s].code)
                        if (i.array == array) return true;
            return false;
        };
        std::erase_if(joined_.stores, [&](const Store& store) {
            return plan_.arrays[store.array].role == ArrayRole::temporary && !is_loaded(store.array);
        });
    }

    /// Drops the yields of scalars that are no result and that no sweep outside the chain reads.
    void drop_scalars() {
        const auto is_used = [&](ScalarId scalar) {
            if (std::ranges::find(plan_.outputs, scalar, &Output::scalar) != plan_.outputs.end()) return true;
            for (const SweepId s : plan_.sweeps.ids())
                if (!is_in(chain_, s) &&
                    std::ranges::find(plan_.sweeps[s].code, scalar, &Instruction::scalar) != plan_.sweeps[s].code.end())
                    return true;
            return false;
        };
        std::erase_if(joined_.yields, [&](const Yield& yield) { return !is_used(yield.scalar); });
    }

    const Plan& plan_;
    const Chain& chain_;
    Sweep joined_;
    std::map<ArrayId, ValueId> stored_;
    std::map<ScalarId, Yield> yielded_;
};

/// By sweep: the last sweep of its chain, or itself.
std::vector<std::size_t> groups_of(const Plan& plan, const std::vector<Chain>& chains) {
    std::vector<std::size_t> group(plan.sweeps.size());
    std::iota(group.begin(), group.end(), std::size_t{0});
    for (const Chain& chain : chains)
        for (const SweepId s : chain) group[s.index()] = chain.back().index();
    return group;
}

/// The groups, each by its sweeps, in an order in which each comes after all that it waits for: a chain where its last
/// sweep stood, sweeps that wait for it after it. Groups that wait for each other are left out.
std::vector<std::vector<SweepId>> order_of(const Plan& plan, const std::vector<std::size_t>& group) {
    std::vector<std::set<std::size_t>> before(group.size());
    std::vector<std::vector<SweepId>> sweeps(group.size());
    for (const SweepId s : plan.sweeps.ids()) {
        sweeps[group[s.index()]].push_back(s);
        for (const SweepId earlier : plan.sweeps[s].after)
            if (group[s.index()] != group[earlier.index()]) before[group[s.index()]].insert(group[earlier.index()]);
    }
    std::vector<bool> is_placed(group.size());
    std::vector<std::vector<SweepId>> order;
    const auto is_ready = [&](std::size_t g) {
        return std::ranges::all_of(before[g], [&](std::size_t earlier) { return is_placed[earlier]; });
    };
    const auto next = [&] {
        std::size_t g = 0;
        while (g < group.size() && (is_placed[g] || group[g] != g || !is_ready(g))) ++g;
        return g;
    };
    for (std::size_t g = next(); g < group.size(); g = next()) {
        is_placed[g] = true;
        order.push_back(sweeps[g]);
    }
    return order;
}

/// True if no group is left out of the order.
bool are_all(const std::vector<std::vector<SweepId>>& order, const std::vector<std::size_t>& group) {
    return order.size() == std::set<std::size_t>(group.begin(), group.end()).size();
}

} // namespace

int phase_count(const Sweep& sweep) {
    int last = 0;
    for (const Fold& fold : sweep.folds) last = std::max(last, fold.phase);
    for (const Store& store : sweep.stores)
        if (is_per_element(sweep, sweep.code[store.value])) last = std::max(last, sweep.code[store.value].phase);
    return last + 1;
}

std::vector<Chain> find_chains(const Plan& plan, Folded folded) {
    if (!plan.may_join) return {};
    const Makers makers = makers_of(plan);
    const auto before = all_before(plan);
    std::vector<bool> taken(plan.sweeps.size());
    std::vector<Chain> chains;
    // The longest chain from a sweep on. `of_all`: its sweeps may yield scalars.
    const auto chain_from = [&](SweepId first, bool of_all) {
        const Sweep& sweep = plan.sweeps[first];
        const auto fits = [&](const Sweep& s) { return (of_all || s.yields.empty()) && stores_in_order(plan, s); };
        Chain chain{first};
        for (SweepId next = first.next(); fits(sweep) && next < plan.sweeps.next(); next = next.next()) {
            const Sweep& later = plan.sweeps[next];
            if (taken[next.index()] || later.dims != sweep.dims) continue;
            if (!fits(later)) continue;
            if (!later.folds.empty() && kept_dims(later) != kept_dims(sweep)) continue;
            const auto follows = [&](SweepId s) { return before[next][s.index()]; };
            if (std::ranges::none_of(chain, follows)) continue;
            if (!reads_rows_of(plan, makers, chain, later)) continue;
            Chain longer = chain;
            longer.push_back(next);
            // No sweep or chain outside of it may wait for it and be waited for.
            std::vector<Chain> with_it = chains;
            with_it.push_back(longer);
            const std::vector<std::size_t> group = groups_of(plan, with_it);
            if (!are_all(order_of(plan, group), group)) continue;
            if (computes_by_result(plan, Joiner(plan, longer).take())) chain = std::move(longer);
        }
        return chain;
    };
    const auto add_chains = [&](bool of_all) {
        for (const SweepId first : plan.sweeps.ids()) {
            const Sweep& sweep = plan.sweeps[first];
            if (taken[first.index()] || !(of_all ? folds_all(sweep) : folds_rows(sweep))) continue;
            Chain chain = chain_from(first, of_all);
            if (chain.size() == 1) continue;
            for (const SweepId s : chain) taken[s.index()] = true;
            chains.push_back(std::move(chain));
        }
    };
    add_chains(false); // first: rows are held more often than whole arrays // defect: rows first
    if (folded == Folded::rows_or_all) add_chains(true);
    return chains;
}

std::vector<std::vector<SweepId>> groups_in_order(const Plan& plan, const std::vector<Chain>& chains) {
    const std::vector<std::size_t> group = groups_of(plan, chains);
    std::vector<std::vector<SweepId>> order = order_of(plan, group);
    if (!are_all(order, group)) throw InternalError("chains wait for each other: " + plan.graph_text);
    return order;
}

Plan join_phases(const Plan& plan, const std::vector<Chain>& chains) {
    Plan joined = plan;
    joined.sweeps.clear();
    std::vector<SweepId> place(plan.sweeps.size()); // by sweep: the new one that it is in
    for (const std::vector<SweepId>& group : groups_in_order(plan, chains)) {
        Sweep sweep = group.size() > 1 ? Joiner(plan, group).take() : plan.sweeps[group.front()];
        std::set<SweepId> after;
        for (const SweepId s : group)
            for (const SweepId earlier : plan.sweeps[s].after)
                if (!is_in(group, earlier)) after.insert(place[earlier.index()]);
        sweep.after.assign(after.begin(), after.end());
        const SweepId number = joined.sweeps.add(std::move(sweep));
        for (const SweepId s : group) place[s.index()] = number;
    }
    return joined;
}

} // namespace gf::plan
