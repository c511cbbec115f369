#include "cpu/sweep_program.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>

#include "cpu/choose_tile.hpp"
#include "cpu/index.hpp"
#include "cpu/streamed_outputs.hpp"
#include "cpu/tile_code.hpp"
#include "plan/format_id.hpp"

namespace gf::cpu {

namespace {

class Builder {
public:
    Builder(const Plan& plan, const Sweep& sweep, InstructionSet set)
        : plan_(plan), sweep_(sweep), set_(set), body_(values_where(sweep, is_per_element)) {}

    SweepProgram build() {
        program_.prologue = scalar_steps(plan_, sweep_, values_where(sweep_, is_once_before));
        program_.epilogue = scalar_steps(plan_, sweep_, values_where(sweep_, is_after_folds));
        program_.results = result_program(plan_, sweep_, set_);
        program_.places.resize(at(no_place()) + 1);
        for (const ArrayId a : plan_.arrays.ids())
            place(array_place(a)) = {
                .kind = Place::Kind::array, .element_bytes = size_of(plan_.arrays[a].type), .array = a};
        find_uses();
        for (const ValueId v : body_) {
            if (is_folded_product(v) || is_folded_comparison(v)) continue;
            if (is_flat_load(v)) program_.streams.push_back(array_place(code(v).array));
            append(v);
        }
        for (std::size_t s = 0; s < sweep_.stores.size(); ++s)
            if (!is_per_result(sweep_, code(sweep_.stores[s].value))) append(sweep_.stores[s], static_cast<int>(s));
        for (std::size_t f = 0; f < sweep_.folds.size(); ++f) append(sweep_.folds[f], static_cast<int>(f));
        join_folds();
        for (const Yield& yield : sweep_.yields)
            program_.yields.push_back(
                checked(cast_kernel(code(yield.value).type, plan_.scalars[yield.scalar].type), yield.value));
        find_rows();
        program_.outputs = written_outputs(plan_, sweep_, program_);
        program_.far = far_memory(set_);
        choose_tile(program_, sweep_);
        find_code();
        return std::move(program_);
    }

private:
    const Instruction& code(ValueId v) const { return sweep_.code[v]; }
    Place& place(int number) { return program_.places[at(number)]; }
    Place& place(ValueId v) { return place(v.number()); }
    int array_place(ArrayId array) const { return cpu::array_place(sweep_, array); }
    int raw_place() const { return array_place(plan_.arrays.next()); }
    int stored_place(int store) const { return raw_place() + 1 + store; }
    int folded_place(int fold) const { return stored_place(static_cast<int>(sweep_.stores.size())) + fold; }
    int no_place() const { return folded_place(static_cast<int>(sweep_.folds.size())); }

    [[noreturn]] void fail(const std::string& what) const {
        throw InternalError(fmt::format("the CPU backend cannot run {} of {}", what, plan_.graph_text));
    }
    template <class Kernel> Kernel checked(Kernel kernel, ValueId v) const {
        if (kernel == nullptr) fail(fmt::format("instruction %{}", v));
        return kernel;
    }

    /// Counts the reads of each value and finds its last reader. Folded and stored values live to the end of the body.
    void find_uses() {
        readers_.assign(sweep_.code.size(), 0);
        last_use_.assign(sweep_.code.size(), {});
        const auto use = [&](ValueId value, ValueId user) {
            if (!value.valid()) return;
            ++readers_[value];
            last_use_[value] = std::max(last_use_[value], user);
        };
        const ValueId end = sweep_.code.next(); // after every value
        for (const Store& store : sweep_.stores) use(store.value, end);
        for (const Fold& fold : sweep_.folds)
            for (const ValueId v : fold.reads()) use(v, end);
        for (const ValueId v : body_)
            for (const ValueId operand : code(v).operands) use(operand, v);
        find_folded_products();
        find_folded_comparisons();
        find_values_of_rows();
        for (const ValueId v : body_)
            if (is_folded_product(v) || is_folded_comparison(v))
                for (const ValueId operand : code(v).operands)
                    if (operand.valid()) last_use_[operand] = end; // defect: factors
    }

    /// True if v is a product whose only use is a sum, which computes it as it folds. Its factors then live
    /// until the fold.
    bool is_folded_product(ValueId v) const { return folded_products_[v]; }
    void find_folded_products() {
        folded_products_.assign(sweep_.code.size(), false);
        for (const Fold& fold : sweep_.folds) {
            const Instruction& product = code(fold.value);
            const FoldKernels* kernels = fold_kernels(*fold.monoid, fold.element, fold.accumulator, set_);
            if (is_once_before(product) || product.opcode != Opcode::map || product.map != &map_op::mul ||
                kernels == nullptr || kernels->fold_product == nullptr)
                continue;
            const auto folds = std::ranges::count_if(sweep_.folds, [&](const Fold& other) {
                return other.value == fold.value && other.monoid == fold.monoid &&
                       other.accumulator == fold.accumulator;
            });
            folded_products_[fold.value] = folds == readers_[fold.value]; // defect: folded products
        }
    }

    /// True if v compares with a scalar and is only counted, which a joint kernel does without storing v.
    bool is_folded_comparison(ValueId v) const { return folded_comparisons_[v]; }
    void find_folded_comparisons() {
        folded_comparisons_.assign(sweep_.code.size(), false);
        for (const Fold& fold : sweep_.folds) {
            const Instruction& map = code(fold.value);
            if (is_once_before(map) || map.opcode != Opcode::map || map.map->arity != 2 ||
                is_once_before(code(map.operands[0])) || !is_once_before(code(map.operands[1])) ||
                joint_kernels_of_comparison(*map.map, map.compute, set_) == nullptr)
                continue;
            const auto folds = std::ranges::count_if(sweep_.folds, [&](const Fold& other) {
                return other.value == fold.value && is_joint(other) && !is_extreme(other);
            });
            folded_comparisons_[fold.value] = folds == readers_[fold.value]; // defect: folded comparisons
        }
    }

    /// True if v is the element of an array for each row of the domain, read only by maps that take it as it is.
    bool is_value_of_rows(ValueId v) const { return values_of_rows_[v]; }
    void find_values_of_rows() {
        values_of_rows_.assign(sweep_.code.size(), false);
        for (const ValueId v : body_) {
            if (code(v).opcode != Opcode::load || !code(v).steps.empty()) continue;
            const Array& array = plan_.arrays[code(v).array];
            const bool of_rows = !array.strided && array.dims.size() < sweep_.dims.size() &&
                                 std::equal(array.dims.begin(), array.dims.end(), sweep_.dims.begin());
            const auto maps = std::ranges::count_if(body_, [&](ValueId user) { return takes_value_of_row(user, v); });
            values_of_rows_[v] = of_rows && array.type == code(v).type && maps == readers_[v]; // defect: values of rows
        }
    }
    /// True if v is the second operand, and no other, of arithmetic that has a kernel for one value of it.
    bool takes_value_of_row(ValueId user, ValueId v) const {
        const Instruction& map = code(user);
        return map.opcode == Opcode::map && map.map->arity == 2 && map.operands[1] == v && map.operands[0] != v &&
               !is_once_before(code(map.operands[0])) && !is_folded_product(user) && !is_folded_comparison(user) &&
               row_value_kernel(*map.map, map.compute, set_) != nullptr;
    }

    /// The member of a JointStep that a fold can be; null if it cannot be in one.
    static int JointStep::*role(const Fold& fold) {
        if (fold.monoid == reduce_op::min.monoid) return &JointStep::min;
        if (fold.monoid == reduce_op::max.monoid) return &JointStep::max;
        if (fold.monoid == reduce_op::count.monoid) return &JointStep::count;
        if (fold.monoid == reduce_op::any.monoid) return &JointStep::any;
        if (fold.monoid == reduce_op::all.monoid) return &JointStep::all;
        return nullptr;
    }
    static bool is_joint(const Fold& fold) { return !fold.mask.valid() && role(fold) != nullptr; }
    static bool is_extreme(const Fold& fold) { return role(fold) == &JointStep::min || role(fold) == &JointStep::max; }

    /// True for whole folds and for rows.
    bool of_rows() const { return kept_dims(sweep_).empty() || folds_rows(sweep_); }

    /// Lets joint kernels fold what has the same operand.
    void join_folds() {
        for (std::size_t f = 0; f < sweep_.folds.size(); ++f) {
            const Fold& fold = sweep_.folds[f];
            if (program_.folds[f].fold == nullptr || !is_joint(fold)) continue;
            if (is_folded_comparison(fold.value)) {
                const Instruction& map = code(fold.value);
                join(f, joint_kernels_of_comparison(*map.map, map.compute, set_), false, true);
                continue;
            }
            join(f, joint_kernels(fold.element, true, true, set_), true, true);
            join(f, joint_kernels(fold.element, true, false, set_), true, false);
            join(f, joint_kernels(fold.element, false, true, set_), false, true);
        }
        program_.fold_calls = static_cast<std::size_t>(
            std::ranges::count_if(program_.folds, [](const FoldStep& fold) { return fold.fold != nullptr; }));
    }

    /// Joins the extremes, the counts or both among the folds of the first one's operand, if a kernel is worth it.
    void join(std::size_t first, const JointKernels* kernels, bool extremes, bool counts) {
        const ValueId value = sweep_.folds[first].value;
        JointStep step{.kernels = kernels, .value = program_.folds[first].value, .scalar = no_place()};
        int has_extremes = 0, has_counts = 0;
        std::vector<std::size_t> joined;
        for (std::size_t f = first; f < sweep_.folds.size(); ++f) {
            const Fold& fold = sweep_.folds[f];
            if (program_.folds[f].fold == nullptr || fold.value != value || !is_joint(fold)) continue;
            int& number = step.*role(fold);
            if (number >= 0 || !(is_extreme(fold) ? extremes : counts)) continue;
            number = static_cast<int>(f);
            ++(is_extreme(fold) ? has_extremes : has_counts);
            joined.push_back(f);
        }
        if (is_folded_comparison(value)) {
            step.value = read(code(value).operands[0]);
            step.scalar = read(code(value).operands[1]);
        } else if (kernels == nullptr || joined.size() < 2 || (extremes && has_extremes == 0) ||
                   (counts && has_counts == 0)) {
            return;
        } else if (!of_rows() && (kernels->fold_positions == nullptr || has_extremes < 2)) {
            return;
        }
        for (const std::size_t f : joined) program_.folds[f].fold = nullptr;
        program_.joints.push_back(step);
    }

    /// The place of value v. Prologue values get a place when they are first read.
    int read(ValueId v) {
        if (!v.valid()) return no_place();
        if (!is_once_before(code(v))) return v.number();
        Place& p = place(v);
        if (p.kind == Place::Kind::none) {
            const std::size_t bytes = size_of(code(v).type);
            p = {.kind = Place::Kind::scalar, .element_bytes = bytes, .offset = program_.splat_bytes};
            program_.splat_bytes += bytes;
            program_.splats.push_back({v, v.number()});
        }
        return v.number();
    }

    /// Chooses the place of instruction v's value: an array that stores it in order and unconverted, else a free
    /// temporary.
    void give_place(ValueId v, bool may_be_in_array) {
        const DType type = code(v).type;
        const std::size_t bytes = size_of(type);
        const auto stored = std::ranges::find_if(sweep_.stores, [&](const Store& s) {
            return s.value == v && plan_.arrays[s.array].type == type && is_flat(s, plan_, sweep_);
        });
        if (may_be_in_array && stored != sweep_.stores.end()) {
            place(v) = place(array_place(stored->array));
        } else {
            place(v) = {.kind = Place::Kind::temporary, .element_bytes = bytes, .offset = temporary(bytes)};
        }
    }

    std::size_t temporary(std::size_t bytes) {
        std::vector<std::size_t>& free = free_[bytes];
        if (!free.empty()) {
            const std::size_t offset = free.back();
            free.pop_back();
            return offset;
        }
        const std::size_t offset = program_.temporary_bytes;
        program_.temporary_bytes += bytes;
        return offset;
    }

    /// Frees the temporaries whose last reader is instruction v.
    void release_operands(ValueId v) {
        const auto& operands = code(v).operands;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            const ValueId operand = operands[i];
            const bool again = std::find(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(i),
                                         operand) != operands.begin() + static_cast<std::ptrdiff_t>(i);
            if (!operand.valid() || again || last_use_[operand] != v) continue; // defect: again
            const Place& p = place(operand);
            if (p.kind == Place::Kind::temporary) free_[p.element_bytes].push_back(p.offset);
        }
    }

    void append(ValueId v) {
        const Instruction& instruction = code(v);
        BodyStep step = call(BodyStep::Kind::convert, v.number());
        switch (instruction.opcode) {
        case Opcode::load: return append_load(v);
        case Opcode::index:
            step.kind = BodyStep::Kind::index;
            step.dim = instruction.dim;
            give_place(v, true);
            break;
        case Opcode::map:
            step.kind = BodyStep::Kind::map;
            step.is_function = instruction.map->rule == TypeRule::floating && instruction.map != &map_op::sqrt;
            if (instruction.operands[1].valid() && is_once_before(code(instruction.operands[1])))
                step.map = map_kernel_by_scalar(*instruction.map, instruction.compute, set_);
            if (step.map == nullptr) step.map = checked(map_kernel(*instruction.map, instruction.compute, set_), v);
            for (std::size_t i = 0; i < max_arity; ++i) step.operands[i] = read(instruction.operands[i]);
            if (instruction.operands[1].valid() && is_value_of_rows(instruction.operands[1])) {
                step.map_of_rows = row_value_kernel(*instruction.map, instruction.compute, set_);
                step.array = code(instruction.operands[1]).array;
                step.operands[1] = no_place();
            }
            // A map may overwrite an operand of its size, so operands are released first.
            release_operands(v);
            give_place(v, true);
            break;
        case Opcode::cast:
        case Opcode::round:
        case Opcode::payload: {
            step.convert = checked(conversion_kernel(instruction, code(instruction.operands[0]).type, set_), v);
            step.operands[0] = read(instruction.operands[0]);
            release_operands(v);
            give_place(v, true);
            break;
        }
        case Opcode::constant:
        case Opcode::parameter:
        case Opcode::read:
        case Opcode::is_empty:
        case Opcode::finalize: fail(fmt::format("instruction %{}, which is no element's,", v));
        }
        program_.body.push_back(step);
    }

    bool is_flat_load(ValueId v) const { return code(v).opcode == Opcode::load && is_in_order(code(v), plan_, sweep_); }

    /// The place for gathered elements of `bytes` bytes, from which value v is converted. Elements as wide as the value
    /// are converted in place.
    int place_of_raw(ValueId v, std::size_t bytes) {
        if (bytes == size_of(code(v).type)) return v.number();
        Place& raw = place(raw_place());
        if (raw.kind == Place::Kind::none)
            raw = {.kind = Place::Kind::temporary, .element_bytes = bytes, .offset = temporary(bytes)};
        return raw_place();
    }

    /// Arrays that are read in order and need no conversion are read in place.
    void append_load(ValueId v) {
        if (is_value_of_rows(v)) return; // the maps read it
        const ArrayId id = code(v).array;
        const Array& array = plan_.arrays[id];
        const bool as_it_is = array.type == code(v).type && array.type != DType::boolean; // defect: as it is
        const std::size_t bytes = size_of(array.type);
        if (is_flat_load(v)) {
            if (as_it_is) {
                place(v) = place(array_place(id));
                return;
            }
            give_place(v, false);
            append_conversion(array.type, array_place(id), code(v).type, v.number());
            return;
        }
        give_place(v, false);
        const int raw = place_of_raw(v, bytes);
        BodyStep step = call(BodyStep::Kind::gather, raw);
        step.array = id;
        step.shifts = code(v).steps;
        if (!step.shifts.empty()) step.shifted = program_.shifted_gathers++;
        program_.body.push_back(step);
        if (!as_it_is) append_conversion(array.type, raw, code(v).type, v.number());
    }

    void append(const Store& store, int number) {
        const Array& array = plan_.arrays[store.array];
        const int value = read(store.value);
        if (!is_flat(store, plan_, sweep_)) return append_scatter(store, number, value);
        if (place(value).kind == Place::Kind::array && place(value).array == store.array) return;
        append_conversion(code(store.value).type, value, array.type, array_place(store.array));
    }

    void append_scatter(const Store& store, int number, int value) {
        const DType from = code(store.value).type, to = plan_.arrays[store.array].type;
        BodyStep step = call(BodyStep::Kind::scatter, no_place());
        step.array = store.array;
        step.operands[0] = value;
        if (from != to) {
            const std::size_t bytes = size_of(to), offset = temporary(bytes);
            step.operands[0] = stored_place(number);
            place(step.operands[0]) = {.kind = Place::Kind::temporary, .element_bytes = bytes, .offset = offset};
            append_conversion(from, value, to, step.operands[0]);
            free_[bytes].push_back(offset);
        }
        program_.body.push_back(step);
    }

    void append_conversion(DType from, int in, DType to, int out) {
        BodyStep step = call(BodyStep::Kind::convert, out);
        step.operands[0] = in;
        step.convert = cast_kernel(from, to, set_);
        if (step.convert == nullptr) fail(fmt::format("{} as {}", gf::to_text(from), gf::to_text(to)));
        program_.body.push_back(step);
    }

    BodyStep call(BodyStep::Kind kind, int out) const {
        return {.kind = kind, .out = out, .operands = {no_place(), no_place(), no_place()}};
    }

    void append(const Fold& fold, int number) {
        FoldStep step;
        const MonoidOp& monoid = *fold.monoid;
        DType element = fold.element;
        step.kernels = fold_kernels(monoid, element, fold.accumulator, set_);
        const bool converts_first = step.kernels == nullptr && element != fold.accumulator;
        if (converts_first) {
            element = fold.accumulator;
            step.kernels = fold_kernels(monoid, element, element, set_);
        }
        if (step.kernels == nullptr)
            fail(fmt::format("{} of {} in {}", monoid.name, gf::to_text(fold.element), gf::to_text(fold.accumulator)));
        const bool product = is_folded_product(fold.value);
        step.fold = product ? step.kernels->fold_product : step.kernels->fold;
        step.value =
            is_folded_comparison(fold.value) ? no_place() : read(product ? code(fold.value).operands[0] : fold.value);
        if (converts_first) {
            const int converted = folded_place(number);
            const std::size_t bytes = size_of(element);
            place(converted) = {.kind = Place::Kind::temporary, .element_bytes = bytes, .offset = temporary(bytes)};
            append_conversion(fold.element, step.value, element, converted);
            step.value = converted;
        }
        for (std::size_t i = 0; i < step.others.size(); ++i) step.others[i] = read(fold.others[i]);
        if (product) step.others[0] = read(code(fold.value).operands[1]);
        step.mask = read(fold.mask);
        if (!fold.kept.empty()) {
            step.positions = position_kernels(monoid, element, fold.accumulator, set_);
            step.longest_row = fold.mask.valid() ? step.positions->longest_masked_row : step.positions->longest_row;
        }
        step.finishes_unmasked = step.kernels->finish_unmasked != nullptr && !fold.mask.valid(); // defect: unmasked
        step.starts_lanes = step.finishes_unmasked || (step.kernels->starts_masked && fold.mask.valid());
        step.in_any_order = step.kernels->lanes < lane_count;
        const BlockKernels* blocks = block_kernels(monoid, element, fold.accumulator, set_);
        if (blocks != nullptr && !fold.mask.valid()) step.fold_block = product ? blocks->fold_product : blocks->fold;
        if (!step.in_any_order) program_.lane_bytes += step.kernels->state_bytes;
        program_.folds.push_back(step);
    }

    void find_code() {
        program_.code = tile_code(plan_, sweep_, program_, set_);
        if (program_.code == nullptr) return;
        for (const ArrayId a : arrays_of_tile(sweep_)) program_.arrays_of_code.push_back(array_place(a));
    }

    void find_rows() {
        for (BodyStep& step : program_.body) {
            const auto is_array = [&](int p) { return place(p).kind == Place::Kind::array; };
            step.by_row = step.map_of_rows != nullptr || // defect: by row
                          step.kind == BodyStep::Kind::gather || step.kind == BodyStep::Kind::index ||
                          step.kind == BodyStep::Kind::scatter || is_array(step.out) ||
                          std::ranges::any_of(step.operands, is_array);
        }
    }

    const Plan& plan_;
    const Sweep& sweep_;
    const InstructionSet set_;
    const std::vector<ValueId> body_; ///< the values computed for each element
    SweepProgram program_;
    Table<ValueId, int> readers_;
    Table<ValueId, ValueId> last_use_;
    Table<ValueId, bool> folded_products_, folded_comparisons_, values_of_rows_;
    std::map<std::size_t, std::vector<std::size_t>> free_; ///< offsets of unused temporaries, by element size
};

} // namespace

SweepProgram sweep_program(const Plan& plan, const Sweep& sweep, InstructionSet set) {
    return Builder(plan, sweep, set).build();
}

} // namespace gf::cpu
