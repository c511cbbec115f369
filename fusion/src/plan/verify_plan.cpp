#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>
#include <gridfold/core/view.hpp>
#include <gridfold/fusion/fuse.hpp>

#include "plan/plan_text.hpp"
#include "plan/verify.hpp"

namespace gf::plan {

namespace {

/// The kind of thing that an instruction's slot numbers.
enum class SlotOf : std::uint8_t { nothing, parameter, scalar, array, dim, fold };

/// The source of an instruction's domain and phase.
enum class VariesAs : std::uint8_t {
    nothing,  ///< no dims, phase 0
    slot,     ///< the dims of its array, or its dim; phase 0
    operands, ///< the dims of all its operands, the highest of their phases
    fold,     ///< the dims that its fold keeps, and the phase after the fold's
};

/// The legal form of an instruction: its domain and phase, its operands (a map's number is its row's) and its slot.
struct OpcodeForm {
    Opcode opcode;
    VariesAs varies;
    int least_operands, most_operands;
    SlotOf slot;
};
constexpr OpcodeForm opcode_forms[] = {
    {Opcode::constant, VariesAs::nothing, 0, 0, SlotOf::nothing},
    {Opcode::parameter, VariesAs::nothing, 0, 0, SlotOf::parameter},
    {Opcode::read, VariesAs::nothing, 0, 0, SlotOf::scalar},
    {Opcode::is_empty, VariesAs::nothing, 0, 0, SlotOf::scalar},
    {Opcode::load, VariesAs::slot, 0, 0, SlotOf::array},
    {Opcode::index, VariesAs::slot, 0, 0, SlotOf::dim},
    {Opcode::map, VariesAs::operands, 1, max_arity, SlotOf::nothing},
    {Opcode::cast, VariesAs::operands, 1, 1, SlotOf::nothing},
    {Opcode::round, VariesAs::operands, 1, 1, SlotOf::nothing},
    {Opcode::finalize, VariesAs::fold, 0, 0, SlotOf::fold},
};

bool in_range(int number, std::size_t count) { return number >= 0 && static_cast<std::size_t>(number) < count; }
class PlanVerifier {
public:
    explicit PlanVerifier(const Plan& plan)
        : plan_(plan), stored_in_(plan.arrays.size(), -1), yielded_in_(plan.scalars.size(), -1) {}

    void verify() {
        for (const Array& array : plan_.arrays) verify_array(array);
        for (const Parameter& parameter : plan_.parameters)
            require(parameter.dim == -1 || (in_range(parameter.dim, plan_.dims.size()) && parameter.type == DType::i64),
                    "an extent is i64, of a declared dim");
        for (sweep_number_ = 0; in_range(sweep_number_, plan_.sweeps.size()); ++sweep_number_)
            verify_sweep(plan_.sweeps[static_cast<std::size_t>(sweep_number_)]);
        sweep_number_ = value_ = -1;
        for (std::size_t a = 0; a < plan_.arrays.size(); ++a)
            require((plan_.arrays[a].role == ArrayRole::input) == (stored_in_[a] < 0),
                    "every array but an input is stored");
        for (const int sweep : yielded_in_) require(sweep >= 0, "every scalar is yielded");
        verify_outputs();
    }

private:
    void require(bool holds, std::string_view rule) const {
        if (holds) return;
        throw InternalError(
            fmt::format("verify: {}{}{}\n{}\n{}", sweep_number_ < 0 ? "" : fmt::format("sweep {}: ", sweep_number_),
                        value_ < 0 ? "" : fmt::format("%{}: ", value_), rule, plan_.graph_text, to_text(plan_)));
    }

    void verify_dims(const std::vector<int>& dims) const {
        const std::set<int> distinct(dims.begin(), dims.end());
        require(distinct.size() == dims.size(), "a dim is listed once");
        for (const int dim : dims) require(in_range(dim, plan_.dims.size()), "a dim is declared");
    }

    void verify_array(const Array& array) const {
        verify_dims(array.dims);
        require(!array.dims.empty(), "an array has dims");
        require(array.role == ArrayRole::input || std::is_sorted(array.dims.begin(), array.dims.end()),
                "what a sweep stores is row-major in the order of the dims");
    }

    void verify_sweep(const Sweep& sweep) {
        value_ = -1;
        verify_dims(sweep.dims);
        require(std::is_sorted(sweep.dims.begin(), sweep.dims.end()), "a domain's dims increase");
        require(sweep.dims.size() <= max_rank, "a domain has at most max_rank dims");
        const auto size = static_cast<int>(sweep.code.size());
        used_.assign(sweep.code.size(), false);
        touched_.clear();
        fetched_from_.clear();
        for (value_ = 0; value_ < size; ++value_)
            verify_instruction(sweep, sweep.code[static_cast<std::size_t>(value_)]);
        value_ = -1;
        const auto place = [](const Instruction& i) { return std::pair(i.phase, !i.domain.empty()); };
        require(std::ranges::is_sorted(sweep.code, {}, place), "values are ordered by phase, those without dims first");
        for (const Fold& fold : sweep.folds) verify_fold(sweep, fold);
        for (const Store& store : sweep.stores) verify_store(sweep, store);
        for (const Yield& yield : sweep.yields) verify_yield(sweep, yield);
        require(std::find(used_.begin(), used_.end(), false) == used_.end(), "every value is used");
        require(!sweep.folds.empty() || !sweep.stores.empty() || !sweep.yields.empty(), "a sweep makes something");
        require(std::equal(fetched_from_.begin(), fetched_from_.end(), sweep.after.begin(), sweep.after.end()),
                "`after` lists the sweeps that this one reads from, increasing");
    }

    /// Checks the number of a value, which must be below `end`, and marks it as used.
    const Instruction& use(const Sweep& sweep, int value, int end, std::string_view rule) {
        require(value >= 0 && value < end, rule);
        used_[static_cast<std::size_t>(value)] = true;
        return sweep.code[static_cast<std::size_t>(value)];
    }

    void verify_instruction(const Sweep& sweep, const Instruction& i) {
        const auto form = std::find_if(std::begin(opcode_forms), std::end(opcode_forms),
                                       [&](const OpcodeForm& f) { return f.opcode == i.opcode; });
        require(form != std::end(opcode_forms), "an instruction has a known opcode");
        require(!is_half(i.type), "f16 and bf16 values live as f32");

        const auto end = std::find(i.operands.begin(), i.operands.end(), -1);
        const auto count = static_cast<int>(end - i.operands.begin());
        require(std::all_of(end, i.operands.end(), [](int o) { return o == -1; }), "operands fill the first places");
        require(count >= form->least_operands && count <= form->most_operands,
                "an instruction has its opcode's operands");
        for (int o = 0; o < count; ++o)
            use(sweep, i.operands[static_cast<std::size_t>(o)], value_, "operands come before their users");
        verify_slot(*form, i);
        verify_types(sweep, i, count);
        verify_domain(*form, sweep, i, count);
    }

    void verify_domain(const OpcodeForm& form, const Sweep& sweep, const Instruction& i, int count) const {
        DimSet domain;
        int phase = 0;
        switch (form.varies) {
        case VariesAs::nothing: break;
        case VariesAs::slot:
            domain = dim_set(sweep, i.opcode == Opcode::index ? std::span<const int>(&i.slot, 1)
                                                              : plan_.arrays[static_cast<std::size_t>(i.slot)].dims);
            break;
        case VariesAs::operands:
            for (int o = 0; o < count; ++o) {
                const Instruction& operand =
                    sweep.code[static_cast<std::size_t>(i.operands[static_cast<std::size_t>(o)])];
                domain |= operand.domain;
                phase = std::max(phase, operand.phase);
            }
            break;
        case VariesAs::fold: {
            const Fold& fold = sweep.folds[static_cast<std::size_t>(i.slot)];
            domain = fold.kept;
            phase = fold.phase + 1;
            break;
        }
        }
        require(i.domain == domain, "an instruction has the domain of its opcode");
        require(i.phase == phase, "an instruction has the phase of its opcode");
        require(i.domain.empty() || i.phase == 0, "a value that varies along dims waits for no fold of its sweep");
    }

    void verify_slot(const OpcodeForm& form, const Instruction& i) {
        const Sweep& sweep = plan_.sweeps[static_cast<std::size_t>(sweep_number_)];
        const auto slot = static_cast<std::size_t>(i.slot);
        switch (form.slot) {
        case SlotOf::nothing: return require(i.slot == -1, "an instruction without a slot has none");
        case SlotOf::parameter:
            require(in_range(i.slot, plan_.parameters.size()), "a parameter is declared");
            return require(i.type == value_type(plan_.parameters[slot].type), "a parameter has its declared type");
        case SlotOf::scalar:
            require(in_range(i.slot, plan_.scalars.size()), "a scalar is declared");
            require(yielded_in_[slot] >= 0 && yielded_in_[slot] < sweep_number_,
                    "a scalar is yielded by an earlier sweep");
            fetched_from_.insert(yielded_in_[slot]);
            if (i.opcode == Opcode::is_empty)
                return require(i.type == DType::boolean && plan_.scalars[slot].may_be_empty,
                               "is_empty is bool, of a scalar that may be empty");
            return require(i.type == value_type(plan_.scalars[slot].type), "a scalar has its declared type");
        case SlotOf::array: return verify_load(sweep, i);
        case SlotOf::dim:
            return require(i.type == DType::i64 && std::count(sweep.dims.begin(), sweep.dims.end(), i.slot) == 1,
                           "an index is i64 along a dim of the domain");
        case SlotOf::fold: return require(in_range(i.slot, sweep.folds.size()), "what is finalised is folded");
        }
    }

    void verify_load(const Sweep& sweep, const Instruction& i) {
        require(in_range(i.slot, plan_.arrays.size()), "an array is declared");
        const auto slot = static_cast<std::size_t>(i.slot);
        const Array& array = plan_.arrays[slot];
        require(touched_.insert(i.slot).second, "an array is loaded once");
        if (array.role != ArrayRole::input) {
            require(stored_in_[slot] >= 0 && stored_in_[slot] < sweep_number_,
                    "a loaded array is stored by an earlier sweep");
            fetched_from_.insert(stored_in_[slot]);
        }
        for (const int dim : array.dims)
            require(std::count(sweep.dims.begin(), sweep.dims.end(), dim) == 1, "an array's dims are of the domain");
        require(i.type == value_type(array.type), "a load has its array's type");
    }

    void verify_types(const Sweep& sweep, const Instruction& i, int count) const {
        const auto type_of = [&](int o) {
            return sweep.code[static_cast<std::size_t>(i.operands[static_cast<std::size_t>(o)])].type;
        };
        switch (i.opcode) {
        case Opcode::constant:
        case Opcode::parameter:
        case Opcode::read:
        case Opcode::is_empty:
        case Opcode::load:
        case Opcode::index: return;
        case Opcode::map: {
            require(i.map != nullptr && count == i.map->arity, "a map has its row's operands");
            require(!is_half(i.compute), "f16 and bf16 are computed in f32");
            const bool is_test = i.map->rule == TypeRule::compare || i.map->rule == TypeRule::test;
            require(i.type == (is_test ? DType::boolean : i.compute), "a map has the type of its row's rule");
            for (int o = 0; o < count; ++o)
                require(type_of(o) == (i.map->rule == TypeRule::select && o == 0 ? DType::boolean : i.compute),
                        "a map's operands have the type it computes in");
            return;
        }
        case Opcode::cast: return require(type_of(0) != i.type, "a cast changes the type");
        case Opcode::round:
            return require(is_half(i.round_to) && i.type == DType::f32 && is_floating(type_of(0)),
                           "a round goes from f32 or f64 to f16 or bf16, held as f32");
        case Opcode::finalize: {
            const Fold& fold = sweep.folds[static_cast<std::size_t>(i.slot)];
            return require(i.reduce != nullptr && i.reduce->monoid == fold.monoid && i.element == fold.element &&
                               i.accumulator == fold.accumulator,
                           "a reduction is read off a fold of its monoid");
        }
        }
    }

    void verify_fold(const Sweep& sweep, const Fold& fold) {
        require(fold.monoid != nullptr, "a fold names its monoid");
        const Instruction& value = use(sweep, fold.value, static_cast<int>(sweep.code.size()), "a fold takes a value");
        require(fold.element == value.type, "a fold's element type is its value's");
        require(!is_half(fold.accumulator), "f16 and bf16 accumulate in f32 or wider");
        require(std::count(sweep.folds.begin(), sweep.folds.end(), fold) == 1, "folds differ");
        int phase = value.phase;
        if (fold.mask != -1) {
            const Instruction& mask = use(sweep, fold.mask, static_cast<int>(sweep.code.size()), "a mask is a value");
            require(mask.type == DType::boolean, "a mask is bool");
            phase = std::max(phase, mask.phase);
        }
        require(fold.phase == phase, "a fold has the phase of what it folds");
        require(fold.phase == 0 && fold.kept.empty(), "a sweep has one phase of folds, which keep no dim");
    }

    void verify_store(const Sweep& sweep, const Store& store) {
        require(in_range(store.array, plan_.arrays.size()), "an array is declared");
        const auto slot = static_cast<std::size_t>(store.array);
        const Instruction& value =
            use(sweep, store.value, static_cast<int>(sweep.code.size()), "a store takes a value");
        require(plan_.arrays[slot].role != ArrayRole::input, "inputs are not stored");
        require(touched_.insert(store.array).second && stored_in_[slot] < 0,
                "an array is stored once, and not loaded beside");
        stored_in_[slot] = sweep_number_;
        require(plan_.arrays[slot].dims == sweep.dims && !sweep.dims.empty() &&
                    value.domain == DimSet::first(sweep.dims.size()),
                "a store covers the domain");
        require(value.type == value_type(plan_.arrays[slot].type), "a store has its array's type");
    }

    void verify_yield(const Sweep& sweep, const Yield& yield) {
        require(in_range(yield.scalar, plan_.scalars.size()), "a scalar is declared");
        const auto slot = static_cast<std::size_t>(yield.scalar);
        const auto use_scalar = [&](int value) {
            const Instruction& i = use(sweep, value, static_cast<int>(sweep.code.size()), "a yield takes a value");
            require(i.domain.empty(), "a yield takes a value that varies along no dim");
            return i.type;
        };
        require(use_scalar(yield.value) == value_type(plan_.scalars[slot].type), "a yield has its scalar's type");
        require(yielded_in_[slot] < 0, "a scalar is yielded once");
        yielded_in_[slot] = sweep_number_;
        require((yield.empty >= 0) == plan_.scalars[slot].may_be_empty,
                "a scalar that may be empty is yielded with whether it is");
        if (yield.empty >= 0) require(use_scalar(yield.empty) == DType::boolean, "whether a scalar is empty is bool");
    }

    void verify_outputs() const {
        std::set<std::string> names;
        for (const Output& output : plan_.outputs) {
            require(names.insert(output.name).second, "results have names of their own");
            require((output.scalar >= 0) != (output.array >= 0), "a result is a scalar or an array");
            if (output.scalar >= 0) require(in_range(output.scalar, plan_.scalars.size()), "a scalar is declared");
            if (output.array < 0) continue;
            require(in_range(output.array, plan_.arrays.size()), "an array is declared");
            require(plan_.arrays[static_cast<std::size_t>(output.array)].role == ArrayRole::output,
                    "a result is an output");
        }
    }

    const Plan& plan_;
    std::vector<int> stored_in_;  ///< by array: the sweep, −1 = none
    std::vector<int> yielded_in_; ///< by scalar: the sweep, −1 = none
    int sweep_number_ = -1;
    int value_ = -1;
    // State of the sweep being verified.
    std::vector<bool> used_;
    std::set<int> touched_; ///< arrays loaded or stored
    std::set<int> fetched_from_;
};

} // namespace

void verify(const Plan& plan) { PlanVerifier(plan).verify(); }

} // namespace gf::plan
