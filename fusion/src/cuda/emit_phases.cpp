// See emitter.hpp: the phases of held rows. A phase computes values of elements from loads, from values of the row
// (Kept) and from values of the elements (Held) that earlier phases left; then it folds and stores them, or finishes a
// row.
#include <algorithm>

#include <fmt/format.h>

#include "cuda/emitter.hpp"
#include "cuda/phase_values.hpp"
#include "cuda/spell.hpp"
#include "plan/format_id.hpp"
#include "plan/join_phases.hpp"
#include "plan/plan_text.hpp"

namespace gf::cuda {

void Emitter::kept_and_held() {
    const Table<ValueId, bool> kept = kept_values(sweep_), held = held_values(sweep_), divisor = divisors(sweep_);
    out_.open("struct alignas(8) Kept {{");
    for (const ValueId v : sweep_.code.ids()) {
        if (kept[v]) out_.line("{} v{};", spell(code_.code(v).type), v);
        if (divisor[v]) out_.line("Divisor by_v{};", v);
    }
    out_.close("};");
    out_.open("struct Held {{");
    for (const ValueId v : sweep_.code.ids())
        if (schedule_.holds_values && held[v]) out_.line("Pack<{}, width> v{};", spell(code_.code(v).type), v);
    out_.close("};");
}

void Emitter::held_visitor(std::string_view function, const HeldLayout& layout, const std::vector<ValueId>& values) {
    out_.open("template <class Visit, class Of> GRIDFOLD_FN static void {}(Visit visit, Of& of) {{", function);
    for (const ValueId v : values) {
        const Instruction& i = code_.code(v);
        const std::string member = i.opcode == Opcode::load ? code_.pointer(i.array) : fmt::format("held.v{}", v);
        out_.line("visit(of.{}, {});", member,
                  layout.first[v] < 0 ? layout.first[v] : layout.first[v] * schedule_.width / 4);
    }
    out_.close();
}

/// True if a phase, which folds nothing, stores elements by way of the memory that held them: nothing needs them any
/// longer, and they take as much of it.
bool Emitter::stores_words(int phase, const std::vector<Store>& stores) const {
    if (!schedule_.stores_words || phase + 1 < phase_count(sweep_) || stores.empty()) return false;
    if (std::ranges::any_of(sweep_.folds, [&](const Fold& f) { return f.phase == phase; })) return false;
    const int most = held_layout(plan_, sweep_, schedule_).bytes;
    return std::ranges::all_of(stores, [&](const Store& s) {
        const int bytes = int(size_of(code_.array(s.array).type));
        return bytes <= most && bytes * schedule_.width >= 4;
    });
}

void Emitter::phase(int number) {
    out_.open("struct Phase{} : Sweep {{", number);
    const Table<ValueId, bool> kept = kept_values(sweep_), divisor = divisors(sweep_);
    const bool keeps =
        std::ranges::any_of(results_of(sweep_, number), [&](ValueId v) { return kept[v] || divisor[v]; });
    out_.line("static constexpr bool keeps = {};", keeps);
    if (schedule_.cooperates) out_.line("static constexpr int number = {};", number);
    const Table<ValueId, bool> by = values_of_elements(sweep_, number, schedule_.holds_values).divisors;
    const bool divides = std::ranges::find(by, true) != by.end();
    out_.line("static constexpr bool divides = {};", divides);
    const std::vector<Store> stores = element_stores(sweep_, number);
    out_.line("static constexpr bool rounds_quotients = {};", divides && rounds_quotients(plan_, sweep_, number));
    if (stores_words(number, stores))
        out_.line("static constexpr int arrays_in_words = {};",
                  std::ranges::count_if(stores, [&](const Store& s) { return is_flat(s, plan_, sweep_); }));
    stored(stores);
    folds(number);
    const PhaseValues values = values_of_elements(sweep_, number, schedule_.holds_values);
    // A phase that divides computes its quotients first, and takes elements only if these may not be exact.
    if (!divides && calls(values.computed)) out_.line("static constexpr bool calls = true;");
    std::vector<const Instruction*> gathered;
    bool by_coordinates = false;
    for (const ValueId v : sweep_.code.ids()) {
        if (!values.computed[v]) continue;
        const Instruction& i = code_.code(v);
        if (i.opcode == Opcode::load && !is_in_order(i, plan_, sweep_)) gathered.push_back(&i);
        const bool is_coordinate = i.opcode == Opcode::index && sweep_.dims.size() > 1; // of one dim: at.index()
        by_coordinates = by_coordinates || is_coordinate || !gathered.empty();
    }
    if (by_coordinates) {
        out_.line("static constexpr int rank = {};", sweep_.dims.size());
        gather(gathered);
    }
    const HeldLayout layout = held_layout(plan_, sweep_, schedule_);
    held_visitor("each_got", layout, layout.got[std::size_t(number)]);
    held_visitor("each_put", layout, layout.put[std::size_t(number)]);
    element_of(number);
    finish_of(number);
    out_.close("};");
    out_.blank();
}

void Emitter::element_of(int phase) {
    const PhaseValues values = values_of_elements(sweep_, phase, schedule_.holds_values);
    const Table<ValueId, bool> called = called_values(values.computed);
    const Table<ValueId, bool> held = held_values(sweep_);
    out_.open("template <class At> GRIDFOLD_FN void element(Loads& l, const At& at) const {{");
    for (const ValueId v : sweep_.code.ids()) {
        if (values.kept[v]) out_.line("const {0} v{1} = l.kept.v{1};", spell(code_.code(v).type), v);
        if (values.held[v]) out_.line("const {0} v{1} = l.held.v{1}[at.n];", spell(code_.code(v).type), v);
        if (!values.computed[v]) continue;
        if (const Instruction& i = code_.code(v); divides_by_result(sweep_, i)) {
            out_.line("const f32 v{} = divided(at, v{}, l.kept.by_v{});", v, i.operands[0], i.operands[1]);
            out_.note(instruction_text(plan_, v, i));
        } else {
            value_of_element(v, called);
        }
        if (schedule_.holds_values && held[v]) out_.line("l.held.v{0}[at.n] = v{0};", v);
    }
    take(phase, cuda::element_stores(sweep_, phase));
    out_.close();
}

void Emitter::finish_of(int phase) {
    const PhaseValues values = values_of_results(sweep_, phase);
    const std::vector<ValueId> results = results_of(sweep_, phase);
    if (results.empty()) return;
    const Table<ValueId, bool> kept = kept_values(sweep_), divisor = divisors(sweep_);
    out_.blank();
    out_.open("GRIDFOLD_FN void finish(const Folds::States<1>& s, i64 result, Kept& kept) const {{");
    for (const ValueId v : sweep_.code.ids()) {
        if (values.kept[v]) out_.line("const {0} v{1} = kept.v{1};", spell(code_.code(v).type), v);
        if (!values.computed[v]) continue;
        if (const Instruction& i = code_.code(v); i.opcode == Opcode::load) // of an array of results
            out_.line("const {} v{} = {};", spell(i.type), v,
                      spell_widened(code_.array(i.array).type, fmt::format("{}[result]", code_.pointer(i.array))));
        else
            value(v, false);
    }
    const std::vector<Store> stores = cuda::result_stores(sweep_, phase);
    const std::vector<Yield> yields = yields_of(sweep_, phase);
    const bool of_first = schedule_.cluster > 1 && !(stores.empty() && yields.empty());
    if (of_first) out_.open("if (block % cluster == 0) {{");
    store_results(stores);
    yield_scalars(yields);
    if (of_first) out_.close();
    for (const ValueId v : results) {
        if (kept[v]) out_.line("kept.v{0} = v{0};", v);
        if (divisor[v]) out_.line("kept.by_v{0} = divisor(v{0});", v);
    }
    out_.close();
}

} // namespace gf::cuda
