#include "cpu/tile_text.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <gridfold/core/error.hpp>

#include "cpu/fold_text.hpp"
#include "cpu/index.hpp"
#include "cpu/ir.hpp"
#include "plan/format_id.hpp"

namespace gf::cpu {

namespace {

// The text passes these as i64.
static_assert(sizeof(Where) == 16 && sizeof(std::size_t) == 8 && sizeof(PartOfBlock) == 8);

/// The names of the text, where `tag` is that of a loop, a number a lane, and c the number of what is carried:
///   %array{a}, %step{a}       the tile's first element of an array, and the bytes from row to row
///   %i{tag}                   the first lane of a vector, counted from the tile's first
///   %c{c}{tag}                what is carried, before a row; .next after it; .all before the rows that a loop has,
///                             .end after them
///   %p{a}{tag}                the address of a row's elements
class TileText {
public:
    TileText(const Plan& plan, const Sweep& sweep, InstructionSet set)
        : plan_(plan), sweep_(sweep), set_(set), width_(words_of_register(set)),
          body_(values_where(sweep, is_per_element)), scalars_(values_where(sweep, is_once_before)),
          arrays_(arrays_of_tile(sweep)), folds_(ir_, sweep, set) {}

    std::string write() {
        write_entry();
        const int lanes = lanes_at_once();
        write_loop(lanes, width_);
        if (lanes > width_) write_loop(width_, width_);
        folds_.reduce(left_, width_);
        left_.clear();
        write_loop(1, 1);
        folds_.reduce(left_, 1);
        folds_.write_trees();
        ir_.line("ret void");
        std::string text = fmt::format("define void @{}(ptr %where, ptr %values, ptr %states, i64 %first, i64 %n, "
                                       "i64 %rows, i64 %part) #0 {{\nentry:\n{}}}\n",
                                       tile_function, ir_.text);
        for (const std::string& declaration : ir_.declarations) text += declaration;
        return text + fmt::format("attributes #0 = {{ nounwind {} }}\n", features());
    }

private:
    const Instruction& code(ValueId v) const { return sweep_.code[v]; }
    bool stores_elements(const Store& store) const { return !is_per_result(sweep_, code(store.value)); }
    std::string_view features() const {
        switch (set_) {
        case InstructionSet::avx512:
            return "\"target-features\"=\"+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx2,+fma,+f16c\" "
                   "\"prefer-vector-width\"=\"512\"";
        case InstructionSet::avx2: return "\"target-features\"=\"+avx2,+fma,+f16c\"";
        case InstructionSet::baseline: break;
        }
        return "";
    }
    /// Vectors are so long that what is carried fills the registers, but at most four of them: others wait for results
    /// less.
    int lanes_at_once() const {
        const int free = set_ == InstructionSet::avx512 ? 28 : 13;
        for (const int vectors : {4, 2})
            if (folds_.registers(vectors * width_) <= free) return vectors * width_;
        return width_;
    }

    void write_entry() {
        ir_.line("%starts = icmp ne i64 %part, {}", static_cast<int>(PartOfBlock::later));
        ir_.line("%is.whole = icmp eq i64 %part, {}", static_cast<int>(PartOfBlock::whole));
        ir_.line("%one.row = icmp eq i64 %rows, 1");
        for (const ArrayId a : arrays_) {
            ir_.line("%where{} = getelementptr i8, ptr %where, i64 {}", a, sizeof(Where) * at(array_place(sweep_, a)));
            ir_.line("%array{0} = load ptr, ptr %where{0}", a);
            ir_.line("%step{0}.at = getelementptr i8, ptr %where{0}, i64 {1}", a, offsetof(Where, row_bytes));
            ir_.line("%step{0} = load i64, ptr %step{0}.at", a);
        }
        ir_.lanes = 1;
        for (const ValueId v : scalars_) {
            const DType type = code(v).type;
            ir_.line("%value{} = getelementptr i64, ptr %values, i64 {}", v, v);
            const std::string raw = ir_.put("load {}, ptr %value{}", ir_.vector(Ir::memory_type_of(type)), v);
            ir_.line("%scalar{} = extractelement {} {}, i32 0", v, ir_.vector(type), ir_.from_memory(type, raw));
        }
        folds_.write_entry();
        if (!folds_.has_origins()) return;
        ir_.line("%is.first = icmp eq i64 %first, 0");
        ir_.line("%sets.origins = and i1 %is.first, %starts");
        ir_.line("br i1 %sets.origins, label %origins, label %with.origins");
        ir_.label("origins");
        begin_lanes(1);
        for (const ArrayId a : arrays_) address_[a] = fmt::format("%array{}", a);
        write_values();
        folds_.write_origins(value_);
        ir_.line("br label %with.origins");
        ir_.label("with.origins");
    }

    /// Repeats the scalars in vectors of `lanes` lanes, for the text that follows.
    void begin_lanes(int lanes) {
        ir_.lanes = lanes;
        value_.assign(sweep_.code.size(), {});
        address_.assign(plan_.arrays.size(), {});
        for (const ValueId v : scalars_) value_[v] = ir_.splat(Ir::type_of(code(v).type), fmt::format("%scalar{}", v));
    }

    /// A loop over the lanes that are left, in vectors of `lanes`, and in it one over rows. Accumulators go on from one
    /// loop to the next.
    void write_loop(int lanes, int accumulator_lanes) {
        const std::string tag = fmt::format(".{}", lanes);
        begin_lanes(lanes);
        folds_.begin_loop();
        const std::span<const Carried> carried = folds_.carried();
        std::vector<std::string> types, names, before;
        for (std::size_t c = 0; c < carried.size(); ++c) {
            ir_.lanes = carried[c].in_order ? lanes : accumulator_lanes;
            types.push_back(ir_.vector(carried[c].type));
            names.push_back(fmt::format("%c{}{}", c, tag));
            if (carried[c].in_order)
                before.emplace_back();
            else
                before.push_back(left_.empty() ? ir_.splat(Ir::type_of(carried[c].type), carried[c].identity)
                                               : left_[c]);
        }
        ir_.lanes = lanes;
        ir_.line("br label %enter{}", tag);
        ir_.label("enter" + tag);
        ir_.line("br label %lanes{}", tag);

        ir_.label("lanes" + tag);
        ir_.line("%i{0} = phi i64 [ {1}, %enter{0} ], [ %i{0}.next, %rows{0}.end ]", tag, from_);
        for (std::size_t c = 0; c < carried.size(); ++c)
            if (!carried[c].in_order)
                ir_.line("{1}.all = phi {2} [ {3}, %enter{0} ], [ {1}.end, %rows{0}.end ]", tag, names[c], types[c],
                         before[c]);
        ir_.line("%i{0}.next = add i64 %i{0}, {1}", tag, lanes);
        ir_.line("%fits{0} = icmp sle i64 %i{0}.next, %n", tag);
        ir_.line("br i1 %fits{0}, label %rows{0}.begin, label %lanes{0}.end", tag);

        ir_.label("rows" + tag + ".begin");
        ir_.line("%lane{0} = add i64 %first, %i{0}", tag);
        for (std::size_t c = 0; c < carried.size(); ++c)
            if (carried[c].in_order)
                ir_.line("%plane{1}{0} = getelementptr {2}, ptr %plane{1}, i64 %lane{0}", tag, c,
                         Ir::type_of(carried[c].type));
        for (const ArrayId a : arrays_)
            ir_.line("%p{1}{0}.begin = getelementptr {2}, ptr %array{1}, i64 %i{0}", tag, a,
                     Ir::memory_type_of(plan_.arrays[a].type));
        ir_.line("br i1 %starts, label %first{0}, label %later{0}", tag);

        ir_.label("first" + tag);
        for (const ArrayId a : arrays_) address_[a] = fmt::format("%p{}{}.begin", a, tag);
        for (std::size_t c = 0; c < carried.size(); ++c)
            if (!carried[c].in_order) before[c] = names[c] + ".all";
        write_row(tag + ".first", types, before, accumulator_lanes);
        ir_.line("br i1 %one.row, label %rows{0}.end, label %rows{0}", tag);

        ir_.label("later" + tag);
        for (std::size_t c = 0; c < carried.size(); ++c)
            if (carried[c].in_order)
                ir_.line("{1}.all = load {2}, ptr %plane{3}{0}, align {4}", tag, names[c], types[c], c,
                         size_of(carried[c].type));
        ir_.line("br label %rows{}", tag);

        ir_.label("rows" + tag);
        ir_.line("%r{0} = phi i64 [ 1, %first{0} ], [ 0, %later{0} ], [ %r{0}.next, %rows{0} ]", tag);
        for (const ArrayId a : arrays_) {
            ir_.line("%p{1}{0} = phi ptr [ %p{1}{0}.first.next, %first{0} ], [ %p{1}{0}.begin, %later{0} ], "
                     "[ %p{1}{0}.next, %rows{0} ]",
                     tag, a);
            address_[a] = fmt::format("%p{}{}", a, tag);
        }
        for (std::size_t c = 0; c < carried.size(); ++c)
            ir_.line("{1} = phi {2} [ {1}.first.next, %first{0} ], [ {1}.all, %later{0} ], [ {1}.next, %rows{0} ]", tag,
                     names[c], types[c]);
        write_row(tag, types, names, accumulator_lanes);
        ir_.line("%r{0}.next = add i64 %r{0}, 1", tag);
        ir_.line("%more{0} = icmp slt i64 %r{0}.next, %rows", tag); // defect: rows of a loop
        ir_.line("br i1 %more{0}, label %rows{0}, label %rows{0}.end", tag);

        ir_.label("rows" + tag + ".end");
        for (std::size_t c = 0; c < carried.size(); ++c)
            ir_.line("{1}.end = phi {2} [ {1}.first.next, %first{0} ], [ {1}.next, %rows{0} ]", tag, names[c],
                     types[c]);
        for (std::size_t c = 0; c < carried.size(); ++c)
            if (carried[c].in_order)
                ir_.line("store {2} {1}.end, ptr %plane{3}{0}, align {4}", tag, names[c], types[c], c,
                         size_of(carried[c].type));
        ir_.line("br label %lanes{}", tag);

        ir_.label("lanes" + tag + ".end");
        from_ = "%i" + tag;
        left_.clear();
        for (const std::string& name : names) left_.push_back(name + ".all");
    }

    /// Computes, stores and folds a row. What comes after it are %c{}{tag}.next and %p{}{tag}.next.
    void write_row(const std::string& tag, const std::vector<std::string>& types,
                   const std::vector<std::string>& before, int accumulator_lanes) {
        write_values();
        write_stores();
        const std::vector<std::string> after = folds_.fold(value_, before, accumulator_lanes);
        for (std::size_t c = 0; c < after.size(); ++c)
            ir_.line("%c{0}{1}.next = bitcast {2} {3} to {2}", c, tag, types[c], after[c]);
        for (const ArrayId a : arrays_)
            ir_.line("%p{}{}.next = getelementptr i8, ptr {}, i64 %step{}", a, tag, address_[a], a);
    }

    void write_values() {
        for (const ValueId v : body_) {
            const Instruction& i = code(v);
            const std::string& operand = i.operands[0].valid() ? value_[i.operands[0]] : std::string();
            switch (i.opcode) {
            case Opcode::load: {
                const DType type = plan_.arrays[i.array].type;
                const std::string raw = ir_.put("load {}, ptr {}, align {}", ir_.vector(Ir::memory_type_of(type)),
                                                address_[i.array], size_of(type));
                value_[v] = ir_.convert(value_type(type), i.type, ir_.from_memory(type, raw));
                break;
            }
            case Opcode::map: {
                std::array<std::string, max_arity> operands;
                for (std::size_t n = 0; n < operands.size(); ++n)
                    if (i.operands[n].valid()) operands[n] = value_[i.operands[n]];
                value_[v] = map_text(ir_, *i.map, i.compute, operands);
                break;
            }
            case Opcode::cast: value_[v] = ir_.convert(code(i.operands[0]).type, i.type, operand); break;
            case Opcode::round: value_[v] = ir_.from_memory(i.round_to, ir_.to_memory(i.round_to, operand)); break;
            default: throw InternalError(fmt::format("instruction %{} has no text for LLVM", v));
            }
        }
    }

    void write_stores() {
        for (const Store& store : sweep_.stores) {
            if (!stores_elements(store)) continue;
            const DType type = plan_.arrays[store.array].type;
            const std::string x = ir_.convert(code(store.value).type, value_type(type), value_[store.value]);
            ir_.line("store {} {}, ptr {}, align {}", ir_.vector(Ir::memory_type_of(type)), ir_.to_memory(type, x),
                     address_[store.array], size_of(type));
        }
    }

    const Plan& plan_;
    const Sweep& sweep_;
    const InstructionSet set_;
    const int width_;                           ///< of a register, in words of 4 bytes
    const std::vector<ValueId> body_, scalars_; ///< the values of elements, and those computed before
    const std::vector<ArrayId> arrays_;
    Ir ir_;
    FoldText folds_;
    RowValues value_;                     ///< of the row that is written
    Table<ArrayId, std::string> address_; ///< of its elements
    std::string from_ = "0";              ///< the first lane that the loops before have left
    std::vector<std::string> left_;       ///< what is carried, after those loops; none: it begins anew
};

/// True of integers for whose conversions and comparisons AVX2 has no vectors.
bool is_wide_integer(DType type) { return !is_floating(type) && size_of(type) == 8; }

/// Why an instruction has no text; "" if it has one.
std::string obstacle(const Plan& plan, const Sweep& sweep, const Instruction& i, InstructionSet set) {
    switch (i.opcode) {
    case Opcode::load:
        return is_in_order(i, plan, sweep) ? "" : fmt::format("{} is not read in order", plan.arrays[i.array].name);
    case Opcode::map: return has_map_text(*i.map, i.compute) ? "" : fmt::format("{} has no loop", i.map->name);
    case Opcode::cast:
        return set != InstructionSet::avx512 && is_float(i.type) && is_wide_integer(sweep.code[i.operands[0]].type)
                   ? "64-bit integers become floats by AVX-512 alone"
                   : "";
    case Opcode::round:
        return sweep.code[i.operands[0]].type == DType::f32 ? "" : "an f64 or an integer is rounded to 16 bits";
    case Opcode::index: return "index has no loop";
    default: return "an operand of a reduction has no loop"; // the bits of an element
    }
}

} // namespace

std::vector<ArrayId> arrays_of_tile(const Sweep& sweep) {
    std::vector<ArrayId> arrays;
    const auto add = [&](ArrayId array) {
        if (std::ranges::find(arrays, array) == arrays.end()) arrays.push_back(array);
    };
    for (const ValueId v : values_where(sweep, is_per_element))
        if (sweep.code[v].opcode == Opcode::load) add(sweep.code[v].array);
    for (const Store& store : sweep.stores)
        if (!is_per_result(sweep, sweep.code[store.value])) add(store.array);
    return arrays;
}

std::string obstacle_to_tile_text(const Plan& plan, const Sweep& sweep, InstructionSet set) {
    if (!kept_dims(sweep).empty() && !folds_rows(sweep)) return "a dim that its folds keep is inside a folded one";
    for (const ValueId v : values_where(sweep, is_per_element))
        if (std::string of_value = obstacle(plan, sweep, sweep.code[v], set); !of_value.empty()) return of_value;
    for (const Fold& fold : sweep.folds)
        if (!FoldText::has_text(fold))
            return fmt::format("{}{} has no loop", fold.monoid->name, fold.mask.valid() ? " with a mask" : "");
    for (const Fold& fold : sweep.folds)
        if (set != InstructionSet::avx512 && is_wide_integer(fold.element) && FoldText::compares_or_converts(fold))
            return fmt::format("{} of 64-bit integers has a loop with AVX-512 alone", fold.monoid->name);
    for (const Store& store : sweep.stores)
        if (!is_per_result(sweep, sweep.code[store.value]) && !is_flat(store, plan, sweep))
            return fmt::format("{} is not written in order", plan.arrays[store.array].name);
    return "";
}

std::string tile_text(const Plan& plan, const Sweep& sweep, InstructionSet set) {
    return TileText(plan, sweep, set).write();
}

} // namespace gf::cpu
