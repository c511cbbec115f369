#include "cpu/tile_text.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <gridfold/core/error.hpp>

#include "cpu/index.hpp"
#include "cpu/ir.hpp"
#include "plan/format_id.hpp"

namespace gf::cpu {

namespace {

bool is_float(DType type) { return type == DType::f32 || type == DType::f64; }
bool is_signed(DType type) { return gf::kind_of(type) == gf::Kind::signed_integer; }

/// The folds that have a text.
enum class FoldKind : std::uint8_t { sum, product, squares, moments, min, max, count, any, all, none };

FoldKind fold_kind(const Fold& fold) {
    const MonoidOp* const monoid = fold.monoid;
    const bool is_ordered = is_float(fold.accumulator);
    if (monoid == reduce_op::sum.monoid && is_ordered) return FoldKind::sum;
    if (monoid == reduce_op::product.monoid && is_ordered) return FoldKind::product;
    if (monoid == reduce_op::sum_of_squares.monoid && is_ordered) return FoldKind::squares;
    if (monoid == reduce_op::variance.monoid && !fold.mask.valid()) return FoldKind::moments;
    if (monoid == reduce_op::count.monoid) return FoldKind::count;
    if (monoid == reduce_op::any.monoid) return FoldKind::any;
    if (monoid == reduce_op::all.monoid) return FoldKind::all;
    if (fold.element == DType::boolean) return FoldKind::none;
    if (monoid == reduce_op::min.monoid) return FoldKind::min;
    if (monoid == reduce_op::max.monoid) return FoldKind::max;
    return FoldKind::none;
}

constexpr bool is_ordered(FoldKind kind) { return kind <= FoldKind::moments; }

/// An accumulator of a fold in any order: `lanes` numbers of `type`, folded by an intrinsic or an instruction.
struct Accumulator {
    FoldId fold;
    std::string_view how, type;
    std::string identity; ///< a number
};

/// The plane of an ordered fold's lanes: a number of each lane's state.
struct Plane {
    FoldId fold;
    DType type;
    std::size_t offset; ///< bytes
    std::string identity;
};

class TileText {
public:
    TileText(const Plan& plan, const Sweep& sweep, InstructionSet set)
        : plan_(plan), sweep_(sweep), set_(set), width_(lanes_of_tree(set)),
          body_(values_where(sweep, is_per_element)) {
        for (const FoldId f : sweep_.folds.ids()) describe(f);
        for (const ValueId v : body_)
            if (code(v).opcode == Opcode::load) find_array(code(v).array);
        for (const Store& store : sweep_.stores)
            if (stores_elements(store)) find_array(store.array);
    }

    std::string write() {
        write_entry();
        const int lanes = lanes_at_once();
        write_loop(lanes, width_);
        if (lanes > width_) write_loop(width_, width_);
        reduce();
        write_loop(1, 1);
        reduce();
        write_trees();
        ir_.text += "  ret void\n}\n";
        std::string text = fmt::format("define void @{}(ptr %where, ptr %values, ptr %states, i64 %first, i64 %n, "
                                       "i64 %rows, i64 %part) #0 {{\nentry:\n",
                                       tile_function);
        text += ir_.text;
        for (const std::string& declaration : ir_.declarations) text += declaration;
        text += attributes();
        return text;
    }

private:
    const Instruction& code(ValueId v) const { return sweep_.code[v]; }
    const Fold& fold(FoldId f) const { return sweep_.folds[f]; }
    static std::string_view element(DType type) { return Ir::type_of(type); }

    std::string_view attributes() const {
        switch (set_) {
        case InstructionSet::avx512:
            return "attributes #0 = { nounwind "
                   "\"target-features\"=\"+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx2,+fma,+f16c\" "
                   "\"prefer-vector-width\"=\"512\" }\n";
        case InstructionSet::avx2: return "attributes #0 = { nounwind \"target-features\"=\"+avx2,+fma,+f16c\" }\n";
        case InstructionSet::baseline: break;
        }
        return "attributes #0 = { nounwind }\n";
    }

    void describe(FoldId f) {
        const Fold& of = fold(f);
        const auto plane = [&](DType type, std::size_t offset, const char* identity) {
            planes_.push_back({f, type, offset, identity});
        };
        const auto accumulator = [&](std::string_view how, std::string_view type, std::string identity) {
            accumulators_.push_back({f, how, type, std::move(identity)});
        };
        const FoldKind kind = fold_kind(of);
        switch (kind) {
        case FoldKind::sum:
        case FoldKind::squares: return plane(of.accumulator, 0, "-0.0");
        case FoldKind::product: return plane(of.accumulator, 0, "1.0");
        case FoldKind::moments:
            plane(DType::f64, 0, "0.0");
            return plane(DType::f64, sizeof(double) * lane_count, "0.0");
        case FoldKind::count: return accumulator("add", "i32", "0");
        case FoldKind::any: return accumulator("or", "i32", "0");
        case FoldKind::all: return accumulator("and", "i32", "1");
        case FoldKind::min:
        case FoldKind::max: break;
        case FoldKind::none: return;
        }
        if (!is_float(of.element)) {
            const std::string_view how = kind == FoldKind::min ? (is_signed(of.element) ? "smin" : "umin")
                                                               : (is_signed(of.element) ? "smax" : "umax");
            return accumulator(how, element(of.element), identity_of(how, size_of(of.element)));
        }
        // By their bits, as Extreme of host_kernels/any_order.hpp: both extremes of an operand share them.
        for (const FoldId before : sweep_.folds.ids())
            if (before < f && is_extreme(before) && fold(before).value == of.value && fold(before).mask == of.mask)
                return;
        const std::string_view type = of.element == DType::f64 ? "i64" : "i32";
        for (const std::string_view how : {"smax", "umax", "umin"})
            accumulator(how, type, identity_of(how, size_of(of.element)));
    }
    bool is_extreme(FoldId f) const {
        return fold_kind(fold(f)) == FoldKind::min || fold_kind(fold(f)) == FoldKind::max;
    }
    /// Of unsigned numbers as signed ones, which the IR does not tell apart.
    static std::string identity_of(std::string_view how, std::size_t bytes) {
        const auto low = std::int64_t(-1) << (8 * bytes - 1);
        if (how == "smax") return fmt::format("{}", low);
        if (how == "smin") return fmt::format("{}", ~low);
        return how == "umin" ? "-1" : "0";
    }

    /// The vectors of a loop are so long that its states fill the registers, or four of them.
    int lanes_at_once() const {
        const int registers = set_ == InstructionSet::avx512 ? 28 : 13, register_bytes = width_ * 4;
        for (const int vectors : {4, 2}) {
            int used = static_cast<int>(accumulators_.size());
            for (const Plane& plane : planes_)
                used += vectors * width_ * static_cast<int>(size_of(plane.type)) / register_bytes;
            if (used <= registers) return vectors * width_;
        }
        return width_;
    }

    bool stores_elements(const Store& store) const { return !is_per_result(sweep_, code(store.value)); }
    void find_array(ArrayId array) {
        if (std::ranges::find(arrays_, array) == arrays_.end()) arrays_.push_back(array);
    }
    int array_place(ArrayId array) const { return sweep_.code.next().number() + array.number(); }

    template <class... Of> void line(fmt::format_string<Of...> text, Of&&... of) {
        ir_.text += "  ";
        fmt::format_to(std::back_inserter(ir_.text), text, std::forward<Of>(of)...);
        ir_.text += '\n';
    }

    // Before the loops ------------------------------------------------------------------------------------------------

    void write_entry() {
        line("%starts = icmp ne i64 %part, {}", static_cast<int>(PartOfBlock::later));
        line("%is.whole = icmp eq i64 %part, {}", static_cast<int>(PartOfBlock::whole));
        for (const ArrayId a : arrays_) {
            line("%where{} = getelementptr i8, ptr %where, i64 {}", a, sizeof(Where) * at(array_place(a)));
            line("%array{0} = load ptr, ptr %where{0}", a);
            line("%where{0}.step = getelementptr i8, ptr %where{0}, i64 {1}", a, offsetof(Where, row_bytes));
            line("%step{0} = load i64, ptr %where{0}.step", a);
        }
        for (const ValueId v : values_where(sweep_, is_once_before)) {
            const DType type = code(v).type;
            line("%value{} = getelementptr i64, ptr %values, i64 {}", v, v);
            line("%scalar{}.raw = load {}, ptr %value{}", v, Ir::memory_type_of(type), v);
            if (type == DType::boolean)
                line("%scalar{0} = icmp ne i8 %scalar{0}.raw, 0", v);
            else
                line("%scalar{0} = bitcast {1} %scalar{0}.raw to {1}", v, element(type));
        }
        for (const FoldId f : sweep_.folds.ids()) {
            line("%state{}.at = getelementptr ptr, ptr %states, i64 {}", f, f);
            line("%state{0} = load ptr, ptr %state{0}.at", f);
        }
        for (std::size_t p = 0; p < planes_.size(); ++p)
            line("%plane{0} = getelementptr i8, ptr %state{1}, i64 {2}", p, planes_[p].fold, planes_[p].offset);
        line("%one.row = icmp eq i64 %rows, 1");
        for (const FoldId f : sweep_.folds.ids())
            if (fold_kind(fold(f)) == FoldKind::moments)
                line("%origin{0}.at = getelementptr i8, ptr %state{0}, i64 {1}", f, 2 * sizeof(double) * lane_count);
        if (has_moments()) write_origins();
        for (const FoldId f : sweep_.folds.ids())
            if (fold_kind(fold(f)) == FoldKind::moments) line("%origin{0} = load double, ptr %origin{0}.at", f);
    }
    bool has_moments() const {
        return std::ranges::any_of(sweep_.folds, [](const Fold& f) { return fold_kind(f) == FoldKind::moments; });
    }

    /// Stores the origins of a block that starts: of its first element.
    void write_origins() {
        line("%is.first = icmp eq i64 %first, 0");
        line("%sets.origin = and i1 %is.first, %starts");
        line("br i1 %sets.origin, label %origins, label %origins.done");
        ir_.text += "origins:\n";
        begin_lanes(1);
        for (const ArrayId a : arrays_) address_[a] = fmt::format("%array{}", a);
        write_values();
        for (const FoldId f : sweep_.folds.ids()) {
            if (fold_kind(fold(f)) != FoldKind::moments) continue;
            const std::string x = ir_.convert(fold(f).element, DType::f64, value(fold(f).value));
            const std::string size = ir_.call("fabs", "double", {x});
            const std::string fits =
                ir_.put("fcmp olt <1 x double> {}, {}", size, ir_.splat("double", "0x7E70000000000000"));
            const std::string origin =
                ir_.put("select <1 x i1> {}, <1 x double> {}, <1 x double> zeroinitializer", fits, x);
            line("store <1 x double> {}, ptr %origin{}.at, align 8", origin, f);
        }
        line("br label %origins.done");
        ir_.text += "origins.done:\n";
    }

    // A loop over lanes, and in it one over rows ----------------------------------------------------------------------

    /// Begins text with vectors of so many lanes: repeats the scalars.
    void begin_lanes(int lanes) {
        ir_.lanes = lanes;
        value_.assign(sweep_.code.size(), {});
        address_.assign(plan_.arrays.size(), {});
        for (const ValueId v : values_where(sweep_, is_once_before))
            value_[v] = ir_.splat(element(code(v).type), fmt::format("%scalar{}", v));
    }

    void write_loop(int lanes, int accumulator_lanes) {
        const std::string tag = fmt::format(".{}", lanes);
        begin_lanes(lanes);
        origin_.assign(sweep_.folds.size(), {});
        for (const FoldId f : sweep_.folds.ids())
            if (fold_kind(fold(f)) == FoldKind::moments) origin_[f] = ir_.splat("double", fmt::format("%origin{}", f));
        std::vector<std::string> starts;
        for (const Plane& plane : planes_) starts.push_back(ir_.splat(element(plane.type), plane.identity));
        const bool continues = accumulated_lanes_ == accumulator_lanes;
        ir_.lanes = accumulator_lanes;
        std::vector<std::string> before;
        for (std::size_t a = 0; a < accumulators_.size(); ++a)
            before.push_back(continues ? accumulated_[a] : ir_.splat(accumulators_[a].type, accumulators_[a].identity));
        ir_.lanes = lanes;
        line("br label %enter{}", tag);
        ir_.text += fmt::format("enter{}:\n", tag);
        line("br label %lanes{}", tag);

        ir_.text += fmt::format("lanes{}:\n", tag);
        const auto phi = [&](const std::string& name, const std::string& type, const std::string& first,
                             const std::string& next) {
            line("{1} = phi {2} [ {3}, %enter{0} ], [ {4}, %rows{0}.end ]", tag, name, type, first, next);
        };
        phi(fmt::format("%i{}", tag), "i64", from_, fmt::format("%i{}.next", tag));
        for (std::size_t a = 0; a < accumulators_.size(); ++a)
            phi(fmt::format("%a{}{}", a, tag), vector(accumulator_lanes, accumulators_[a].type), before[a],
                fmt::format("%a{}{}.next.end", a, tag));
        line("%i{0}.next = add i64 %i{0}, {1}", tag, lanes);
        line("%fits{0} = icmp sle i64 %i{0}.next, %n", tag);
        line("br i1 %fits{0}, label %rows{0}.begin, label %lanes{0}.end", tag);

        ir_.text += fmt::format("rows{}.begin:\n", tag);
        line("%lane{0} = add i64 %first, %i{0}", tag);
        for (std::size_t p = 0; p < planes_.size(); ++p)
            line("%plane{1}{0} = getelementptr {2}, ptr %plane{1}, i64 %lane{0}", tag, p, element(planes_[p].type));
        for (const ArrayId a : arrays_)
            line("%p{1}{0}.begin = getelementptr {2}, ptr %array{1}, i64 %i{0}", tag, a,
                 Ir::memory_type_of(plan_.arrays[a].type));
        line("br i1 %starts, label %first{0}, label %later{0}", tag);

        // The first row of a block folds into the identity, which leaves no instruction.
        ir_.text += fmt::format("first{}:\n", tag);
        states_ = starts;
        for (const ArrayId a : arrays_) address_[a] = fmt::format("%p{}{}.begin", a, tag);
        begin_row(fmt::format("%a{{}}{}", tag));
        write_row(fmt::format("{}.first", tag), accumulator_lanes);
        line("br i1 %one.row, label %rows{0}.end, label %rows{0}", tag);

        ir_.text += fmt::format("later{}:\n", tag);
        for (std::size_t p = 0; p < planes_.size(); ++p)
            line("%s{1}{0}.stored = load {2}, ptr %plane{1}{0}, align {3}", tag, p, ir_.vector(planes_[p].type),
                 size_of(planes_[p].type));
        line("br label %rows{}", tag);

        ir_.text += fmt::format("rows{}:\n", tag);
        line("%r{0} = phi i64 [ 1, %first{0} ], [ 0, %later{0} ], [ %r{0}.next, %rows{0} ]", tag);
        for (const ArrayId a : arrays_) {
            line("%p{1}{0} = phi ptr [ %p{1}{0}.first.next, %first{0} ], [ %p{1}{0}.begin, %later{0} ], [ "
                 "%p{1}{0}.next, %rows{0} ]",
                 tag, a);
            address_[a] = fmt::format("%p{}{}", a, tag);
        }
        for (std::size_t p = 0; p < planes_.size(); ++p) {
            line("%s{1}{0} = phi {2} [ %s{1}{0}.first.next, %first{0} ], [ %s{1}{0}.stored, %later{0} ], [ "
                 "%s{1}{0}.next, %rows{0} ]",
                 tag, p, ir_.vector(planes_[p].type));
            states_[p] = fmt::format("%s{}{}", p, tag);
        }
        for (std::size_t a = 0; a < accumulators_.size(); ++a)
            line("%b{1}{0} = phi {2} [ %a{1}{0}.first.next, %first{0} ], [ %a{1}{0}, %later{0} ], [ %a{1}{0}.next, "
                 "%rows{0} ]",
                 tag, a, vector(accumulator_lanes, accumulators_[a].type));
        begin_row(fmt::format("%b{{}}{}", tag));
        write_row(tag, accumulator_lanes);
        line("%r{0}.next = add i64 %r{0}, 1", tag);
        line("%more{0} = icmp slt i64 %r{0}.next, %rows", tag);
        line("br i1 %more{0}, label %rows{0}, label %rows{0}.end", tag);

        ir_.text += fmt::format("rows{}.end:\n", tag);
        for (std::size_t p = 0; p < planes_.size(); ++p) {
            line("%s{1}{0}.end = phi {2} [ %s{1}{0}.first.next, %first{0} ], [ %s{1}{0}.next, %rows{0} ]", tag, p,
                 ir_.vector(planes_[p].type));
        }
        for (std::size_t a = 0; a < accumulators_.size(); ++a)
            line("%a{1}{0}.next.end = phi {2} [ %a{1}{0}.first.next, %first{0} ], [ %a{1}{0}.next, %rows{0} ]", tag, a,
                 vector(accumulator_lanes, accumulators_[a].type));
        for (std::size_t p = 0; p < planes_.size(); ++p)
            line("store {2} %s{1}{0}.end, ptr %plane{1}{0}, align {3}", tag, p, ir_.vector(planes_[p].type),
                 size_of(planes_[p].type));
        line("br label %lanes{}", tag);

        ir_.text += fmt::format("lanes{}.end:\n", tag);
        from_ = fmt::format("%i{}", tag);
        accumulated_lanes_ = accumulator_lanes;
        accumulated_.clear();
        for (std::size_t a = 0; a < accumulators_.size(); ++a) accumulated_.push_back(fmt::format("%a{}{}", a, tag));
    }
    /// The accumulators before a row; `pattern`: their names.
    void begin_row(const std::string& pattern) {
        folded_.clear();
        for (std::size_t a = 0; a < accumulators_.size(); ++a) folded_.push_back(fmt::format(fmt::runtime(pattern), a));
    }
    /// Computes, stores and folds a row. Names of what comes after it: "%s{}", "%a{}", "%p{}" with tag and ".next".
    void write_row(const std::string& tag, int accumulator_lanes) {
        write_values();
        write_stores();
        write_folds(tag, accumulator_lanes);
        for (const ArrayId a : arrays_)
            line("%p{1}{0}.next = getelementptr i8, ptr {2}, i64 %step{1}", tag, a, address_[a]);
    }

    /// Combines runs of `run` lanes with the runs behind them. What is left of two registers fills one, segment by
    /// segment, so that shuffles inside of a segment stay there.
    std::string combine(const Plane& plane, const std::string& states, int of_register, int of_segment, int run) {
        std::string first, second;
        const auto take = [&](int begin) {
            for (int i = begin; i < begin + run; ++i) {
                fmt::format_to(std::back_inserter(first), "{}i32 {}", first.empty() ? "" : ", ", i);
                fmt::format_to(std::back_inserter(second), "{}i32 {}", second.empty() ? "" : ", ",
                               i + run); // defect: run behind
            }
        };
        const int together = std::min(2 * of_register, ir_.lanes), span = run == 1 ? of_segment : of_register;
        for (int two = 0; two < ir_.lanes; two += together)
            for (int segment = 0; segment < of_register; segment += span)
                for (int one = two; one < two + together; one += of_register)
                    for (int i = 0; i < span; i += 2 * run) take(one + segment + i);
        const std::string of = ir_.vector(plane.type);
        const auto half = [&](const std::string& numbers) {
            return ir_.put("shufflevector {0} {1}, {0} poison, <{2} x i32> <{3}>", of, states, ir_.lanes / 2, numbers);
        };
        const std::string a = half(first), b = half(second);
        ir_.lanes /= 2;
        return ir_.put("{} {} {}, {}", fold_kind(fold(plane.fold)) == FoldKind::product ? "fmul" : "fadd",
                       ir_.vector(plane.type), a, b);
    }

    /// Combines the lanes of a whole block: as many neighbours as a register has words of 4 bytes leave one. Registers
    /// are combined two by two, the neighbours inside of 16 bytes first, whose shuffles are the cheapest.
    void write_trees() {
        if (planes_.empty()) return;
        line("br i1 %is.whole, label %trees, label %end");
        ir_.text += "trees:\n";
        std::string before = "%trees";
        for (std::size_t p = 0; p < planes_.size(); ++p) {
            const Plane& plane = planes_[p];
            const int of_register = width_ * 4 / static_cast<int>(size_of(plane.type)), lanes = width_ * of_register;
            line("br label %tree{}", p);
            ir_.text += fmt::format("tree{}:\n", p);
            line("%t{0}.i = phi i64 [ 0, {1} ], [ %t{0}.i.next, %tree{0} ]", p, before);
            line("%t{0}.from = getelementptr {1}, ptr %plane{0}, i64 %t{0}.i", p, element(plane.type));
            ir_.lanes = lanes;
            std::string states =
                ir_.put("load {}, ptr %t{}.from, align {}", ir_.vector(plane.type), p, size_of(plane.type));
            const int of_segment = 16 / static_cast<int>(size_of(plane.type));
            for (int n = 1; n < of_segment; n *= 2) states = combine(plane, states, of_register, of_segment, 1);
            for (int n = of_segment; n < of_register; n *= 2)
                states = combine(plane, states, of_register, of_segment, of_segment);
            while (ir_.lanes > of_register) states = combine(plane, states, ir_.lanes, ir_.lanes, 1);
            line("%t{0}.lane = udiv i64 %t{0}.i, {1}", p, width_);
            line("%t{0}.to = getelementptr {1}, ptr %plane{0}, i64 %t{0}.lane", p, element(plane.type));
            line("store {1} {2}, ptr %t{0}.to, align {3}", p, ir_.vector(plane.type), states, size_of(plane.type));
            line("%t{0}.i.next = add i64 %t{0}.i, {1}", p, lanes);
            line("%t{0}.more = icmp slt i64 %t{0}.i.next, %n", p);
            ir_.text += fmt::format("  br i1 %t{0}.more, label %tree{0}, label %tree{0}.end\ntree{0}.end:\n", p);
            before = fmt::format("%tree{}.end", p);
        }
        line("br label %end");
        ir_.text += "end:\n";
    }
    static std::string vector(int lanes, std::string_view type) { return fmt::format("<{} x {}>", lanes, type); }

    // One row's elements ----------------------------------------------------------------------------------------------

    const std::string& value(ValueId v) const { return value_[v]; }

    void write_values() {
        for (const ValueId v : body_) {
            const Instruction& i = code(v);
            switch (i.opcode) {
            case Opcode::load: {
                const DType type = plan_.arrays[i.array].type;
                value_[v] = ir_.convert(
                    is_half(type) ? DType::f32 : type, i.type,
                    ir_.from_memory(type, ir_.put("load {}, ptr {}, align {}", ir_.vector(Ir::memory_type_of(type)),
                                                  address_[i.array], size_of(type))));
                break;
            }
            case Opcode::map: {
                std::array<std::string, max_arity> operands;
                for (std::size_t n = 0; n < operands.size(); ++n)
                    if (i.operands[n].valid()) operands[n] = value(i.operands[n]);
                value_[v] = map_text(ir_, *i.map, i.compute, operands);
                break;
            }
            case Opcode::cast: value_[v] = ir_.convert(code(i.operands[0]).type, i.type, value(i.operands[0])); break;
            case Opcode::round:
                value_[v] = ir_.from_memory(i.round_to, ir_.to_memory(i.round_to, value(i.operands[0])));
                break;
            default: throw InternalError(fmt::format("the tile of instruction %{} has no text", v));
            }
        }
    }

    void write_stores() {
        for (const Store& store : sweep_.stores) {
            if (!stores_elements(store)) continue;
            const DType from = code(store.value).type, to = plan_.arrays[store.array].type;
            const std::string x =
                ir_.to_memory(to, ir_.convert(from, is_half(to) ? DType::f32 : to, value(store.value)));
            line("store {} {}, ptr {}, align {}", ir_.vector(Ir::memory_type_of(to)), x, address_[store.array],
                 size_of(to));
        }
    }

    void write_folds(const std::string& tag, int accumulator_lanes) {
        for (const FoldId f : sweep_.folds.ids()) {
            const Fold& of = fold(f);
            const FoldKind kind = fold_kind(of);
            if (is_ordered(kind)) {
                fold_in_order(f, kind, tag);
                continue;
            }
            std::string x = value(of.value);
            if (is_extreme(f) && is_float(of.element))
                x = ir_.put("bitcast {} {} to {}", ir_.vector(of.element), x,
                            ir_.vector(of.element == DType::f64 ? "i64" : "i32"));
            if (!is_extreme(f))
                x = ir_.put("zext {} {} to {}", ir_.vector("i1"), ir_.is_true(of.element, x), ir_.vector("i32"));
            for (std::size_t a = 0; a < accumulators_.size(); ++a)
                if (accumulators_[a].fold == f) accumulate(a, masked(of, accumulators_[a], x), tag, accumulator_lanes);
        }
    }
    /// x, or the identity where it is masked out.
    std::string masked(const Fold& of, const Accumulator& accumulator, const std::string& x) {
        if (!of.mask.valid()) return x;
        const std::string type = ir_.vector(accumulator.type);
        return ir_.put("select {} {}, {} {}, {} {}", ir_.vector("i1"), value(of.mask), type, x, type,
                       ir_.splat(accumulator.type, accumulator.identity));
    }
    /// Folds x into accumulator number a, some lanes at a time.
    void accumulate(std::size_t a, const std::string& x, const std::string& tag, int accumulator_lanes) {
        const Accumulator& accumulator = accumulators_[a];
        const int lanes = ir_.lanes;
        const std::string whole = ir_.vector(accumulator.type);
        std::string folded = folded_[a];
        for (int begin = 0; begin < lanes; begin += accumulator_lanes) {
            std::string part = x;
            if (lanes > accumulator_lanes) {
                std::string numbers;
                for (int i = 0; i < accumulator_lanes; ++i)
                    numbers += fmt::format("{}i32 {}", i == 0 ? "" : ", ", begin + i);
                part = ir_.put("shufflevector {} {}, {} poison, <{} x i32> <{}>", whole, x, whole, accumulator_lanes,
                               numbers);
            }
            ir_.lanes = accumulator_lanes;
            folded = folded_by(accumulator.how, accumulator.type, folded, part);
            ir_.lanes = lanes;
        }
        line("%a{0}{1}.next = bitcast {2} {3} to {2}", a, tag, vector(accumulator_lanes, accumulator.type), folded);
    }
    std::string folded_by(std::string_view how, std::string_view type, const std::string& a, const std::string& b) {
        if (how == "add" || how == "or" || how == "and") return ir_.put("{} {} {}, {}", how, ir_.vector(type), a, b);
        return ir_.call(how, type, {a, b});
    }

    void fold_in_order(FoldId f, FoldKind kind, const std::string& tag) {
        const Fold& of = fold(f);
        const DType type = of.accumulator;
        const std::string vector = ir_.vector(type);
        std::size_t p = 0;
        while (planes_[p].fold != f) ++p;
        const auto next = [&](std::string result) {
            const std::string &before = states_[p], of_plane = ir_.vector(planes_[p].type);
            if (of.mask.valid())
                result = ir_.put("select {} {}, {} {}, {} {}", ir_.vector("i1"), value(of.mask), of_plane, result,
                                 of_plane, before);
            line("%s{0}{1}.next = bitcast {2} {3} to {2}", p, tag, of_plane, result);
            ++p;
        };
        const auto state = [&] { return states_[p]; };
        if (kind == FoldKind::moments) {
            const std::string x = ir_.convert(of.element, DType::f64, value(of.value)), doubles = ir_.vector("double");
            const std::string d = ir_.put("fsub {} {}, {}", doubles, x, origin_[f]);
            next(ir_.put("fadd {} {}, {}", doubles, state(), d));
            return next(ir_.put("fadd {} {}, {}", doubles, state(), ir_.put("fmul {} {}, {}", doubles, d, d)));
        }
        std::string x = ir_.convert(of.element, type, value(of.value));
        if (kind == FoldKind::squares) x = ir_.put("fmul {} {}, {}", vector, x, x);
        next(ir_.put("{} {} {}, {}", kind == FoldKind::product ? "fmul" : "fadd", vector, state(), x));
    }

    // After the loops -------------------------------------------------------------------------------------------------

    /// Folds the accumulators into the States in memory.
    void reduce() {
        const int lanes = accumulated_lanes_;
        std::vector<std::string> numbers;
        ir_.lanes = lanes;
        for (std::size_t a = 0; a < accumulators_.size(); ++a)
            numbers.push_back(ir_.reduce(accumulators_[a].how, accumulators_[a].type, accumulated_[a]));
        ir_.lanes = 1;
        for (const FoldId f : sweep_.folds.ids()) {
            if (is_ordered(fold_kind(fold(f)))) continue;
            std::size_t a = 0; // the first accumulator of this fold, or of the extreme that it shares them with
            while (!(accumulators_[a].fold == f ||
                     (is_extreme(f) && is_float(fold(f).element) && is_extreme(accumulators_[a].fold) &&
                      fold(accumulators_[a].fold).value == fold(f).value &&
                      fold(accumulators_[a].fold).mask == fold(f).mask)))
                ++a;
            if (is_extreme(f))
                is_float(fold(f).element) ? reduce_floats(f, numbers[a], numbers[a + 1], numbers[a + 2])
                                          : reduce_integers(f, accumulators_[a].how, numbers[a]);
            else
                reduce_counts(f, numbers[a]);
        }
        accumulated_lanes_ = 0;
    }
    void reduce_counts(FoldId f, const std::string& number) {
        const bool counts = fold_kind(fold(f)) == FoldKind::count;
        const std::string_view type = counts ? "i64" : "i32";
        const std::string wide = counts ? ir_.put("zext i32 {} to i64", number) : number;
        const std::string state = ir_.put("load {}, ptr %state{}", type, f);
        const std::string_view how = counts ? "add" : fold_kind(fold(f)) == FoldKind::any ? "or" : "and";
        line("store {} {}, ptr %state{}", type, ir_.put("{} {} {}, {}", how, type, state, wide), f);
    }
    /// A State is at least a word.
    void reduce_integers(FoldId f, std::string_view how, const std::string& number) {
        const std::string_view type = element(fold(f).element);
        const std::string_view word = size_of(fold(f).element) == 8 ? "i64" : "i32";
        const std::string wide =
            type == word ? number
                         : ir_.put("{} {} {} to {}", is_signed(fold(f).element) ? "sext" : "zext", type, number, word);
        const std::string state = ir_.put("load {}, ptr %state{}", word, f);
        const std::string wins = ir_.put("icmp {} {} {}, {}",
                                         how == "smin"   ? "slt"
                                         : how == "smax" ? "sgt"
                                         : how == "umin" ? "ult"
                                                         : "ugt",
                                         word, wide, state);
        line("store {0} {1}, ptr %state{2}", word, ir_.put("select i1 {}, {} {}, {} {}", wins, word, wide, word, state),
             f);
    }
    /// Floats of one sign sort like their bits, or in reverse; NaN is beyond infinity on either side.
    void reduce_floats(FoldId f, const std::string& most_signed, const std::string& most, const std::string& least) {
        const bool wide = fold(f).element == DType::f64;
        const std::string_view type = wide ? "i64" : "i32";
        const std::string state = ir_.put("load {}, ptr %state{}", type, f);
        const auto extreme = [&](const char* wins, const std::string& x) {
            return ir_.put("select i1 {}, {} {}, {} {}", ir_.put("icmp {} {} {}, {}", wins, type, x, state), type, x,
                           type, state);
        };
        const std::string high = extreme("sgt", most_signed), far = extreme("ugt", most), near = extreme("ult", least);
        const char* const infinity = wide ? "9218868437227405312" : "2139095040";
        const char* const negative_infinity = wide ? "-4503599627370496" : "-8388608";
        const std::string nan = ir_.put("or i1 {}, {}", ir_.put("icmp sgt {} {}, {}", type, high, infinity),
                                        ir_.put("icmp ugt {} {}, {}", type, far, negative_infinity));
        const bool smallest = fold_kind(fold(f)) == FoldKind::min;
        const std::string is_near = ir_.put("icmp {} {} {}, 0", smallest ? "sge" : "slt", type, smallest ? far : high);
        const std::string number =
            ir_.put("select i1 {}, {} {}, {} {}", is_near, type, near, type, smallest ? far : high);
        line("store {0} {1}, ptr %state{2}", type, ir_.put("select i1 {0}, {1} -1, {1} {2}", nan, type, number), f);
    }

    const Plan& plan_;
    const Sweep& sweep_;
    const InstructionSet set_;
    const int width_; ///< of a register, in elements of 4 bytes
    const std::vector<ValueId> body_;
    std::vector<ArrayId> arrays_; ///< that are read or written
    std::vector<Plane> planes_;
    std::vector<Accumulator> accumulators_;
    Ir ir_;
    // Of the loop that is written.
    Table<ValueId, std::string> value_;
    Table<ArrayId, std::string> address_;
    Table<FoldId, std::string> origin_;
    std::vector<std::string> states_, folded_; ///< by plane, by accumulator: before the row
    // Of the one before.
    std::string from_ = "0"; ///< the number of the first element that it has left
    int accumulated_lanes_ = 0;
    std::vector<std::string> accumulated_;
};

bool instruction_has_text(const Plan& plan, const Sweep& sweep, const Instruction& i) {
    switch (i.opcode) {
    case Opcode::load: return is_in_order(i, plan, sweep);
    case Opcode::map: return has_text(*i.map, i.compute);
    case Opcode::cast: return true;
    case Opcode::round: return sweep.code[i.operands[0]].type == DType::f32;
    default: return false;
    }
}

} // namespace

bool has_tile_text(const Plan& plan, const Sweep& sweep) {
    return std::ranges::all_of(values_where(sweep, is_per_element),
                               [&](ValueId v) { return instruction_has_text(plan, sweep, sweep.code[v]); }) &&
           std::ranges::all_of(sweep.folds, [](const Fold& f) { return fold_kind(f) != FoldKind::none; }) &&
           std::ranges::all_of(sweep.stores, [&](const Store& s) {
               return is_per_result(sweep, sweep.code[s.value]) || is_flat(s, plan, sweep);
           });
}

std::string tile_text(const Plan& plan, const Sweep& sweep, InstructionSet set) {
    return TileText(plan, sweep, set).write();
}

} // namespace gf::cpu
