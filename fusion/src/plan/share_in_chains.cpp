#include "plan/share_in_chains.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <gridfold/core/device_text.hpp>

#include "plan/format_id.hpp"
#include "plan/order_code.hpp"

namespace gf::plan {

namespace {

bool is_function(const Instruction& i) { return i.opcode == Opcode::map && detail::calls_functions(i.map->expression); }

/// True if the sweep reads a scalar or an array that `maker` makes.
bool reads(const Sweep& sweep, const Sweep& maker) {
    return std::ranges::any_of(sweep.code, [&](const Instruction& i) {
        return (i.scalar.valid() && std::ranges::find(maker.yields, i.scalar, &Yield::scalar) != maker.yields.end()) ||
               (i.array.valid() && std::ranges::find(maker.stores, i.array, &Store::array) != maker.stores.end());
    });
}

/// Changes the sweeps of one chain in place, from the first to the last.
class Sharer {
public:
    Sharer(Plan& plan, const Chain& chain, ArrayId first_new) : plan_(plan), chain_(chain), first_new_(first_new) {
        const Sweep& first = plan.sweeps[chain.front()];
        kept_ = kept_dims(first);
        all_ = DimSet::first(first.dims.size());
    }

    void share() {
        for (const SweepId s : chain_) {
            move_values_of_rows(s);
            load_known_values(s);
            const Table<ValueId, int> numbers = numbers_of(s);
            for (const ValueId v : numbers.ids()) first_with_.try_emplace(numbers[v], s);
            for (const Store& store : plan_.sweeps[s].stores)
                if (!is_half(plan_.arrays[store.array].type)) // defect: rounded by a store
                    stored_number_[store.array] = numbers[store.value];
        }
    }

private:
    /// By value of the sweep: a number that the same values of the chain's sweeps have.
    Table<ValueId, int> numbers_of(SweepId s) {
        Table<ValueId, int> numbers;
        for (const Instruction& i : plan_.sweeps[s].code) {
            if (const auto stored = stored_number_.find(i.array);
                i.opcode == Opcode::load && stored != stored_number_.end()) {
                numbers.add(stored->second);
                continue;
            }
            std::array<int, max_arity> operands{};
            for (std::size_t o = 0; o < operands.size(); ++o)
                operands[o] = i.operands[o].valid() ? numbers[i.operands[o]] : -1;
            const SweepId of_fold = i.opcode == Opcode::finalize ? s : SweepId(); // folds are numbered in their sweep
            const std::tuple key(i.opcode, i.type, operands, i.parameter, i.scalar, i.array, i.dim, of_fold, i.fold,
                                 i.bits, i.steps, i.map, i.compute, i.round_to, i.reduce, i.argument);
            numbers.add(known_.try_emplace(key, static_cast<int>(known_.size())).first->second);
        }
        return numbers;
    }

    /// A temporary in which the sweep stores the value.
    ArrayId temporary_of(SweepId s, ValueId v) {
        Sweep& sweep = plan_.sweeps[s];
        for (const Store& store : sweep.stores)
            if (store.value == v && store.array >= first_new_) return store.array;
        const Instruction& i = sweep.code[v];
        const ArrayId array = plan_.arrays.add({.name = fmt::format("shared{}", plan_.arrays.next()),
                                                .type = i.type,
                                                .dims = dims_of(sweep, i.domain),
                                                .role = ArrayRole::temporary});
        sweep.stores.push_back({v, array});
        stored_number_[array] = numbers_of(s)[v];
        return array;
    }

    /// Lets value v of a sweep be loaded.
    void replace_by_load(SweepId s, ValueId v, ArrayId array) {
        Instruction& i = plan_.sweeps[s].code[v];
        i = {.opcode = Opcode::load, .type = i.type, .array = array, .domain = i.domain};
    }

    void tidy(SweepId s) {
        Sweep& sweep = plan_.sweeps[s];
        keep_values(sweep, used_values(sweep));
        sweep.after.clear();
        for (SweepId earlier(0); earlier < s; earlier = earlier.next())
            if (reads(sweep, plan_.sweeps[earlier])) sweep.after.push_back(earlier);
    }

    /// Loads the values of elements that take a function and that an earlier sweep of the chain computes, too. Where
    /// one is computed from another, only the last is loaded.
    void load_known_values(SweepId s) {
        const Table<ValueId, int> numbers = numbers_of(s);
        Table<ValueId, bool> takes_function(numbers.size()), is_known(numbers.size());
        for (const ValueId v : numbers.ids()) {
            const Instruction& i = plan_.sweeps[s].code[v];
            takes_function[v] =
                (is_function(i) && !i.domain.empty()) ||
                std::ranges::any_of(i.operands, [&](ValueId o) { return o.valid() && takes_function[o]; });
            is_known[v] = takes_function[v] && i.domain == all_ && i.phase == 0 && first_with_.contains(numbers[v]);
        }
        bool changed = false;
        for (std::size_t n = numbers.size(); n-- > 0;) {
            const ValueId v(n);
            if (!is_known[v] || !is_used_outside(s, v, is_known)) continue; // defect: last of values
            const SweepId maker = first_with_.at(numbers[v]);
            const Table<ValueId, int> of_maker = numbers_of(maker);
            const ValueId made(std::ranges::find(of_maker, numbers[v]) - of_maker.begin());
            replace_by_load(s, v, temporary_of(maker, made));
            changed = true;
        }
        if (changed) tidy(s);
    }

    /// True if the sweep reads v other than for the values `inside`.
    bool is_used_outside(SweepId s, ValueId v, const Table<ValueId, bool>& inside) const {
        const Sweep& sweep = plan_.sweeps[s];
        for (const ValueId user : sweep.code.ids())
            if (!inside[user] && std::ranges::find(sweep.code[user].operands, v) != sweep.code[user].operands.end())
                return true;
        return std::ranges::any_of(sweep.folds,
                                   [&](const Fold& fold) {
                                       const std::vector<ValueId> read = fold.reads();
                                       return std::ranges::find(read, v) != read.end();
                                   }) ||
               std::ranges::find(sweep.stores, v, &Store::value) != sweep.stores.end();
    }

    /// The sweep of the chain that stores the array in full precision, or none.
    SweepId maker_of(ArrayId array) const {
        for (const SweepId s : chain_)
            for (const Store& store : plan_.sweeps[s].stores)
                if (store.array == array && !is_half(plan_.arrays[array].type)) return s; // defect: full precision
        return {};
    }

    /// Lets the sweep that folds rows compute the values that follow from its results and from what is known before
    /// any element.
    void move_values_of_rows(SweepId s) {
        const Sweep& sweep = plan_.sweeps[s];
        Table<ValueId, SweepId> maker(sweep.code.size()); // the sweep that can compute it
        Table<ValueId, bool> can_move(sweep.code.size());
        for (const ValueId v : sweep.code.ids()) {
            const Instruction& i = sweep.code[v];
            if (i.phase > 0) continue;
            if (i.domain.empty()) {
                can_move[v] = i.opcode != Opcode::read && i.opcode != Opcode::is_empty &&
                              std::ranges::all_of(i.operands, [&](ValueId o) { return !o.valid() || can_move[o]; });
                continue;
            }
            if (!(i.domain == kept_)) continue;
            if (i.opcode == Opcode::load) {
                maker[v] = i.steps.empty() ? maker_of(i.array) : SweepId();
                can_move[v] = maker[v].valid();
                continue;
            }
            can_move[v] = i.opcode == Opcode::map || i.opcode == Opcode::cast || i.opcode == Opcode::round ||
                          i.opcode == Opcode::payload;
            for (const ValueId o : i.operands) {
                if (!o.valid()) continue;
                const bool same = !maker[v].valid() || !maker[o].valid() || maker[o] == maker[v]; // defect: one maker
                can_move[v] = can_move[v] && can_move[o] && same;
                if (maker[o].valid()) maker[v] = maker[o];
            }
            can_move[v] = can_move[v] && maker[v].valid();
        }
        Table<ValueId, bool> moves(sweep.code.size()); // a value of rows, computed by maps
        for (const ValueId v : sweep.code.ids())
            moves[v] = can_move[v] && sweep.code[v].domain == kept_ && sweep.code[v].opcode != Opcode::load;
        bool changed = false;
        for (std::size_t n = moves.size(); n-- > 0;) {
            const ValueId v(n);
            if (!moves[v] || !is_used_outside(s, v, moves)) continue;
            std::map<ValueId, ValueId> copies;
            const ArrayId array = temporary_of(maker[v], copy_to(maker[v], s, v, copies));
            tidy(maker[v]);
            replace_by_load(s, v, array);
            changed = true;
        }
        if (changed) tidy(s);
    }

    /// The value of sweep `to` that is v of sweep `from`: what v loads is what `to` stores. v can move, so its code is
    /// loads, constants, parameters, maps and conversions.
    ValueId copy_to(SweepId to, SweepId from, ValueId v, std::map<ValueId, ValueId>& copies) {
        if (const auto known = copies.find(v); known != copies.end()) return known->second;
        Instruction i = plan_.sweeps[from].code[v];
        Sweep& target = plan_.sweeps[to];
        if (i.opcode == Opcode::load)
            return copies[v] = std::ranges::find(target.stores, i.array, &Store::array)->value;
        for (ValueId& o : i.operands) {
            if (!o.valid()) continue;
            o = copy_to(to, from, o, copies);
            i.phase = std::max(i.phase, target.code[o].phase);
        }
        const auto same = std::ranges::find_if(target.code, [&](const Instruction& other) {
            return std::tie(other.opcode, other.type, other.operands, other.parameter, other.bits, other.map,
                            other.compute, other.round_to) ==
                   std::tie(i.opcode, i.type, i.operands, i.parameter, i.bits, i.map, i.compute, i.round_to);
        });
        return copies[v] = same != target.code.end() ? ValueId(same - target.code.begin()) : target.code.add(i);
    }

    using Key = std::tuple<Opcode, DType, std::array<int, max_arity>, ParameterId, ScalarId, ArrayId, DimId, SweepId,
                           FoldId, std::uint64_t, std::vector<Step>, const MapOp*, DType, DType, const ReduceOp*, int>;

    Plan& plan_;
    const Chain& chain_;
    const ArrayId first_new_;              ///< the first array that the plan did not have
    DimSet kept_, all_;                    ///< the dims of rows, and of elements
    std::map<Key, int> known_;             ///< what numbers_of() has numbered
    std::map<ArrayId, int> stored_number_; ///< of the values that the chain's sweeps store
    std::map<int, SweepId> first_with_;    ///< by number: the first sweep that computes it
};

} // namespace

Plan share_in_chains(const Plan& plan, const std::vector<Chain>& chains) {
    Plan shared = plan;
    for (const Chain& chain : chains) Sharer(shared, chain, plan.arrays.next()).share();
    return shared;
}

} // namespace gf::plan
