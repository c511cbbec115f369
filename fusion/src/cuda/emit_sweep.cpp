// See emitter.hpp.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <gridfold/core/device_text.hpp>
#include <gridfold/fusion/order.hpp>

#include "cuda/emitter.hpp"
#include "cuda/phase_values.hpp"
#include "cuda/spell.hpp"
#include "cuda/sweep_sizes.hpp"
#include "plan/join_phases.hpp"
#include "plan/plan_text.hpp"

namespace gf::cuda {

namespace {

Table<ValueId, bool> element_values(const Sweep& sweep) {
    Table<ValueId, bool> of_elements(sweep.code.size());
    for (const ValueId v : values_where(sweep, is_per_element)) of_elements[v] = true;
    return of_elements;
}

/// True for the parameters that are in the kernel's Boxes.
bool is_of_boxes(const KernelParameter& p) {
    return p.kind == ParameterKind::box_extent || p.kind == ParameterKind::box_size ||
           p.kind == ParameterKind::box_chunks;
}

/// The device function that runs a kernel of the course.
std::string_view sweep_function(Course course) {
    switch (course) {
    case Course::flat: return "sweep";
    case Course::rows: return "sweep_rows";
    case Course::warp_rows: return "sweep_warp_rows";
    case Course::thread_rows: return "sweep_thread_rows";
    case Course::run_rows: return "sweep_run_rows";
    case Course::held_rows: return "sweep_held_rows";
    case Course::held_thread_rows: return "sweep_held_thread_rows";
    case Course::boxes: return "sweep_boxes";
    case Course::columns: return "sweep_columns";
    case Course::tiles: return "sweep_tiles";
    }
    return "";
}

} // namespace

Emitter::Emitter(const Plan& plan, SweepId id, const Schedule& schedule, Writer::Notes notes)
    : plan_(plan), sweep_(plan.sweeps[id]), id_(id), schedule_(schedule),
      code_(plan, sweep_, schedule.course == Course::rows ? leading_kept_dims(sweep_) : 0),
      by_coordinates_(by_coordinates(plan, sweep_)), gathers_(!code_.indices().empty() || !code_.gathers().empty()),
      scatters_(scatters(plan, sweep_)), reads_in_order_(reads_in_order(plan, sweep_)),
      shifts_((schedule.course == Course::flat || schedule.course == Course::rows) && shifts(plan, sweep_)),
      dims_of_row_(schedule.course == Course::rows ? leading_kept_dims(sweep_) : 0), out_(notes) {
    kernel_.schedule = schedule;
    kernel_.loaded_bytes = loaded_bytes(plan, sweep_);
    kernel_.parameters = kernel_parameters(plan, sweep_, schedule.course, schedule.cooperates);
    if (schedule.length > 0)
        std::erase_if(kernel_.parameters, [](const KernelParameter& p) {
            return p.kind == ParameterKind::elements || p.kind == ParameterKind::part_blocks;
        });
    kernel_.finishes = finishes(sweep_);
    kernel_.phases = phase_count(sweep_);
    if (folds_parts(schedule.course) && !has_phases(schedule.course) && !sweep_.yields.empty())
        throw InternalError("a sweep whose folds keep dims yields a scalar");
    for (const Fold& f : sweep_.folds) kernel_.words += f.monoid->state_words(f.element, f.accumulator);
}

Kernel Emitter::kernel() { return std::move(kernel_); }

std::string Emitter::sweep() {
    title();
    out_.line("namespace GRIDFOLD_NAMESPACE {{");
    out_.blank();
    definitions();
    structure();
    entry();
    out_.blank();
    out_.line("}} // namespace GRIDFOLD_NAMESPACE");
    return out_.take();
}

std::string Emitter::monoids() const {
    std::string text;
    std::set<std::string_view> written;
    for (const Fold& f : sweep_.folds)
        if (f.monoid->builtin >= 0 && written.insert(monoid_source(*f.monoid)).second) text += monoid_source(*f.monoid);
    return text;
}

void Emitter::title() {
    std::string after;
    for (const SweepId earlier : sweep_.after)
        after += fmt::format("{}{}", after.empty() ? ", after sweep " : ", ", earlier);
    out_.comment(fmt::format("Sweep {} of {} over {}{}{}", id_, plan_.name, domain_text(plan_, sweep_.dims), after,
                             sweep_.reason.empty() ? "" : fmt::format(" ({})", sweep_.reason)));
}

void Emitter::definitions() {
    std::set<std::string> written;
    const auto once = [&](const std::string& definition) {
        if (written.insert(definition).second) out_.line("{}", definition);
    };
    for (const Fold& f : sweep_.folds)
        if (f.monoid->builtin < 0) once(std::string(monoid_source(*f.monoid)));
    for (const Instruction& i : sweep_.code) {
        if (i.opcode == Opcode::map) once(spell_map(*i.map));
        if (i.opcode == Opcode::finalize) once(spell_finalize(*i.reduce));
    }
    if (!written.empty()) out_.blank();
}

void Emitter::structure() {
    out_.open("struct Sweep : SweepBase<{}, {}> {{", schedule_.threads, schedule_.width);
    out_.note("threads, elements of a thread in a slab");
    constants();
    members();
    if (has_phases(schedule_.course)) kept_and_held();
    arrays();
    if (!has_phases(schedule_.course)) {
        stored(element_stores(sweep_));
        if (packs_results(schedule_.course)) results();
        folds();
    }
    prologue();
    if (!has_phases(schedule_.course)) {
        gather(code_.gathers());
        scatter();
        across();
        begin();
        element();
        if (kernel_.finishes) finish();
    }
    out_.close("};");
    out_.blank();
    for (int p = 0; has_phases(schedule_.course) && p < phase_count(sweep_); ++p) phase(p);
}

void Emitter::constants() {
    std::string numbers, facts;
    const auto number = [&](std::string_view name, int value, int usual) {
        if (value != usual) numbers += fmt::format("{}{} = {}", numbers.empty() ? "" : ", ", name, value);
    };
    const auto fact = [&](std::string_view name, bool is_so) {
        if (is_so) facts += fmt::format("{}{} = true", facts.empty() ? "" : ", ", name);
    };
    const bool holds = has_phases(schedule_.course); // its phases have ranks
    number("in_flight", schedule_.in_flight, 1);
    number("windows_in_flight", schedule_.realigns ? schedule_.windows_in_flight : 1, 1);
    if (schedule_.course == Course::boxes) number("dims", merged_dims(sweep_), 0);
    number("side", schedule_.side, 0);
    number("across", schedule_.across, -1);
    number("packs", schedule_.packs, 1);
    number("row_threads", schedule_.row_threads, 32);
    number("row_packs", schedule_.row_packs, 1);
    if (kernel_.words > 0 && (schedule_.course == Course::flat || schedule_.course == Course::rows)) {
        number("most_blocks", int(max_blocks), 1);
        number("collects", schedule_.collects, 1);
    }
    number("rank", by_coordinates_ && !holds ? int(sweep_.dims.size() - dims_of_row_) : 0, 0);
    if (by_coordinates_ && has_whole_rows(schedule_.course)) number("kept_dims", int(leading_kept_dims(sweep_)), 0);
    number("lanes_each", schedule_.lanes_each, 1);
    number("apart", schedule_.apart, 1);
    number("unit", schedule_.unit, 1);
    number("tile_bytes", schedule_.tile_bytes, 0);
    number("slab_warps", schedule_.slab_warps, 1);
    number("slabs", schedule_.slabs, 1);
    number("cluster", schedule_.cluster, 1);
    if (schedule_.course == Course::run_rows) number("most_blocks", schedule_.most_blocks, 1);
    if (schedule_.cooperates) {
        number("most_blocks", most_of_row(schedule_), 1);
        number("state_words", kernel_.words, 0);
        number("phases", kernel_.phases, 1);
    }
    if (holds) number("held_words", held_layout(plan_, sweep_, schedule_).bytes * schedule_.width / 4, 0);
    number("elements_ahead", schedule_.elements_ahead, 0);
    number("taken", schedule_.taken, -1);
    fact("calls", !holds && calls(element_values(sweep_)));
    fact("finishes", kernel_.finishes && schedule_.course == Course::flat);
    fact("cooperates", schedule_.cooperates);
    fact("one_turn", schedule_.one_turn);
    fact("one_row", holds && kept_dims(sweep_).empty());
    fact("several_slabs", schedule_.several_slabs);
    fact("gathers_packs", schedule_.gathers_packs);
    fact("whole_packs", schedule_.whole_packs);
    fact("whole_slabs", schedule_.whole_slabs);
    fact("counts_slabs", schedule_.counts_slabs);
    fact("even_blocks", schedule_.even_blocks);
    fact("several_blocks", schedule_.several_blocks);
    fact("few_slabs", schedule_.few_slabs);
    fact("one_lane", schedule_.one_lane);
    fact("staggered", schedule_.staggered);
    fact("rest_at_once", schedule_.rest_at_once);
    fact("tail_early", schedule_.tail_early);
    fact("prefetches", prefetches());
    fact("shifts", shifts_);
    fact("realigns", schedule_.realigns);
    fact("scatters", scatters_ && schedule_.course != Course::tiles);
    if (!numbers.empty()) out_.line("static constexpr int {};", numbers);
    if (!facts.empty()) out_.line("static constexpr bool {};", facts);
    if (schedule_.length > 0)
        out_.line("static constexpr i64 elements = {}, part_blocks = {};", schedule_.length,
                  fold_order(schedule_.length).blocks);
    if (!numbers.empty() || !facts.empty()) out_.blank();
}

void Emitter::members() {
    for (const KernelParameter& p : kernel_.parameters) {
        if (p.kind == ParameterKind::extent) {
            if (p.dim == sweep_.dims[dims_of_row_]) out_.line("i64 extents[{}];", sweep_.dims.size() - dims_of_row_);
            continue;
        }
        if (p.kind == ParameterKind::row_extent) {
            if (p.dim == sweep_.dims[0]) out_.line("i64 row_extents[{}];", dims_of_row_);
            continue;
        }
        if (p.kind == ParameterKind::result_extent) {
            const std::vector<DimId> kept = dims_of(sweep_, kept_dims(sweep_));
            if (p.dim == kept[0]) out_.line("i64 result_extents[{}];", kept.size());
            continue;
        }
        if (is_of_boxes(p)) {
            if (p.kind == ParameterKind::box_extent && p.merged == 0) out_.line("Boxes<dims> boxes;");
            continue;
        }
        out_.line("{} {};", code_.type(p), code_.name(p));
        out_.note(code_.note(p));
    }
    for (const ValueId v : values_where(sweep_, is_once_before)) out_.line("{} v{};", spell(code_.code(v).type), v);
    if (by_coordinates_ && dims_of_row_ > 0) {
        out_.line("i64 row[{}];", dims_of_row_);
        for (const ArrayId a : moving_gathers()) {
            out_.line("const {}* {};", spell_stored(code_.array(a).type), gathered_from(a));
            out_.note(fmt::format("{} from its first row on", code_.array(a).name));
        }
    }
    out_.blank();
}

void Emitter::folds(int phase) {
    std::string all;
    int word = 0;
    for (const FoldId n : sweep_.folds.ids()) {
        const Fold& f = sweep_.folds[n];
        if (f.phase == phase) {
            std::string monoid = spell_monoid(f);
            if (const Instruction& i = code_.code(f.value);
                i.opcode == Opcode::load && code_.array(i.array).type == DType::bf16) // defect: monoid of bf16
                monoid = fmt::format("OfBf16<{}>", monoid);
            out_.line("using Fold{} = {}<{}, {}>;", n, !f.mask.valid() ? "Fold" : "Masked", word, monoid);
            all += fmt::format("{}Fold{}", all.empty() ? "" : ", ", n);
        }
        word += f.monoid->state_words(f.element, f.accumulator);
    }
    if (all.empty()) return;
    out_.line("using Folds = FoldList<{}>;", all);
    out_.blank();
}

void Emitter::value(ValueId v, bool is_member) {
    const Instruction& i = code_.code(v);
    out_.line("{}v{} = {};", is_member ? "" : fmt::format("const {} ", spell(i.type)), v, code_.expression(v));
    out_.note(instruction_text(plan_, v, i));
}

void Emitter::value_of_element(ValueId v, const Table<ValueId, bool>& called) {
    if (!called[v]) return value(v, false);
    const Instruction& i = code_.code(v);
    out_.line("const f32 v{} = called(at, callable::{}{{}}, {});", v, code_.function_with_plain_form(v),
              code_.operands(i));
    out_.note(instruction_text(plan_, v, i));
}

bool Emitter::calls(const Table<ValueId, bool>& of_element) const {
    const Table<ValueId, bool> called = called_values(of_element);
    return std::ranges::find(called, true) != called.end();
}

Table<ValueId, bool> Emitter::called_values(const Table<ValueId, bool>& of_element) const {
    Table<ValueId, bool> called(sweep_.code.size()), depends(sweep_.code.size());
    const bool takes_packs = !packs_results(schedule_.course) && schedule_.course != Course::tiles;
    // Of chains, those in shared memory and those whose packs are all there: softmax of 1,000 bf16 in registers
    // 281 → 304 us, of 72 by a thread each 393 → 425.
    const bool is_faster = !has_phases(schedule_.course) || (schedule_.course == Course::held_rows &&
                                                             (schedule_.shared_bytes > 0 || schedule_.whole_slabs));
    if (!takes_packs || !is_faster) return called;
    for (const ValueId v : sweep_.code.ids()) {
        if (!of_element[v]) continue;
        const bool on_called =
            std::ranges::any_of(code_.code(v).operands, [&](ValueId of) { return of.valid() && depends[of]; });
        // While operands are asked, called values are 0: users' functions may not end then.
        const Instruction& i = code_.code(v);
        if (on_called && i.opcode == Opcode::map && i.map->builtin < 0) return Table<ValueId, bool>(sweep_.code.size());
        called[v] = !on_called && !code_.function_with_plain_form(v).empty();
        depends[v] = on_called || called[v];
    }
    return called;
}

void Emitter::prologue() {
    // All values from the first that reads an earlier sweep's scalar on are computed after the wait.
    const std::vector<ValueId> once = values_where(sweep_, is_once_before);
    const auto waits = std::ranges::find_if(once, [&](ValueId v) { return reads_scalar(code_.code(v)); });
    const auto section = [&](std::string_view name, const auto& begin, const auto& end) {
        if (begin == end) return;
        out_.open("GRIDFOLD_FN void {}() {{", name);
        std::for_each(begin, end, [&](ValueId v) { value(v, true); });
        out_.close();
    };
    section("prologue", once.begin(), waits);
    section("read_scalars", waits, once.end());
    if (!once.empty()) out_.blank();
}

void Emitter::element() {
    out_.open("template <class At> GRIDFOLD_FN void element({}, const At& at) const {{",
              code_.reads_loads() ? "const Loads& l" : "const Loads&");
    const Table<ValueId, bool> called = called_values(element_values(sweep_));
    for (const ValueId v : values_where(sweep_, is_per_element)) value_of_element(v, called);
    take(0, element_stores(sweep_));
    out_.close();
}

void Emitter::take(int phase, const std::vector<Store>& stores) {
    for (const FoldId n : sweep_.folds.ids()) {
        const Fold& f = sweep_.folds[n];
        if (f.phase != phase) continue;
        std::string operands = fmt::format("v{}", f.value);
        for (const ValueId other : f.others)
            if (other.valid()) operands += fmt::format(", v{}", other);
        if (f.monoid->operands > 1) operands = fmt::format("{{{}}}", operands);
        out_.line("at.fold(Fold{}{{}}, {}{});", n, operands, !f.mask.valid() ? "" : fmt::format(", v{}", f.mask));
        out_.note(fmt::format("fold {}: {} of {}{}", n, monoid_of(f), operands_of(f),
                              !f.mask.valid() ? "" : fmt::format(" where %{}", f.mask)));
    }
    for (const Store& s : stores) {
        out_.line("at.stored.{}[at.n] = {};", code_.out_pointer(s.array),
                  spell_to_pack(code_.array(s.array).type, fmt::format("v{}", s.value)));
        out_.note(fmt::format("store %{} to {}", s.value, code_.array(s.array).name));
    }
}

void Emitter::entry() {
    // Parameters of one array member are in braces.
    const auto member_of = [](const KernelParameter& p) {
        const bool is_one = p.kind == ParameterKind::extent || p.kind == ParameterKind::row_extent ||
                            p.kind == ParameterKind::result_extent || is_of_boxes(p);
        return is_one ? int(p.kind) : -1;
    };
    std::string parameters, values, extents;
    for (std::size_t i = 0; i < kernel_.parameters.size(); ++i) {
        const KernelParameter& p = kernel_.parameters[i];
        const std::string type = code_.type(p), name = code_.name(p);
        parameters += fmt::format("{}{} {}", i ? ", " : "", type, name);
        const std::string value =
            schedule_.problems == Problems::one ? name : fmt::format("from_bytes<{}>(own[{}])", type, i + 1);
        if (member_of(p) < 0) {
            values += ", " + value;
            continue;
        }
        extents += (extents.empty() ? "" : ", ") + value;
        if (i + 1 < kernel_.parameters.size() && member_of(kernel_.parameters[i + 1]) == member_of(p)) continue;
        values += fmt::format(", {}{{{}}}{}", p.kind == ParameterKind::box_extent ? "{" : "", extents,
                              p.kind == ParameterKind::box_chunks ? "}" : ""); // `boxes` has three arrays
        extents.clear();
    }
    if (schedule_.problems == Problems::many) parameters = "const u64* records, const u64* places";
    // Without a minimum number of blocks, ptxas spills registers to make more blocks resident.
    const std::string cluster = schedule_.cluster == 1 || schedule_.cooperates
                                    ? ""
                                    : fmt::format("__cluster_dims__({}, 1, 1) ", schedule_.cluster);
    out_.open("extern \"C\" __global__ void {}__launch_bounds__({}, {}) gridfold_sweep({}) {{", cluster,
              schedule_.threads, schedule_.resident, parameters);
    if (schedule_.problems == Problems::many) {
        out_.line("wait_for_previous_kernel();");
        out_.line("u64 place = block_index(); // problem | the block's number in it << 32");
        out_.line("load_relaxed_if(places != nullptr, place, nth_word(places, block_index()));");
        out_.line("const u64* const own = records + u64(u32(place)) * {};", kernel_.parameters.size() + 1);
        out_.line("Sweep kernel{{{{u32(place >> 32), u32(own[0])}}{}}};", values);
    } else {
        out_.line("Sweep kernel{{{{block_index(), grid_blocks()}}{}}};", values);
    }
    std::string phases;
    for (int p = 0; has_phases(schedule_.course) && p < phase_count(sweep_); ++p)
        phases += fmt::format("{}Phase{}", p == 0 ? "<Sweep, " : ", ", p);
    out_.line("{}{}(kernel);", sweep_function(schedule_.course), phases.empty() ? "" : phases + ">");
    out_.close();
}

bool Emitter::prefetches() const {
    return schedule_.problems == Problems::one && schedule_.course == Course::flat && kernel_.words > 0 &&
           reads_in_order_;
}

} // namespace gf::cuda
