// See emit_cuda.hpp. The kernel's course is device/sweep.cuh; this file writes the particulars.
#include "emit_cuda.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include <gridfold/core/device_text.hpp>
#include <gridfold/fusion/order.hpp>
#include <gridfold/ops/device_text.hpp>

#include "spell.hpp"
#include "sweep_code.hpp"

namespace gf::cuda {

namespace {

/// One sweep being written.
class Emitter : SweepCode {
public:
    Emitter(const Plan& plan, int number, Problems problems)
        : SweepCode(plan, plan.sweeps[std::size_t(number)]), problems_(problems),
          shape_(choose_shape(plan, sweep_, problems)) {
        kernel_.threads = shape_.threads;
        kernel_.slab = shape_.threads * shape_.width;
        kernel_.loaded_bytes = loaded_bytes(plan, sweep_);
        kernel_.finishes = !sweep_.folds.empty() || !sweep_.yields.empty();
        for (const Fold& f : sweep_.folds) {
            fold_words_.push_back(kernel_.words);
            kernel_.words += f.monoid->state_words(f.element, f.accumulator);
        }
        by_coordinates_ = by_coordinates(plan, sweep_);
    }

    Kernel emit() {
        text();
        fragments();
        structure();
        entry();
        return std::move(kernel_);
    }

private:
    template <class... Args> void line(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(kernel_.source), format, std::forward<Args>(args)...);
        kernel_.source += '\n';
    }

    void text() {
        // Neither name nor number of the sweep: sweeps of one form are one kernel, and one cache entry (but for the
        // numbers of the scalars that they read and yield).
        line("// One grid-stride kernel, written by gridfold.");
        for (const std::string_view part : {detail::prelude_text(), detail::warp_text(), detail::block_text(),
                                            detail::grid_text(), detail::sweep_text()})
            kernel_.source += part;
    }

    /// The maps, monoids and finalisers that the sweep uses, each once.
    void fragments() {
        line("namespace GRIDFOLD_NAMESPACE {{\n");
        std::set<std::string> written;
        const auto once = [&](std::string fragment) {
            if (written.insert(fragment).second) line("{}", fragment);
        };
        for (const Fold& f : sweep_.folds) once(std::string(monoid_source(*f.monoid)));
        for (const Instruction& i : sweep_.code) {
            if (i.opcode == Opcode::map) once(spell_map(*i.map));
            if (i.opcode == Opcode::finalize) once(spell_finalize(*i.reduce));
        }
    }

    void structure() {
        line("\nstruct Sweep {{");
        line("    static constexpr int threads = {}, width = {}, in_flight = {}, words = {};", shape_.threads,
             shape_.width, shape_.in_flight, kernel_.words);
        line("    static constexpr int windows_in_flight = {}, most_blocks = {}, collects = {};",
             shape_.windows_in_flight, max_blocks, shape_.collects);
        line("    static constexpr bool finishes = {}, tail_early = {}, prefetches = {}, shifts = {}, realigns = {};",
             kernel_.finishes, shape_.tail_early, prefetches(), shifts(), realigns());
        line("    static constexpr bool shares = {}, ends = {};\n", shares(), ends());
        members();
        prologue();
        loads();
        folds();
        load();
        if (shifts()) shift();
        realign();
        fold();
        clear();
        if (shares()) share();
        if (ends()) end();
        close();
        if (kernel_.finishes) finish();
        line("}};\n");
    }

    void member(std::string_view type, const std::string& name, KernelParameter parameter) {
        line("    {} {};", type, name);
        kernel_.parameters.push_back(parameter);
        members_.push_back({std::string(type), name});
    }

    /// The kernel's parameters, in order, and what is computed from them once.
    void members() {
        for (const int a : arrays_)
            member(fmt::format("const {}*", spell_stored(array(a).type)), pointer(a), {ParameterKind::array, a});
        for (const Store& s : sweep_.stores)
            member(fmt::format("{}*", spell_stored(array(s.array).type)), out_pointer(s),
                   {ParameterKind::array, s.array});
        for (int v = 0; v < sweep_.body; ++v)
            if (code(v).opcode == Opcode::parameter)
                member(spell_stored(plan_.parameters[std::size_t(code(v).slot)].type), fmt::format("parameter_{}", v),
                       {ParameterKind::parameter, code(v).slot});
        member("i64", "elements", {ParameterKind::elements});
        if (by_coordinates_) {
            for (const int d : sweep_.dims)
                member("i64", fmt::format("extent_{}", position(d)), {ParameterKind::extent, d});
            for (const int a : arrays_)
                if (!flat(a))
                    for (const int d : array(a).dims) member("i64", stride(a, d), {ParameterKind::stride, a, d});
        }
        const bool reads =
            std::ranges::any_of(sweep_.code, [](const Instruction& i) { return i.opcode == Opcode::read; });
        if (kernel_.finishes || reads) member("Scalar*", "scalars", {ParameterKind::scalars});
        if (kernel_.finishes) {
            member("u64*", "workspace", {ParameterKind::workspace});
            member("u64*", "host", {ParameterKind::host});
        }
        line("    u32 block, blocks;");
        line("    bool aligned, stores_aligned;");
        if (by_coordinates_) line("    i64 extents[{}];", std::max<std::size_t>(sweep_.dims.size(), 1));
        for (int v = 0; v < sweep_.body; ++v) {
            line("    {} v{};", spell(code(v).type), v);
            if (code(v).may_be_empty) line("    bool empty{};", v);
        }
        line("");
    }

    void loads() {
        line("    struct Loads {{");
        for (const int a : arrays_) line("        Pack<{}, width> {};", spell_stored(array(a).type), pointer(a));
        for (const int d : indices_) line("        Pack<i64, width> index_{};", position(d));
        line("    }};\n");
    }

    void folds() {
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

    void load() {
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

    /// May elements be shared out among lanes in any way? Then those of an array that is not aligned are from its first
    /// pack on.
    bool shifts() const {
        const bool any_way = std::ranges::all_of(sweep_.folds, [](const Fold& fold) {
            return joins(fold) && fold.monoid->builtin >= 0 &&
                   !fold.monoid->in_steps; // nor asks for an element's number
        });
        const bool numbered =
            std::ranges::any_of(sweep_.code, [](const Instruction& i) { return i.opcode == Opcode::index; });
        return any_way && !numbered && sweep_.stores.empty() && arrays_.size() == 1 && flat(arrays_[0]);
    }

    void shift() {
        line("    GRIDFOLD_FN i64 elements_before_packs() const {{");
        line("        using Packs = Pack<{}, width>;", spell_stored(array(arrays_[0]).type));
        line("        return i64((0 - u64({})) % Packs::bytes / sizeof(Packs::element[0]));", pointer(arrays_[0]));
        line("    }}");
        line("    GRIDFOLD_FN void skip(i64 count) {{");
        line("        {} += count, elements -= count, aligned = true;", pointer(arrays_[0]));
        line("    }}\n");
    }

    /// Of many problems, the table is awaited first; and a sweep that only maps has many blocks, which do not wait
    /// together.
    bool prefetches() const { return problems_ == Problems::one && kernel_.words > 0 && reads_in_order(); }

    bool realigns() const { return !shifts() && reads_in_order(); }
    bool reads_in_order() const {
        return std::ranges::any_of(arrays_, [&](int a) { return flat(a); });
    }

    void realign() {
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

    void fold() {
        line("    template <bool whole>");
        line("    GRIDFOLD_FN void fold(Lanes& s, const Loads& l, i64 first, int count, u32 row) const {{");
        for (std::size_t i = 0; i < sweep_.stores.size(); ++i)
            line("        Pack<{}, width> stored{};", spell_stored(array(sweep_.stores[i].array).type), i);
        for (std::size_t f = 0; f < sweep_.folds.size(); ++f)
            if (packs(sweep_.folds[f])) line("        {} x{}[width];", spell(sweep_.folds[f].element), f);
        line("#pragma unroll");
        line("        for (int n = 0; n < width; ++n) {{");
        line("            if (!whole && n >= count) break;");
        for (int v = sweep_.body; v < sweep_.epilogue; ++v) line("{}", definition(v, "            "));
        for (std::size_t f = 0; f < sweep_.folds.size(); ++f) accumulate(f);
        for (std::size_t i = 0; i < sweep_.stores.size(); ++i)
            line("            stored{}.element[n] = {};", i,
                 spell_narrowed(array(sweep_.stores[i].array).type, fmt::format("v{}", sweep_.stores[i].value)));
        line("        }}");
        for (std::size_t f = 0; f < sweep_.folds.size(); ++f)
            if (packs(sweep_.folds[f]))
                line("        if constexpr (whole) {}::accumulate_pack(s.s{}[0], x{});", spell_monoid(sweep_.folds[f]),
                     f, f);
        for (std::size_t i = 0; i < sweep_.stores.size(); ++i)
            line("        store_pack<whole>({} + first, stored{}, count, stores_aligned);",
                 out_pointer(sweep_.stores[i]), i);
        line("    }}\n");
    }

    /// One element into the state of its lane.
    void accumulate(std::size_t number) {
        const Fold& fold = sweep_.folds[number];
        const std::string monoid = spell_monoid(fold),
                          state = fmt::format("s.s{}[{}]", number, joins(fold) ? "0" : "n");
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

    /// Is one state enough for all lanes of a thread? It sees their elements in increasing order, too.
    static bool joins(const Fold& fold) { return fold.monoid->exact_in_any_order(fold.accumulator); }
    /// Does this fold take its elements in steps, or those of whole slabs pack by pack (monoid.cuh)?
    static bool in_steps(const Fold& fold) { return fold.mask < 0 && fold.monoid->in_steps; }
    static bool packs(const Fold& fold) {
        return fold.mask < 0 && fold.monoid->in_packs && joins(fold) && !in_steps(fold);
    }
    bool ends() const { return std::ranges::any_of(sweep_.folds, in_steps); }
    /// Do its lanes share something of their block's first element?
    static bool shares(const Fold& fold) { return fold.mask < 0 && fold.monoid->of_block_words > 0; }
    bool shares() const {
        return std::ranges::any_of(sweep_.folds, [](const Fold& fold) { return shares(fold); });
    }
    /// The monoid of a fold's lanes.
    static std::string lane_monoid(const Fold& fold) { return spell_monoid(fold) + (shares(fold) ? "::OfBlock" : ""); }

    void clear() {
        line("    GRIDFOLD_FN static void clear([[maybe_unused]] Lanes& s) {{");
        for (std::size_t f = 0; f < sweep_.folds.size(); ++f) {
            const Fold& fold = sweep_.folds[f];
            line("        for (auto& state : s.s{}) state = {}::{}();", f, lane_monoid(fold),
                 in_steps(fold) ? "start" : "identity");
            if (shares(fold)) line("        s.origin{} = 0.0;", f);
        }
        line("    }}");
    }

    void share() {
        line("    GRIDFOLD_FN void share(Lanes& s, [[maybe_unused]] const Loads& l, [[maybe_unused]] i64 first) const "
             "{{");
        line("        [[maybe_unused]] constexpr int n = 0;");
        for (int v = sweep_.body; v < sweep_.epilogue; ++v) line("{}", definition(v, "        "));
        for (std::size_t f = 0; f < sweep_.folds.size(); ++f)
            if (const Fold& fold = sweep_.folds[f]; shares(fold))
                line("        s.origin{} = {}::origin(v{});", f, spell_monoid(fold), fold.value);
        line("    }}");
    }

    void end() {
        line("    GRIDFOLD_FN static void end(Lanes& s, i64 rows, int more, i64 first, i64 stride) {{");
        for (std::size_t f = 0; f < sweep_.folds.size(); ++f)
            if (const Fold& fold = sweep_.folds[f]; in_steps(fold)) {
                if (joins(fold)) {
                    line("        {}::end(s.s{}[0], rows + (more > 0), first, stride, width);", spell_monoid(fold), f);
                } else {
                    line("#pragma unroll");
                    line("        for (int n = 0; n < width; ++n)");
                    line("            {}::end(s.s{}[n], rows + (n < more), first + n, stride, 1);", spell_monoid(fold),
                         f);
                }
            }
        line("    }}");
    }

    void close() {
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

    void finish() {
        line("    GRIDFOLD_FN void finish([[maybe_unused]] const States<1>& s, u32 tag) const {{");
        for (int v = sweep_.epilogue; v < int(sweep_.code.size()); ++v) line("{}", definition(v, "        "));
        for (const Yield& y : sweep_.yields) {
            const DType type = plan_.scalars[std::size_t(y.scalar)].type;
            const std::string value = spell_narrowed(type, fmt::format("v{}", y.value));
            line("        yield<{}>(scalars + {}, host ? host + {} : nullptr, tag, {}, {});", spell_stored(type),
                 y.scalar, 3 * y.scalar, value, code(y.value).may_be_empty ? fmt::format("empty{}", y.value) : "false");
        }
        line("    }}");
    }

    /// Everything that is the same for all elements: computed by each thread once.
    void prologue() {
        line("    GRIDFOLD_FN void prologue() {{");
        line("        aligned = {};", loads_alignment());
        line("        stores_aligned = {};", stores_alignment());
        if (by_coordinates_)
            for (std::size_t d = 0; d < sweep_.dims.size(); ++d) line("        extents[{0}] = extent_{0};", d);
        // From the first scalar on that an earlier sweep yielded, all waits for it.
        int v = 0;
        for (; v < sweep_.body && code(v).opcode != Opcode::read; ++v) compute(v);
        line("    }}");
        line("    GRIDFOLD_FN void read_scalars() {{");
        for (; v < sweep_.body; ++v) compute(v);
        line("    }}\n");
    }

    /// A value of the prologue, as a member.
    void compute(int v) {
        if (code(v).may_be_empty) line("        empty{} = {};", v, emptiness(v));
        line("        v{} = {};", v, value(v));
    }

    /// Can all of these addresses be accessed by whole packs?
    std::string alignment(const std::vector<std::pair<std::string, DType>>& addresses) const {
        std::string all;
        for (const auto& [name, type] : addresses)
            all += fmt::format("{}u64({}) % Pack<{}, width>::bytes == 0", all.empty() ? "" : " && ", name,
                               spell_stored(type));
        return all.empty() ? "true" : all;
    }
    std::string loads_alignment() const {
        std::vector<std::pair<std::string, DType>> addresses;
        for (const int a : arrays_)
            if (flat(a)) addresses.emplace_back(pointer(a), array(a).type);
        return alignment(addresses);
    }
    std::string stores_alignment() const {
        std::vector<std::pair<std::string, DType>> addresses;
        for (const Store& s : sweep_.stores) addresses.emplace_back(out_pointer(s), array(s.array).type);
        return alignment(addresses);
    }

    void entry() {
        std::string parameters, values;
        for (std::size_t i = 0; i < members_.size(); ++i) {
            const Member& member = members_[i];
            parameters += fmt::format("{}{} {}", i ? ", " : "", member.type, member.name);
            values += problems_ == Problems::one ? member.name + ", "
                                                 : fmt::format("from_bytes<{}>(own[{}]), ", member.type, i + 1);
        }
        if (problems_ == Problems::many) parameters = "const u64* launches";
        // Without a number of blocks, ptxas spills registers for the sake of more.
        line("extern \"C\" __global__ void __launch_bounds__({}, {}) gridfold_sweep({}) {{", shape_.threads,
             shape_.resident, parameters);
        if (problems_ == Problems::many) {
            line("    wait_for_previous_kernel();");
            line("    const u64* const own = launches + u64(block_index()) * {};", members_.size() + 1);
            line("    Sweep kernel{{{}u32(own[0]), u32(own[0] >> 32)}};", values);
        } else {
            line("    Sweep kernel{{{}block_index(), grid_blocks()}};", values);
        }
        line("    sweep(kernel);");
        line("}}");
        line("\n}} // namespace GRIDFOLD_NAMESPACE");
    }

    struct Member {
        std::string type, name;
    };

    Problems problems_;
    Shape shape_;
    Kernel kernel_;
    std::vector<int> fold_words_;
    bool by_coordinates_ = false;
    std::vector<Member> members_;
};

} // namespace

Kernel emit_cuda(const Plan& plan, int sweep, Problems problems) { return Emitter(plan, sweep, problems).emit(); }

std::vector<std::string> compiler_options(bool fast_math) {
    // Lambdas of the device text carry no execution space of their own.
    std::vector<std::string> options{"--std=c++17", "--device-as-default-execution-space"};
    if (fast_math)
        options.emplace_back("--use_fast_math");
    else
        options.insert(options.end(), {"--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"});
    return options;
}

std::int64_t grid(const Kernel& kernel, std::int64_t elements) {
    // A sweep that only stores takes one slab a block: a grid-stride loop costs it 10 % (bench/NOTES.md).
    const std::int64_t blocks = kernel.words > 0 ? block_count(elements) : (elements + kernel.slab - 1) / kernel.slab;
    constexpr std::int64_t most = 0x7fffffff; // CUDA's; each block then takes more than one
    return std::clamp<std::int64_t>(blocks, 1, most);
}

std::string too_many_elements(const Kernel& kernel, std::int64_t elements) {
    const std::int64_t limit = std::int64_t{kernel.slab} << 31; // kernels count slabs in 32 bits
    if (elements < limit) return {};
    return fmt::format(
        "a sweep over {} elements: on cuda its domain has fewer than 2^{}; fold a part of it at a time, or "
        "run it on the cpu",
        elements, std::countr_zero(static_cast<std::uint64_t>(limit)));
}

std::size_t workspace_bytes(const Kernel& kernel) {
    constexpr std::size_t header = 16; // slots, as in device/grid.cuh
    const std::size_t of_block = kernel.words == 1 ? 1 : (std::size_t(kernel.words) + 1) / 2 * 2;
    return sizeof(std::uint64_t) * (header + of_block * std::size_t(max_blocks));
}

} // namespace gf::cuda
