#include "cpu/fold_text.hpp"

#include <algorithm>

#include "cpu/tile_text.hpp"
#include "plan/format_id.hpp"

namespace gf::cpu {

namespace {

enum class FoldKind : std::uint8_t { sum, product, squares, moments, min, max, count, any, all, none };

FoldKind kind(const Fold& fold) {
    const MonoidOp* const monoid = fold.monoid;
    if (is_float(fold.accumulator)) {
        if (monoid == reduce_op::sum.monoid) return FoldKind::sum;
        if (monoid == reduce_op::product.monoid) return FoldKind::product;
        if (monoid == reduce_op::sum_of_squares.monoid) return FoldKind::squares;
    }
    if (monoid == reduce_op::variance.monoid && !fold.mask.valid()) return FoldKind::moments;
    if (monoid == reduce_op::count.monoid) return FoldKind::count;
    if (monoid == reduce_op::any.monoid) return FoldKind::any;
    if (monoid == reduce_op::all.monoid) return FoldKind::all;
    if (fold.element == DType::boolean) return FoldKind::none;
    if (monoid == reduce_op::min.monoid) return FoldKind::min;
    if (monoid == reduce_op::max.monoid) return FoldKind::max;
    return FoldKind::none;
}

bool is_extreme(const Fold& fold) { return kind(fold) == FoldKind::min || kind(fold) == FoldKind::max; }

/// What no number of `bytes` bytes is beyond; as a signed number, since the IR does not tell them apart.
std::string identity_of(std::string_view how, std::size_t bytes) {
    const std::int64_t least = -(std::int64_t{1} << (8 * bytes - 2)) * 2;
    if (how == "smax") return fmt::format("{}", least);
    if (how == "smin") return fmt::format("{}", -(least + 1));
    return how == "umin" ? "-1" : "0";
}

/// The comparison that a number must win over another to take its place.
std::string_view comparison(std::string_view how) {
    if (how == "smin") return "slt";
    if (how == "smax") return "sgt";
    return how == "umin" ? "ult" : "ugt";
}

} // namespace

bool FoldText::has_text(const Fold& fold) { return kind(fold) != FoldKind::none; }

bool FoldText::compares_or_converts(const Fold& fold) {
    return is_extreme(fold) || kind(fold) == FoldKind::moments || is_float(fold.accumulator) != is_float(fold.element);
}

FoldText::FoldText(Ir& ir, const Sweep& sweep, InstructionSet set)
    : ir_(ir), sweep_(sweep), width_(words_of_register(set)) {
    for (const FoldId f : sweep.folds.ids()) describe(f);
}

void FoldText::describe(FoldId f) {
    const Fold& fold = fold_of(f);
    const auto plane = [&](DType type, std::string_view how, const char* identity, std::size_t offset = 0) {
        carried_.push_back({f, true, type, how, identity, offset});
    };
    const auto accumulator = [&](DType type, std::string_view how, std::string identity) {
        carried_.push_back({f, false, type, how, std::move(identity)});
    };
    const bool smallest = kind(fold) == FoldKind::min;
    switch (kind(fold)) {
    case FoldKind::sum:
    case FoldKind::squares: return plane(fold.accumulator, "fadd", "-0.0");
    case FoldKind::product: return plane(fold.accumulator, "fmul", "1.0");
    case FoldKind::moments:
        plane(DType::f64, "fadd", "0.0");
        return plane(DType::f64, "fadd", "0.0", sizeof(double) * lane_count);
    // A call counts fewer than 2^32 elements.
    case FoldKind::count: return accumulator(DType::u32, "add", "0");
    case FoldKind::any: return accumulator(DType::u32, "or", "0");
    case FoldKind::all: return accumulator(DType::u32, "and", "1");
    case FoldKind::min:
    case FoldKind::max: break;
    case FoldKind::none: return;
    }
    if (!is_float(fold.element)) {
        const std::string_view how =
            smallest ? (is_signed(fold.element) ? "smin" : "umin") : (is_signed(fold.element) ? "smax" : "umax");
        return accumulator(fold.element, how, identity_of(how, size_of(fold.element)));
    }
    // By their bits, as Extreme of host_kernels/any_order.hpp.
    for (const FoldId before : sweep_.folds.ids())
        if (before < f && shares_accumulators(f, before)) return;
    for (const std::string_view how : {"smax", "umax", "umin"})
        accumulator(fold.element == DType::f64 ? DType::u64 : DType::u32, how, identity_of(how, size_of(fold.element)));
}

/// True of one fold, and of extremes of the same floats.
bool FoldText::shares_accumulators(FoldId f, FoldId with) const {
    const Fold &a = fold_of(f), &b = fold_of(with);
    return f == with ||
           (is_extreme(a) && is_extreme(b) && is_float(a.element) && a.value == b.value && a.mask == b.mask);
}

bool FoldText::has_origins() const {
    return std::ranges::any_of(sweep_.folds, [](const Fold& f) { return kind(f) == FoldKind::moments; });
}

int FoldText::registers(int lanes) const {
    int count = 0;
    for (const Carried& carried : carried_)
        count += carried.in_order ? lanes * static_cast<int>(size_of(carried.type)) / (4 * width_) : 1;
    return count;
}

void FoldText::write_entry() {
    for (const FoldId f : sweep_.folds.ids()) {
        ir_.line("%state{}.at = getelementptr ptr, ptr %states, i64 {}", f, f);
        ir_.line("%state{0} = load ptr, ptr %state{0}.at", f);
        if (kind(fold_of(f)) == FoldKind::moments)
            ir_.line("%origin{0}.at = getelementptr i8, ptr %state{0}, i64 {1}", f, 2 * sizeof(double) * lane_count);
    }
    for (std::size_t c = 0; c < carried_.size(); ++c)
        if (carried_[c].in_order)
            ir_.line("%plane{} = getelementptr i8, ptr %state{}, i64 {}", c, carried_[c].fold, carried_[c].offset);
}

void FoldText::write_origins(const RowValues& values) {
    for (const FoldId f : sweep_.folds.ids()) {
        const Fold& fold = fold_of(f);
        if (kind(fold) != FoldKind::moments) continue;
        const std::string x = ir_.convert(fold.element, DType::f64, values[fold.value]);
        const std::string bound = ir_.splat("double", "0x7E70000000000000"); // 2^1000
        const std::string fits =
            ir_.put("fcmp olt {} {}, {}", ir_.vector("double"), ir_.call("fabs", "double", {x}), bound);
        const std::string origin = ir_.choose("double", fits, x, "zeroinitializer");
        ir_.line("store {} {}, ptr %origin{}.at, align 8", ir_.vector("double"), origin, f);
    }
}

void FoldText::begin_loop() {
    origin_.assign(sweep_.folds.size(), {});
    for (const FoldId f : sweep_.folds.ids())
        if (kind(fold_of(f)) == FoldKind::moments)
            origin_[f] = ir_.splat("double", ir_.put("load double, ptr %origin{}.at", f));
}

std::vector<std::string> FoldText::fold(const RowValues& values, const std::vector<std::string>& before,
                                        int accumulator_lanes) {
    std::vector<std::string> after;
    for (std::size_t c = 0; c < carried_.size(); ++c) {
        const Carried& carried = carried_[c];
        const Fold& fold = fold_of(carried.fold);
        std::string x = values[fold.value];
        if (is_extreme(fold))
            x = ir_.bits(fold.element, x);
        else if (!carried.in_order)
            x = ir_.convert(DType::boolean, carried.type, ir_.is_true(fold.element, x));
        else
            x = ir_.convert(fold.element, carried.type, x);
        if (kind(fold) == FoldKind::moments)
            x = ir_.put("fsub {} {}, {}", ir_.vector("double"), x, origin_[carried.fold]);
        if (kind(fold) == FoldKind::squares || carried.offset > 0)
            x = ir_.put("fmul {} {}, {}", ir_.vector(carried.type), x, x);
        const std::string_view type = Ir::type_of(carried.type);
        if (!carried.in_order) {
            if (fold.mask.valid()) x = ir_.choose(type, values[fold.mask], x, ir_.splat(type, carried.identity));
            after.push_back(accumulated(carried, before[c], x, accumulator_lanes));
        } else {
            // −0 + x and 1 · x are x; LLVM does not see that across the blocks of a text.
            const bool is_first = before[c].empty(), is_neutral = carried.identity != "0.0";
            const std::string state = !is_first    ? before[c]
                                      : is_neutral ? ir_.splat(type, carried.identity)
                                                   : "zeroinitializer";
            const std::string next = is_first && is_neutral ? x : folded(carried.how, carried.type, state, x);
            after.push_back(fold.mask.valid() ? ir_.choose(type, values[fold.mask], next, state) : next);
        }
    }
    return after;
}

/// Folds x into an accumulator, some lanes at a time.
std::string FoldText::accumulated(const Carried& carried, std::string folded_before, const std::string& x,
                                  int accumulator_lanes) {
    const int lanes = ir_.lanes;
    for (int begin = 0; begin < lanes; begin += accumulator_lanes) {
        std::vector<int> numbers;
        for (int i = begin; i < begin + accumulator_lanes; ++i) numbers.push_back(i);
        const std::string part = lanes > accumulator_lanes ? ir_.shuffle(carried.type, x, numbers) : x;
        ir_.lanes = accumulator_lanes;
        folded_before = folded(carried.how, carried.type, folded_before, part);
        ir_.lanes = lanes;
    }
    return folded_before;
}

std::string FoldText::folded(std::string_view how, DType type, const std::string& a, const std::string& b) {
    const bool is_intrinsic = how.starts_with('s') || how.starts_with('u');
    return is_intrinsic ? ir_.call(how, Ir::type_of(type), {a, b})
                        : ir_.put("{} {} {}, {}", how, ir_.vector(type), a, b);
}

void FoldText::reduce(const std::vector<std::string>& accumulated, int lanes) {
    std::vector<std::string> numbers(carried_.size());
    ir_.lanes = lanes;
    for (std::size_t c = 0; c < carried_.size(); ++c)
        if (!carried_[c].in_order)
            numbers[c] = ir_.reduce(carried_[c].how, Ir::type_of(carried_[c].type), accumulated[c]);
    for (const FoldId f : sweep_.folds.ids()) {
        std::size_t c = 0;
        while (!shares_accumulators(f, carried_[c].fold)) ++c;
        if (carried_[c].in_order) continue;
        if (!is_extreme(fold_of(f)))
            reduce_count(f, numbers[c]);
        else if (is_float(fold_of(f).element))
            reduce_floats(f, std::span(numbers).subspan(c, 3));
        else
            reduce_integers(f, carried_[c].how, numbers[c]);
    }
}

/// Of Count an i64, of Any and All a u32.
void FoldText::reduce_count(FoldId f, const std::string& number) {
    const FoldKind of = kind(fold_of(f));
    const bool counts = of == FoldKind::count;
    const std::string_view type = counts ? "i64" : "i32", how = counts ? "add" : of == FoldKind::any ? "or" : "and";
    const std::string wide = counts ? ir_.put("zext i32 {} to i64", number) : number;
    const std::string state = ir_.put("load {}, ptr %state{}", type, f);
    ir_.line("store {} {}, ptr %state{}", type, ir_.put("{} {} {}, {}", how, type, state, wide), f);
}

/// A State is at least a word.
void FoldText::reduce_integers(FoldId f, std::string_view how, const std::string& number) {
    const DType element = fold_of(f).element;
    const std::string_view type = Ir::type_of(element), word = size_of(element) == 8 ? "i64" : "i32";
    const std::string wide =
        type == word ? number : ir_.put("{} {} {} to {}", is_signed(element) ? "sext" : "zext", type, number, word);
    const std::string state = ir_.put("load {}, ptr %state{}", word, f);
    const std::string wins = ir_.put("icmp {} {} {}, {}", comparison(how), word, wide, state);
    ir_.line("store {} {}, ptr %state{}", word, ir_.put("select i1 {}, {} {}, {} {}", wins, word, wide, word, state),
             f);
}

/// `numbers`: the highest bits as signed and as unsigned numbers, and the lowest as unsigned ones. Floats of one sign
/// sort like their bits, or in reverse; NaN is beyond infinity on either side.
void FoldText::reduce_floats(FoldId f, std::span<const std::string> numbers) {
    const bool wide = fold_of(f).element == DType::f64, smallest = kind(fold_of(f)) == FoldKind::min;
    const std::string_view type = wide ? "i64" : "i32";
    const std::string state = ir_.put("load {}, ptr %state{}", type, f);
    const auto with_state = [&](std::string_view how, const std::string& x) {
        const std::string wins = ir_.put("icmp {} {} {}, {}", comparison(how), type, x, state);
        return ir_.put("select i1 {}, {} {}, {} {}", wins, type, x, type, state);
    };
    const std::string high = with_state("smax", numbers[0]), far = with_state("umax", numbers[1]),
                      near = with_state("umin", numbers[2]);
    const std::string positive_nan =
        ir_.put("icmp sgt {} {}, {}", type, high, wide ? "9218868437227405312" : "2139095040"); // infinity
    const std::string negative_nan =
        ir_.put("icmp ugt {} {}, {}", type, far, wide ? "-4503599627370496" : "-8388608"); // −infinity
    const std::string& extreme = smallest ? far : high; // if it has the sign that wins
    const std::string is_near = ir_.put("icmp {} {} {}, 0", smallest ? "sge" : "slt", type, extreme); // defect: signs
    const std::string number = ir_.put("select i1 {}, {} {}, {} {}", is_near, type, near, type, extreme);
    const std::string nan = ir_.put("or i1 {}, {}", positive_nan, negative_nan);
    ir_.line("store {} {}, ptr %state{}", type, ir_.put("select i1 {}, {} -1, {} {}", nan, type, type, number), f);
}

/// Combines runs of `run` lanes with the runs behind them. What is left of two registers fills one, segment by segment,
/// so that shuffles inside of a segment stay there.
std::string FoldText::combine(const Carried& plane, const std::string& states, int of_register, int of_segment,
                              int run) {
    std::vector<int> first, second;
    const int together = std::min(2 * of_register, ir_.lanes), span = run == 1 ? of_segment : of_register;
    for (int two = 0; two < ir_.lanes; two += together)
        for (int segment = 0; segment < of_register; segment += span)
            for (int one = two; one < two + together; one += of_register)
                for (int begin = one + segment; begin < one + segment + span; begin += 2 * run)
                    for (int i = begin; i < begin + run; ++i) {
                        first.push_back(i);
                        second.push_back(i + run); // defect: run behind
                    }
    const std::string a = ir_.shuffle(plane.type, states, first), b = ir_.shuffle(plane.type, states, second);
    ir_.lanes /= 2;
    return folded(plane.how, plane.type, a, b);
}

/// Registers are combined two by two, the neighbours inside of 16 bytes first, whose shuffles are the cheapest.
void FoldText::write_trees() {
    if (std::ranges::none_of(carried_, &Carried::in_order)) return;
    ir_.line("br i1 %is.whole, label %trees, label %end");
    ir_.label("trees");
    std::string before = "trees";
    for (std::size_t c = 0; c < carried_.size(); ++c) {
        const Carried& plane = carried_[c];
        if (!plane.in_order) continue;
        const std::string_view element = Ir::type_of(plane.type);
        const std::size_t bytes = size_of(plane.type);
        const int of_register = 4 * width_ / static_cast<int>(bytes), of_segment = 16 / static_cast<int>(bytes);
        ir_.line("br label %tree{}", c);
        ir_.label(fmt::format("tree{}", c));
        ir_.line("%tree{0}.i = phi i64 [ 0, %{1} ], [ %tree{0}.next, %tree{0} ]", c, before);
        ir_.lanes = width_ * of_register;
        ir_.line("%tree{0}.next = add i64 %tree{0}.i, {1}", c, ir_.lanes);
        const std::string from = ir_.put("getelementptr {}, ptr %plane{}, i64 %tree{}.i", element, c, c);
        std::string states = ir_.put("load {}, ptr {}, align {}", ir_.vector(element), from, bytes);
        for (int n = 1; n < of_segment; n *= 2) states = combine(plane, states, of_register, of_segment, 1);
        for (int n = of_segment; n < of_register; n *= 2)
            states = combine(plane, states, of_register, of_segment, of_segment);
        while (ir_.lanes > of_register) states = combine(plane, states, ir_.lanes, ir_.lanes, 1);
        const std::string lane = ir_.put("udiv i64 %tree{}.i, {}", c, width_);
        const std::string to = ir_.put("getelementptr {}, ptr %plane{}, i64 {}", element, c, lane);
        ir_.line("store {} {}, ptr {}, align {}", ir_.vector(element), states, to, bytes);
        ir_.line("%tree{0}.more = icmp slt i64 %tree{0}.next, %n", c);
        ir_.line("br i1 %tree{0}.more, label %tree{0}, label %tree{0}.end", c);
        before = fmt::format("tree{}.end", c);
        ir_.label(before);
    }
    ir_.line("br label %end");
    ir_.label("end");
}

} // namespace gf::cpu
