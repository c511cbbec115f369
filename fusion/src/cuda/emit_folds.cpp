// How a kernel folds and stores: its lanes' states, what becomes of an element, and what is yielded in the end.
#include <algorithm>

#include <fmt/format.h>

#include "cuda/emitter.hpp"
#include "cuda/spell.hpp"

namespace gf::cuda {

void Emitter::folds() {
    line("    struct Lanes {{");
    for (std::size_t f = 0; f < sweep_.folds.size(); ++f)
        line("        {}::State s{}[{}];", lane_monoid(sweep_.folds[f]), f, joins(sweep_.folds[f]) ? "1" : "width");
    for (std::size_t f = 0; f < sweep_.folds.size(); ++f)
        if (shares(sweep_.folds[f])) line("        f64 origin{};", f);
    line("    }};");
    line("    template <int N> struct States {{");
    for (std::size_t f = 0; f < sweep_.folds.size(); ++f)
        line("        {}::State s{}[N];", spell_monoid(sweep_.folds[f]), f);
    line("    }};");
    for (std::size_t f = 0; f < sweep_.folds.size(); ++f) {
        line("    struct Fold{} {{", f);
        line("        using Monoid = {};", spell_monoid(sweep_.folds[f]));
        line("        using LaneMonoid = {};", lane_monoid(sweep_.folds[f]));
        line("        static constexpr int word = {};", fold_words_[f]);
        line("        template <class Any> GRIDFOLD_FN static auto& of(Any& states) {{ return states.s{}; }}", f);
        line("    }};");
    }
    line("    template <class Visit> GRIDFOLD_FN static void each_fold(Visit{}) {{",
         sweep_.folds.empty() ? "" : " visit");
    for (std::size_t f = 0; f < sweep_.folds.size(); ++f) line("        visit(Fold{}{{}});", f);
    line("    }}\n");
}

void Emitter::fold() {
    line("    template <bool whole>");
    line("    GRIDFOLD_FN void fold(Lanes& s, const Loads& l, i64 first, int count, u32 row) const {{");
    for (std::size_t i = 0; i < sweep_.stores.size(); ++i)
        line("        Pack<{}, width> stored{};", spell_stored(array(sweep_.stores[i].array).type), i);
    for (std::size_t f = 0; f < sweep_.folds.size(); ++f)
        if (packs(sweep_.folds[f])) line("        {} x{}[width];", spell(sweep_.folds[f].element), f);
    line("#pragma unroll");
    line("        for (int n = 0; n < width; ++n) {{");
    line("            if (!whole && n >= count) break;");
    for (const int v : values_where(sweep_, is_per_element)) line("{}", definition(v, "            "));
    for (std::size_t f = 0; f < sweep_.folds.size(); ++f) accumulate(f);
    for (std::size_t i = 0; i < sweep_.stores.size(); ++i)
        line("            stored{}.element[n] = {};", i,
             spell_narrowed(array(sweep_.stores[i].array).type, fmt::format("v{}", sweep_.stores[i].value)));
    line("        }}");
    for (std::size_t f = 0; f < sweep_.folds.size(); ++f)
        if (packs(sweep_.folds[f]))
            line("        if constexpr (whole) {}::accumulate_pack(s.s{}[0], x{});", spell_monoid(sweep_.folds[f]), f,
                 f);
    for (std::size_t i = 0; i < sweep_.stores.size(); ++i)
        line("        store_pack<whole>({} + first, stored{}, count, stores_aligned);", out_pointer(sweep_.stores[i]),
             i);
    line("    }}\n");
}

void Emitter::accumulate(std::size_t number) {
    const Fold& fold = sweep_.folds[number];
    const std::string monoid = spell_monoid(fold), state = fmt::format("s.s{}[{}]", number, joins(fold) ? "0" : "n");
    const std::string guard = fold.mask < 0 ? "" : fmt::format("if (v{}) ", fold.mask);
    if (in_steps(fold)) {
        line("            {}::advance({}, v{}, {});", monoid, state, fold.value,
             joins(fold) ? "row * width + n" : "row");
        return;
    }
    if (shares(fold)) {
        line("            {}::accumulate({}, v{}, s.origin{});", lane_monoid(fold), state, fold.value, number);
        return;
    }
    if (packs(fold)) line("            if constexpr (whole) x{}[n] = v{};", number, fold.value);
    line("            {}{}{}::accumulate({}, v{}, first + n);", packs(fold) ? "if constexpr (!whole) " : "", guard,
         monoid, state, fold.value);
}

bool Emitter::ends() const { return std::ranges::any_of(sweep_.folds, in_steps); }

bool Emitter::shares() const {
    return std::ranges::any_of(sweep_.folds, [](const Fold& fold) { return shares(fold); });
}

std::string Emitter::lane_monoid(const Fold& fold) { return spell_monoid(fold) + (shares(fold) ? "::OfBlock" : ""); }

void Emitter::clear() {
    line("    GRIDFOLD_FN static void clear([[maybe_unused]] Lanes& s) {{");
    for (std::size_t f = 0; f < sweep_.folds.size(); ++f) {
        const Fold& fold = sweep_.folds[f];
        line("        for (auto& state : s.s{}) state = {}::{}();", f, lane_monoid(fold),
             in_steps(fold) ? "start" : "identity");
        if (shares(fold)) line("        s.origin{} = 0.0;", f);
    }
    line("    }}");
}

void Emitter::share() {
    line("    GRIDFOLD_FN void share(Lanes& s, [[maybe_unused]] const Loads& l, [[maybe_unused]] i64 first) const "
         "{{");
    line("        [[maybe_unused]] constexpr int n = 0;");
    for (const int v : values_where(sweep_, is_per_element)) line("{}", definition(v, "        "));
    for (std::size_t f = 0; f < sweep_.folds.size(); ++f)
        if (const Fold& fold = sweep_.folds[f]; shares(fold))
            line("        s.origin{} = {}::origin(v{});", f, spell_monoid(fold), fold.value);
    line("    }}");
}

void Emitter::end() {
    line("    GRIDFOLD_FN static void end(Lanes& s, i64 rows, int more, i64 first, i64 stride) {{");
    for (std::size_t f = 0; f < sweep_.folds.size(); ++f)
        if (const Fold& fold = sweep_.folds[f]; in_steps(fold)) {
            if (joins(fold)) {
                line("        {}::end(s.s{}[0], rows + (more > 0), first, stride, width);", spell_monoid(fold), f);
            } else {
                line("#pragma unroll");
                line("        for (int n = 0; n < width; ++n)");
                line("            {}::end(s.s{}[n], rows + (n < more), first + n, stride, 1);", spell_monoid(fold), f);
            }
        }
    line("    }}");
}

void Emitter::close() {
    line("    GRIDFOLD_FN static void close([[maybe_unused]] const Lanes& s, [[maybe_unused]] States<1>& to, "
         "[[maybe_unused]] i64 elements) {{");
    for (std::size_t f = 0; f < sweep_.folds.size(); ++f)
        if (shares(sweep_.folds[f]))
            line("        to.s{0}[0] = {1}::close(s.s{0}[0], s.origin{0}, elements);", f,
                 spell_monoid(sweep_.folds[f]));
        else
            line("        to.s{0}[0] = s.s{0}[0];", f);
    line("    }}\n");
}

void Emitter::finish() {
    line("    GRIDFOLD_FN void finish([[maybe_unused]] const States<1>& s, u32 tag) const {{");
    for (const int v : values_where(sweep_, is_after_folds)) line("{}", definition(v, "        "));
    for (const Yield& y : sweep_.yields) {
        const DType type = plan_.scalars[std::size_t(y.scalar)].type;
        const std::string value = spell_narrowed(type, fmt::format("v{}", y.value));
        line("        yield<{}>(scalars + {}, host ? host + {} : nullptr, tag, {}, {});", spell_stored(type), y.scalar,
             3 * y.scalar, value, y.empty >= 0 ? fmt::format("v{}", y.empty) : "false");
    }
    line("    }}");
}

} // namespace gf::cuda
