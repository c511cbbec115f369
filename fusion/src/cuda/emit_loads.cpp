// How a kernel reads its arrays: in packs, windows, one element at a time, or by coordinates; and whether what it reads
// and stores is aligned.
#include <algorithm>

#include <fmt/format.h>

#include "cuda/emitter.hpp"
#include "cuda/spell.hpp"

namespace gf::cuda {

void Emitter::loads() {
    line("    struct Loads {{");
    for (const int a : arrays_) line("        Pack<{}, width> {};", spell_stored(array(a).type), pointer(a));
    for (const int d : indices_) line("        Pack<i64, width> index_{};", position(d));
    line("    }};\n");
}

void Emitter::load() {
    line("    template <bool packs, bool whole> GRIDFOLD_FN void load(Loads& l, i64 first, int count) const {{");
    for (const int a : arrays_)
        if (flat(a)) line("        load_pack<packs, whole>(l.{0}, {0} + first, count);", pointer(a));
    if (by_coordinates_) line("        gather<whole>(l, first, count);");
    line("    }}\n");
    if (prefetches()) {
        line("    GRIDFOLD_FN void prefetch_elements(i64 first, u32 count) const {{");
        for (const int a : arrays_)
            if (flat(a)) line("        prefetch({0} + first, count * u32(sizeof(*{0})));", pointer(a));
        line("    }}\n");
    }
    if (shape_.tail_early) {
        line("    GRIDFOLD_FN void load_if(bool wanted, Loads& l, i64 first) const {{");
        for (const int a : arrays_) line("        load_pack_if(wanted, l.{0}, {0} + first);", pointer(a));
        line("    }}\n");
    }
    if (!by_coordinates_) return;
    line("    template <bool whole> GRIDFOLD_FN void gather(Loads& l, i64 first, int count) const {{");
    line("        Coordinates<{}> at(first, extents);", std::max<std::size_t>(sweep_.dims.size(), 1));
    line("#pragma unroll");
    line("        for (int n = 0; n < width; ++n) {{");
    line("            if (!whole && n >= count) break;");
    for (const int a : arrays_)
        if (!flat(a)) line("            l.{0}.element[n] = {0}[{1}];", pointer(a), offset(a));
    for (const int d : indices_) line("            l.index_{0}.element[n] = at.at[{0}];", position(d));
    line("            at.advance();");
    line("        }}");
    line("    }}\n");
}

bool Emitter::shifts() const {
    const bool any_way = std::ranges::all_of(sweep_.folds, [](const Fold& fold) {
        return fold.monoid->builtin >= 0 && traits(fold).shifts; // nor asks for an element's number
    });
    const bool numbered =
        std::ranges::any_of(sweep_.code, [](const Instruction& i) { return i.opcode == Opcode::index; });
    return any_way && !numbered && sweep_.stores.empty() && arrays_.size() == 1 && flat(arrays_[0]);
}

void Emitter::shift() {
    line("    GRIDFOLD_FN i64 elements_before_packs() const {{");
    line("        using Packs = Pack<{}, width>;", spell_stored(array(arrays_[0]).type));
    line("        return i64((0 - u64({})) % Packs::bytes / sizeof(Packs::element[0]));", pointer(arrays_[0]));
    line("    }}");
    line("    GRIDFOLD_FN void skip(i64 count) {{");
    line("        {} += count, elements -= count, aligned = true;", pointer(arrays_[0]));
    line("    }}\n");
}

bool Emitter::reads_in_order() const {
    return std::ranges::any_of(arrays_, [&](int a) { return flat(a); });
}

void Emitter::realign() {
    line("    struct Windows {{");
    for (const int a : arrays_)
        if (flat(a)) line("        Window<{}, width> {};", spell_stored(array(a).type), pointer(a));
    line("    }};");
    line("    GRIDFOLD_FN void load_windows(Windows& w, [[maybe_unused]] Loads& l, i64 first) const {{");
    for (const int a : arrays_)
        if (flat(a)) line("        load_window(w.{0}, {0} + first);", pointer(a));
    if (by_coordinates_) line("        gather<true>(l, first, width);");
    line("    }}");
    line("    GRIDFOLD_FN void realign(Loads& l, const Windows& w) const {{");
    for (const int a : arrays_)
        if (flat(a)) line("        cut_out(l.{0}, w.{0}, {0});", pointer(a));
    line("    }}\n");
}

std::string Emitter::alignment(const std::vector<std::pair<std::string, DType>>& addresses) const {
    std::string all;
    for (const auto& [name, type] : addresses)
        all +=
            fmt::format("{}u64({}) % Pack<{}, width>::bytes == 0", all.empty() ? "" : " && ", name, spell_stored(type));
    return all.empty() ? "true" : all;
}

std::string Emitter::loads_alignment() const {
    std::vector<std::pair<std::string, DType>> addresses;
    for (const int a : arrays_)
        if (flat(a)) addresses.emplace_back(pointer(a), array(a).type);
    return alignment(addresses);
}

std::string Emitter::stores_alignment() const {
    std::vector<std::pair<std::string, DType>> addresses;
    for (const Store& s : sweep_.stores) addresses.emplace_back(out_pointer(s), array(s.array).type);
    return alignment(addresses);
}

} // namespace gf::cuda
