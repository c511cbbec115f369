#include "cuda/phase_values.hpp"

#include <algorithm>
#include <span>

#include <gridfold/core/device_text.hpp>

#include "cuda/parameters.hpp"
#include "plan/join_phases.hpp"

namespace gf::cuda {

namespace {

/// Where a phase takes a value from.
enum class Source : std::uint8_t { computed, kept, held };

/// The values that these roots need. `source_of(v)`: where v comes from; what is computed needs its operands.
template <class SourceOf>
PhaseValues values_for(const Sweep& sweep, std::vector<ValueId> left, const SourceOf& source_of) {
    const Table<ValueId, bool> none(sweep.code.size());
    PhaseValues values{none, none, none, none};
    while (!left.empty()) {
        const ValueId v = left.back();
        left.pop_back();
        if (is_once_before(sweep.code[v]) || values.computed[v] || values.kept[v] || values.held[v]) continue;
        switch (source_of(v)) {
        case Source::kept: values.kept[v] = true; break;
        case Source::held: values.held[v] = true; break;
        case Source::computed: {
            values.computed[v] = true;
            const Instruction& i = sweep.code[v];
            if (divides_by_result(sweep, i)) {
                left.push_back(i.operands[0]);
                values.divisors[i.operands[1]] = true;
                break;
            }
            for (const ValueId operand : i.operands)
                if (operand.valid()) left.push_back(operand);
            break;
        }
        }
    }
    return values;
}

/// The values that a phase's elements fold and store.
std::vector<ValueId> roots_of_elements(const Sweep& sweep, int phase) {
    std::vector<ValueId> roots;
    for (const Fold& f : sweep.folds) {
        if (f.phase != phase) continue;
        for (const ValueId v : f.reads()) roots.push_back(v);
    }
    for (const Store& s : element_stores(sweep, phase)) roots.push_back(s.value);
    return roots;
}

std::vector<Store> of_phase(const Sweep& sweep, std::vector<Store> stores, int phase) {
    std::erase_if(stores, [&](const Store& s) { return sweep.code[s.value].phase != phase; });
    return stores;
}

/// True if holding a value costs less than computing it again.
bool is_costly(const Instruction& i) {
    return i.opcode == Opcode::map && (detail::calls_functions(i.map->expression) || i.map == &map_op::divide);
}

} // namespace

std::vector<Store> element_stores(const Sweep& sweep, int phase) {
    return of_phase(sweep, element_stores(sweep), phase);
}

std::vector<Store> result_stores(const Sweep& sweep, int phase) {
    return of_phase(sweep, result_stores(sweep), phase + 1);
}

std::vector<Yield> yields_of(const Sweep& sweep, int phase) {
    std::vector<Yield> yields = sweep.yields;
    std::erase_if(yields, [&](const Yield& y) { return sweep.code[y.value].phase != phase + 1; });
    return yields;
}

bool is_of_result(const Sweep& sweep, const Instruction& i) { return is_per_result(sweep, i) || is_after_folds(i); }

std::vector<ValueId> results_of(const Sweep& sweep, int phase) {
    std::vector<ValueId> values = values_where(sweep, is_of_result);
    std::erase_if(values, [&](ValueId v) { return sweep.code[v].phase != phase + 1; });
    return values;
}

PhaseValues values_of_elements(const Sweep& sweep, int phase, bool holds) {
    Table<ValueId, bool> before(sweep.code.size());
    for (int p = 0; holds && p < phase; ++p) {
        const PhaseValues earlier = values_of_elements(sweep, p, true);
        for (const ValueId v : sweep.code.ids()) before[v] = before[v] || earlier.computed[v];
    }
    return values_for(sweep, roots_of_elements(sweep, phase), [&](ValueId v) {
        if (is_of_result(sweep, sweep.code[v])) return Source::kept;
        return before[v] && is_costly(sweep.code[v]) ? Source::held : Source::computed;
    });
}

PhaseValues values_of_results(const Sweep& sweep, int phase) {
    std::vector<ValueId> roots = results_of(sweep, phase);
    for (const Yield& y : yields_of(sweep, phase))
        if (y.empty.valid()) roots.push_back(y.empty);
    return values_for(sweep, roots, [&](ValueId v) {
        const bool is_earlier = is_of_result(sweep, sweep.code[v]) && sweep.code[v].phase <= phase;
        return is_earlier ? Source::kept : Source::computed;
    });
}

Table<ValueId, bool> kept_values(const Sweep& sweep) {
    Table<ValueId, bool> kept(sweep.code.size());
    for (int p = 0; p < phase_count(sweep); ++p)
        for (const PhaseValues& values : {values_of_elements(sweep, p, false), values_of_results(sweep, p)})
            for (const ValueId v : sweep.code.ids()) kept[v] = kept[v] || values.kept[v];
    return kept;
}

bool divides_by_result(const Sweep& sweep, const Instruction& i) {
    return i.map == &map_op::divide && i.opcode == Opcode::map && i.compute == DType::f32 && is_per_element(sweep, i) &&
           is_of_result(sweep, sweep.code[i.operands[1]]);
}

namespace {

/// How a value depends on quotients by results.
enum class OfQuotient : std::uint8_t {
    independent,
    scaled,  ///< a monotonic function of one, whose sign it has, or the other
    shifted, ///< another monotonic function of one
    otherwise
};

OfQuotient dependence(const Sweep& sweep, const Instruction& i, const Table<ValueId, OfQuotient>& of) {
    OfQuotient on = OfQuotient::independent;
    int dependent = 0;
    for (const ValueId operand : i.operands)
        if (operand.valid() && of[operand] != OfQuotient::independent) {
            on = of[operand];
            ++dependent;
        }
    if (dependent == 0) return divides_by_result(sweep, i) ? OfQuotient::scaled : OfQuotient::independent;
    if (dependent > 1) return OfQuotient::otherwise; // defect: monotonic
    if (i.opcode == Opcode::round || (i.opcode == Opcode::cast && is_floating(i.type))) return on;
    if (i.opcode != Opcode::map || !is_floating(i.compute)) return OfQuotient::otherwise;
    if (i.map == &map_op::neg) return on;
    // Products of 0 and infinities of both signs would both be NaN, where that of a number between them is 0.
    if (i.map == &map_op::mul && on == OfQuotient::scaled) return on; // defect: scaled
    const bool shifts = (i.map == &map_op::add || i.map == &map_op::sub) && on != OfQuotient::otherwise;
    return shifts ? OfQuotient::shifted : OfQuotient::otherwise;
}

} // namespace

bool rounds_quotients(const Plan& plan, const Sweep& sweep, int phase) {
    const std::vector<Store> stores = element_stores(sweep, phase);
    if (stores.empty() || std::ranges::any_of(sweep.folds, [&](const Fold& f) { return f.phase == phase; }))
        return false;
    Table<ValueId, OfQuotient> of(sweep.code.size());
    for (const ValueId v : sweep.code.ids()) of[v] = dependence(sweep, sweep.code[v], of);
    return std::ranges::all_of(stores, [&](const Store& s) {
        return plan.arrays[s.array].type == DType::bf16 && is_flat(s, plan, sweep) &&
               (of[s.value] == OfQuotient::scaled || of[s.value] == OfQuotient::shifted);
    });
}

Table<ValueId, bool> divisors(const Sweep& sweep) {
    Table<ValueId, bool> all(sweep.code.size());
    for (int p = 0; p < phase_count(sweep); ++p) {
        const PhaseValues values = values_of_elements(sweep, p, false);
        for (const ValueId v : sweep.code.ids()) all[v] = all[v] || values.divisors[v];
    }
    return all;
}

bool may_hold_values(const Sweep& sweep) {
    // A shared origin is computed from a row's first element as it was loaded.
    for (const Fold& fold : sweep.folds) {
        if (!shares_origin(fold)) continue;
        const PhaseValues values = values_of_elements(sweep, fold.phase, true);
        if (std::ranges::find(values.held, true) != values.held.end()) return false;
    }
    const Table<ValueId, bool> held = held_values(sweep);
    return std::ranges::find(held, true) != held.end();
}

Table<ValueId, bool> held_values(const Sweep& sweep) {
    Table<ValueId, bool> held(sweep.code.size());
    for (int p = 0; p < phase_count(sweep); ++p) {
        const PhaseValues values = values_of_elements(sweep, p, true);
        for (const ValueId v : sweep.code.ids()) held[v] = held[v] || values.held[v];
    }
    return held;
}

namespace {
/// HeldLayout::first of a value in an array's place.
int place_of_array(const std::vector<ArrayId>& arrays, ArrayId a) {
    return -1 - int(std::ranges::find(arrays, a) - arrays.begin());
}
} // namespace

HeldLayout held_layout(const Plan& plan, const Sweep& sweep, const Schedule& schedule) {
    const auto phases = static_cast<std::size_t>(phase_count(sweep));
    HeldLayout layout{Table<ValueId, int>(sweep.code.size(), HeldLayout::nowhere), {}, {}, {}, 0};
    layout.got.resize(phases);
    layout.put.resize(phases);
    struct Held {
        ValueId value;
        std::size_t made, last; // phases
        int size;
    };
    std::vector<Held> all;
    const bool in_tile = schedule.course == Course::held_thread_rows;
    const std::vector<ArrayId> arrays = arrays_in_order(plan, sweep);
    Table<ArrayId, std::size_t> last_phase(plan.arrays.size()); // that reads an array
    for (const ValueId v : sweep.code.ids()) {
        const Instruction& i = sweep.code[v];
        const bool is_loaded = i.opcode == Opcode::load && is_in_order(i, plan, sweep);
        Held held{v, is_loaded ? 0 : phases, 0, int(size_of(is_loaded ? plan.arrays[i.array].type : i.type))};
        for (std::size_t p = 0; p < phases; ++p) {
            const PhaseValues values = values_of_elements(sweep, int(p), schedule.holds_values);
            if (!is_loaded && values.computed[v]) held.made = std::min(held.made, p);
            if (!(is_loaded ? values.computed[v] : values.held[v])) continue;
            held.last = p;
            layout.got[p].push_back(v);
        }
        if (!is_loaded && held.last == 0) continue;
        if (is_loaded && in_tile) { // it is nowhere else
            for (std::vector<ValueId>& got : layout.got) std::erase(got, v);
            std::size_t& last = last_phase[i.array];
            last = std::max(last, held.last);
            continue;
        }
        if (is_loaded)
            layout.loaded.push_back(v);
        else
            layout.put[held.made].push_back(v);
        all.push_back(held);
    }
    // A phase gets a pack before it puts one: a value may take the places of those that its phase needs last. Threads
    // share out a place's words by words of an access, of which packs of both must have as many.
    std::ranges::stable_sort(all, {}, &Held::made);
    const auto access = [&](const Held& h) { return std::min(h.size * schedule.width, 16); };
    for (std::size_t n = 0; n < all.size(); ++n) {
        const Held& held = all[n];
        const std::span earlier(all.begin(), n);
        const auto is_free = [&](int place) {
            return std::ranges::all_of(earlier, [&](const Held& h) {
                const int first = layout.first[h.value];
                if (first < 0 || first >= place + held.size || place >= first + h.size) return true; // defect: overlaps
                return h.last <= held.made && access(h) == access(held); // defect: place of held
            });
        };
        const auto is_array_free = [&](ArrayId a) {
            const auto takes = [&](const Held& h) { return layout.first[h.value] == place_of_array(arrays, a); };
            // The halves of a word are of two threads, which would read it whole.
            return int(size_of(plan.arrays[a].type)) == held.size && held.size >= 4 && last_phase[a] <= held.made &&
                   std::ranges::none_of(earlier, takes); // defect: array of held
        };
        if (const auto free = std::ranges::find_if(arrays, is_array_free); in_tile && free != arrays.end()) {
            layout.first[held.value] = place_of_array(arrays, *free);
            continue;
        }
        int place = layout.bytes; // behind all others
        for (const Held& h : earlier)
            if (sweep.code[held.value].opcode != Opcode::load && layout.first[h.value] >= 0 &&
                is_free(layout.first[h.value]))
                place = std::min(place, layout.first[h.value]);
        layout.first[held.value] = place;
        layout.bytes = std::max(layout.bytes, place + held.size);
    }
    return layout;
}

} // namespace gf::cuda
