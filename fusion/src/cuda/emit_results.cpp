// See emitter.hpp: what follows the folds. Kernels finish their states, then store the results of folds that keep dims,
// or yield scalars.
#include <algorithm>

#include <fmt/format.h>

#include "cuda/emitter.hpp"
#include "cuda/spell.hpp"
#include "plan/plan_text.hpp"

namespace gf::cuda {

/// The packs of a thread's neighbouring results.
void Emitter::results() {
    std::vector<std::string> members;
    for (const Store& s : result_stores(sweep_)) {
        if (!is_flat(s, plan_, sweep_)) continue;
        if (members.empty()) out_.open("struct Results {{");
        members.push_back(code_.out_pointer(s.array));
        out_.line("{} {};", spell_stored_pack(code_.array(s.array).type), members.back());
    }
    if (members.empty()) return;
    out_.close("};");
    visitor("each_result", members);
    out_.blank();
}

void Emitter::finish() {
    out_.blank();
    if (schedule_.course != Course::flat) return finish_result();
    out_.open("GRIDFOLD_FN void finish(const Folds::States<1>&{}, u32 tag) const {{", reads_states() ? " s" : "");
    for (const ValueId v : values_where(sweep_, is_after_folds)) value(v, false);
    yield_scalars(sweep_.yields);
    out_.close();
}

void Emitter::yield_scalars(const std::vector<Yield>& yields) {
    for (const Yield& y : yields) {
        const DType type = plan_.scalars[y.scalar].type;
        out_.line("yield<{}>(scalars + {}, host ? host + {} : nullptr, tag, {}, {});", spell_stored(type), y.scalar,
                  3 * y.scalar.number(), spell_narrowed(type, fmt::format("v{}", y.value)), // defect: yielded
                  y.empty.valid() ? fmt::format("v{}", y.empty) : "false");
        for (const Output& output : plan_.outputs)
            if (output.scalar == y.scalar) out_.note(output.name);
    }
}

void Emitter::finish_result() {
    const std::vector<Store> stores = result_stores(sweep_);
    if (packs_results(schedule_.course)) {
        const auto in_order = std::ranges::count_if(stores, [&](const Store& s) { return is_flat(s, plan_, sweep_); });
        const bool by_coordinates = in_order < std::ssize(stores);
        out_.open("GRIDFOLD_FN void finish(const Folds::States<1>& s, i64{}, Results&{}, int{}) const {{",
                  by_coordinates ? " result" : "", in_order > 0 ? " to" : "", in_order > 0 ? " n" : "");
    } else {
        out_.open("GRIDFOLD_FN void finish(const Folds::States<1>& s, i64 result) const {{");
    }
    for (const ValueId v : values_where(sweep_, is_per_result)) value(v, false);
    store_results(stores);
    out_.close();
}

void Emitter::store_results(const std::vector<Store>& stores) {
    if (scatters_results(plan_, sweep_))
        out_.line("const Coordinates<{}> at(result, result_extents);", dims_of(sweep_, kept_dims(sweep_)).size());
    for (const Store& s : stores) {
        const std::string name = code_.out_pointer(s.array), result = fmt::format("v{}", s.value);
        const DType type = code_.array(s.array).type;
        if (is_flat(s, plan_, sweep_) && packs_results(schedule_.course))
            out_.line("to.{}[n] = {};", name, spell_to_pack(type, result));
        else
            out_.line("{}[{}] = {};", name,
                      is_flat(s, plan_, sweep_) ? "result" : code_.result_offset(s.array), // defect: result store
                      spell_narrowed(type, result));
        out_.note(fmt::format("store %{} to {}", s.value, code_.array(s.array).name));
    }
}

bool Emitter::reads_states() const {
    return std::ranges::any_of(sweep_.code, [](const Instruction& i) { return i.opcode == Opcode::finalize; });
}

} // namespace gf::cuda
