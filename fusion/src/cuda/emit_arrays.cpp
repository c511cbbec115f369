// See emitter.hpp: the arrays of a kernel, how a thread's elements are read from them, and how its results are written.
#include <algorithm>

#include <fmt/format.h>

#include "cuda/emitter.hpp"
#include "cuda/phase_values.hpp"
#include "cuda/spell.hpp"

namespace gf::cuda {

void Emitter::arrays() {
    const bool holds = has_phases(schedule_.course);
    std::vector<std::string> read;
    if (reads_in_order_) {
        out_.open("template <template <class, int> class Of> struct Arrays {{");
        for (const ArrayId a : arrays_in_order(plan_, sweep_)) {
            read.push_back(code_.pointer(a));
            out_.line("Of<{}, width> {};", spell_stored(code_.array(a).type), read.back());
        }
        out_.close("};");
        if (schedule_.realigns) out_.line("using Windows = Arrays<Window>;");
        if (!gathers_ && !holds) out_.line("using Loads = Arrays<Pack>;");
    }
    if (gathers_ || holds) {
        out_.open("struct Loads{} {{", reads_in_order_ ? " : Arrays<Pack>" : "");
        for (const Instruction* load : code_.gathers())
            out_.line("Pack<{}, width> {};", spell_stored(code_.array(load->array).type), code_.gathered(*load));
        for (const DimId d : code_.indices()) out_.line("Pack<i64, width> index_{};", code_.position(d));
        if (holds) out_.line("Kept kept;\n        Held held;");
        out_.close("};");
    }
    if (!read.empty()) visitor("each_array", read);
    if (schedule_.course == Course::held_rows) {
        const HeldLayout layout = held_layout(plan_, sweep_, schedule_);
        held_visitor("each_loaded", layout, layout.loaded);
    }
    if (!code_.arrays().empty() || gathers_) out_.blank();
}

void Emitter::visitor(std::string_view function, const std::vector<std::string>& members) {
    out_.open("template <class Visit, class... Of> GRIDFOLD_FN static void {}(Visit visit, Of&... of) {{", function);
    for (const std::string& member : members) out_.line("visit(of.{}...);", member);
    out_.close();
}

void Emitter::stored(const std::vector<Store>& stores) {
    if (stores.empty()) return;
    std::vector<std::string> members;
    out_.open("struct Stored {{");
    for (const Store& s : stores) {
        const std::string name = code_.out_pointer(s.array);
        if (is_flat(s, plan_, sweep_)) members.push_back(name);
        out_.line("{} {};", spell_stored_pack(code_.array(s.array).type), name);
    }
    out_.close("};");
    if (!members.empty()) visitor("each_store", members);
    out_.blank();
}

void Emitter::gather(const std::vector<const Instruction*>& loads) {
    if (!gathers_ || !by_coordinates_) return;
    const auto in_packs = [&](const Instruction* load) {
        return schedule_.gathers_packs && has_packs(*load, plan_, sweep_);
    };
    const auto gather = [&](std::string_view name, const auto& is_taken) {
        out_.open("GRIDFOLD_FN void {}(Loads& l, const i64 (&at)[rank], int n) const {{", name);
        for (const Instruction* load : loads)
            if (!is_read_across(load->array) && is_taken(load))
                out_.line("l.{}[n] = {}[{}];", code_.gathered(*load), gathered_from(load->array),
                          code_.offset(load->array, load->steps));
        for (const DimId d : code_.indices()) out_.line("l.index_{}[n] = {};", code_.position(d), code_.coordinate(d));
        out_.close();
    };
    if (schedule_.gathers_packs) {
        out_.open("GRIDFOLD_FN void gather_packs(Loads& l, const i64 (&at)[rank]) const {{");
        for (const Instruction* load : loads)
            if (in_packs(load))
                out_.line("load_pack<true, true>(l.{}, {} + {}, width);", code_.gathered(*load),
                          gathered_from(load->array), code_.offset(load->array));
        out_.close();
        gather("gather_others", [&](const Instruction* load) { return !in_packs(load); });
    }
    gather("gather", [](const Instruction*) { return true; });
    out_.blank();
}

void Emitter::scatter() {
    const std::vector<Store> stores = element_stores(sweep_);
    if (!scatters_ || std::ranges::all_of(stores, [&](const Store& s) { return is_written_across(s.array); })) return;
    out_.open("GRIDFOLD_FN void scatter(const Stored& s, const i64 (&at)[rank], int n) const {{");
    for (const Store& s : stores)
        if (!is_flat(s, plan_, sweep_) && !is_written_across(s.array))
            out_.line("{0}[{1}] = s.{0}[n];", code_.out_pointer(s.array), code_.offset(s.array));
    out_.close();
    out_.blank();
}

bool Emitter::is_read_across(ArrayId a) const {
    const auto number = std::ranges::find(code_.arrays(), a) - code_.arrays().begin();
    return (schedule_.across_arrays >> number & 1) != 0;
}

bool Emitter::is_written_across(ArrayId a) const {
    return schedule_.across >= 0 &&
           runs_across(code_.array(a), sweep_.dims[std::size_t(schedule_.across)], sweep_.dims.back());
}

void Emitter::across() {
    if (schedule_.course != Course::tiles) return;
    const auto line = [&](std::string_view call, const std::string& pack, const std::string& array,
                          const std::string& offset) {
        out_.line("tile.{}.{}, {}, [&](const i64 (&at)[rank]) {{ return {}; }});", call, pack, array, offset);
    };
    if (schedule_.across_arrays != 0) {
        out_.open("template <class Tile> GRIDFOLD_FN void read_across(Loads& l, const Tile& tile) const {{");
        for (const Instruction* load : code_.gathers())
            if (is_read_across(load->array))
                line("read(l", code_.gathered(*load), code_.pointer(load->array),
                     code_.offset(load->array, load->steps));
        out_.close();
        out_.blank();
    }
    const std::vector<Store> stores = element_stores(sweep_);
    if (std::ranges::any_of(stores, [&](const Store& s) { return is_written_across(s.array); })) {
        out_.open("template <class Tile> GRIDFOLD_FN void write_across(const Stored& s, const Tile& tile) const {{");
        for (const Store& s : stores)
            if (is_written_across(s.array)) {
                const std::string name = code_.out_pointer(s.array);
                line("write(s", name, name, code_.offset(s.array));
            }
        out_.close();
        out_.blank();
    }
}

void Emitter::begin() {
    if (!by_coordinates_ || dims_of_row_ == 0) return;
    out_.open("GRIDFOLD_FN void begin(i64 number) {{");
    out_.line("const Coordinates<{}> at(number, row_extents);", dims_of_row_);
    out_.line("for (int d = 0; d < {}; ++d) row[d] = at.at[d];", dims_of_row_);
    for (const ArrayId a : moving_gathers()) out_.line("{} = {};", gathered_from(a), code_.pointer(a));
    out_.close();
    out_.blank();
}

/// The gathered arrays that are read in order, too, in the course of rows: their pointers move from row to row.
std::vector<ArrayId> Emitter::moving_gathers() const {
    std::vector<ArrayId> all;
    for (const ArrayId a : code_.arrays())
        if (dims_of_row_ > 0 && reads_in_order(plan_, sweep_, a) && gathers(plan_, sweep_, a)) all.push_back(a);
    return all;
}

/// The pointer that a gathered array's coordinates count from.
std::string Emitter::gathered_from(ArrayId a) const {
    const std::vector<ArrayId> moving = moving_gathers();
    return (std::ranges::find(moving, a) != moving.end() ? "first_" : "") + code_.pointer(a);
}

} // namespace gf::cuda
