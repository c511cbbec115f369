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

/// What an instruction names beside its operands.
enum class Names : std::uint8_t { nothing, parameter, scalar, array, dim, fold };

/// The source of an instruction's domain and phase.
enum class VariesAs : std::uint8_t {
    nothing,  ///< no dims, phase 0
    array,    ///< the dims of its array; phase 0
    dim,      ///< its dim; phase 0
    operands, ///< the dims of all its operands, the highest of their phases
    fold,     ///< the dims that its fold keeps, and the phase after the fold's
};

/// The legal form of an instruction: its domain and phase, its operands (a map's number is its row's) and what it
/// names.
struct OpcodeForm {
    Opcode opcode;
    VariesAs varies;
    int least_operands, most_operands;
    Names names;
};
constexpr OpcodeForm opcode_forms[] = {
    {Opcode::constant, VariesAs::nothing, 0, 0, Names::nothing},
    {Opcode::parameter, VariesAs::nothing, 0, 0, Names::parameter},
    {Opcode::read, VariesAs::nothing, 0, 0, Names::scalar},
    {Opcode::is_empty, VariesAs::nothing, 0, 0, Names::scalar},
    {Opcode::load, VariesAs::array, 0, 0, Names::array},
    {Opcode::index, VariesAs::dim, 0, 0, Names::dim},
    {Opcode::map, VariesAs::operands, 1, max_arity, Names::nothing},
    {Opcode::cast, VariesAs::operands, 1, 1, Names::nothing},
    {Opcode::round, VariesAs::operands, 1, 1, Names::nothing},
    {Opcode::payload, VariesAs::operands, 1, 1, Names::nothing},
    {Opcode::finalize, VariesAs::fold, 0, 0, Names::fold},
};

class PlanVerifier {
public:
    PlanVerifier(const Plan& plan, Phases phases)
        : plan_(plan), phases_(phases), stored_in_(plan.arrays.size()), yielded_in_(plan.scalars.size()) {}

    void verify() {
        for (const Array& array : plan_.arrays) verify_array(array);
        for (const Parameter& parameter : plan_.parameters)
            require(!parameter.dim.valid() || (plan_.dims.holds(parameter.dim) && parameter.type == DType::i64),
                    "an extent is i64, of a declared dim");
        for (const SweepId sweep : plan_.sweeps.ids()) {
            sweep_ = sweep;
            verify_sweep(plan_.sweeps[sweep]);
        }
        sweep_ = {};
        for (const ArrayId a : plan_.arrays.ids()) {
            if (phases_ == Phases::several && plan_.arrays[a].role == ArrayRole::temporary) continue;
            require((plan_.arrays[a].role == ArrayRole::input) == !stored_in_[a].valid(),
                    "every array but an input is stored");
        }
        if (phases_ == Phases::one)
            for (const SweepId sweep : yielded_in_) require(sweep.valid(), "every scalar is yielded");
        for (const Output& output : plan_.outputs)
            require(!output.scalar.valid() || yielded_in_[output.scalar].valid(), "every result is yielded");
        verify_outputs();
    }

private:
    void require(bool holds, std::string_view rule) const {
        if (holds) return;
        throw InternalError(
            fmt::format("verify: {}{}{}\n{}\n{}", sweep_.valid() ? fmt::format("sweep {}: ", sweep_) : "",
                        value_.valid() ? fmt::format("%{}: ", value_) : "", rule, plan_.graph_text, to_text(plan_)));
    }

    void verify_dims(const std::vector<DimId>& dims) const {
        const std::set<DimId> distinct(dims.begin(), dims.end());
        require(distinct.size() == dims.size(), "a dim is listed once");
        for (const DimId dim : dims) require(plan_.dims.holds(dim), "a dim is declared");
    }

    void verify_array(const Array& array) const {
        verify_dims(array.dims);
        require(!array.dims.empty(), "an array has dims");
        require(array.role != ArrayRole::temporary || std::is_sorted(array.dims.begin(), array.dims.end()),
                "a temporary is row-major in the order of the dims");
    }

    void verify_sweep(const Sweep& sweep) {
        value_ = {};
        verify_dims(sweep.dims);
        require(std::is_sorted(sweep.dims.begin(), sweep.dims.end()), "a domain's dims increase");
        require(sweep.dims.size() <= max_rank, "a domain has at most max_rank dims");
        used_.assign(sweep.code.size(), false);
        touched_.clear();
        fetched_from_.clear();
        for (const ValueId value : sweep.code.ids()) {
            value_ = value;
            verify_instruction(sweep, sweep.code[value]);
        }
        value_ = {};
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
    const Instruction& use(const Sweep& sweep, ValueId value, ValueId end, std::string_view rule) {
        require(value.valid() && value < end, rule);
        used_[value] = true;
        return sweep.code[value];
    }

    void verify_instruction(const Sweep& sweep, const Instruction& i) {
        const auto form = std::find_if(std::begin(opcode_forms), std::end(opcode_forms),
                                       [&](const OpcodeForm& f) { return f.opcode == i.opcode; });
        require(form != std::end(opcode_forms), "an instruction has a known opcode");
        require(!is_half(i.type), "f16 and bf16 values live as f32");

        const auto end = std::find(i.operands.begin(), i.operands.end(), ValueId());
        const auto count = static_cast<int>(end - i.operands.begin());
        require(std::all_of(end, i.operands.end(), [](ValueId o) { return o == ValueId(); }),
                "operands fill the first places");
        require(count >= form->least_operands && count <= form->most_operands,
                "an instruction has its opcode's operands");
        for (int o = 0; o < count; ++o)
            use(sweep, i.operands[static_cast<std::size_t>(o)], value_, "operands come before their users");
        verify_names(*form, sweep, i);
        verify_types(sweep, i, count);
        verify_domain(*form, sweep, i, count);
    }

    void verify_domain(const OpcodeForm& form, const Sweep& sweep, const Instruction& i, int count) const {
        DimSet domain;
        int phase = 0;
        switch (form.varies) {
        case VariesAs::nothing: break;
        case VariesAs::array: domain = dim_set(sweep, plan_.arrays[i.array].dims); break;
        case VariesAs::dim: domain = dim_set(sweep, {&i.dim, 1}); break;
        case VariesAs::operands:
            for (int o = 0; o < count; ++o) {
                const Instruction& operand = sweep.code[i.operands[static_cast<std::size_t>(o)]];
                domain |= operand.domain;
                phase = std::max(phase, operand.phase);
            }
            break;
        case VariesAs::fold: {
            const Fold& fold = sweep.folds[i.fold];
            domain = fold.kept;
            phase = fold.phase + 1;
            break;
        }
        }
        require(i.domain == domain, "an instruction has the domain of its opcode");
        require(i.phase == phase, "an instruction has the phase of its opcode");
        if (i.domain.empty() || i.phase == 0 || phases_ == Phases::several) return;
        require(i.domain == kept_dims(sweep),
                "a value that varies along dims that its sweep folds waits for no fold of its sweep");
    }

    void verify_names(const OpcodeForm& form, const Sweep& sweep, const Instruction& i) {
        require(i.steps.empty() || i.opcode == Opcode::load, "only a load has steps");
        require(i.parameter.valid() == (form.names == Names::parameter) &&
                    i.scalar.valid() == (form.names == Names::scalar) &&
                    i.array.valid() == (form.names == Names::array) && i.dim.valid() == (form.names == Names::dim) &&
                    i.fold.valid() == (form.names == Names::fold),
                "an instruction names what its opcode takes");
        switch (form.names) {
        case Names::nothing: return;
        case Names::parameter:
            require(plan_.parameters.holds(i.parameter), "a parameter is declared");
            return require(i.type == value_type(plan_.parameters[i.parameter].type),
                           "a parameter has its declared type");
        case Names::scalar: return verify_scalar(i);
        case Names::array: return verify_load(sweep, i);
        case Names::dim:
            return require(i.type == DType::i64 && std::count(sweep.dims.begin(), sweep.dims.end(), i.dim) == 1,
                           "an index is i64 along a dim of the domain");
        case Names::fold: return require(sweep.folds.holds(i.fold), "what is finalised is folded");
        }
    }

    void verify_scalar(const Instruction& i) {
        require(plan_.scalars.holds(i.scalar), "a scalar is declared");
        const SweepId maker = yielded_in_[i.scalar];
        require(maker.valid() && maker < sweep_, "a scalar is yielded by an earlier sweep");
        fetched_from_.insert(maker);
        const Scalar& scalar = plan_.scalars[i.scalar];
        if (i.opcode == Opcode::is_empty)
            require(i.type == DType::boolean && scalar.may_be_empty, "is_empty is bool, of a scalar that may be empty");
        else
            require(i.type == value_type(scalar.type), "a scalar has its declared type");
    }

    void verify_load(const Sweep& sweep, const Instruction& i) {
        require(plan_.arrays.holds(i.array), "an array is declared");
        const Array& array = plan_.arrays[i.array];
        for (ValueId earlier(0); earlier < value_; earlier = earlier.next())
            require(sweep.code[earlier].opcode != Opcode::load || sweep.code[earlier].array != i.array ||
                        sweep.code[earlier].steps != i.steps,
                    "an array is loaded once, or once for each of its shifts");
        touched_.insert(i.array);
        for (const Step& step : i.steps)
            require(std::ranges::find(array.dims, step.dim) != array.dims.end() && step.offset != 0 &&
                        std::abs(step.offset) <= max_shift,
                    "a load's steps are along its array's dims");
        if (array.role != ArrayRole::input) {
            const SweepId maker = stored_in_[i.array];
            require(maker.valid() && maker < sweep_, "a loaded array is stored by an earlier sweep");
            fetched_from_.insert(maker);
        }
        for (const DimId dim : array.dims)
            require(std::count(sweep.dims.begin(), sweep.dims.end(), dim) == 1, "an array's dims are of the domain");
        require(i.type == value_type(array.type), "a load has its array's type");
    }

    void verify_types(const Sweep& sweep, const Instruction& i, int count) const {
        const auto type_of = [&](int o) { return sweep.code[i.operands[static_cast<std::size_t>(o)]].type; };
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
        case Opcode::payload: return require(i.type == DType::u64, "a payload is u64");
        case Opcode::finalize: {
            const Fold& fold = sweep.folds[i.fold];
            return require(i.reduce != nullptr && i.reduce->monoid == fold.monoid && i.element == fold.element &&
                               i.accumulator == fold.accumulator,
                           "a reduction is read off a fold of its monoid");
        }
        }
    }

    void verify_fold(const Sweep& sweep, const Fold& fold) {
        require(fold.monoid != nullptr, "a fold names its monoid");
        require(fold.value.valid(), "a fold takes a value");
        require(std::ranges::count_if(fold.others, &ValueId::valid) + 1 == fold.monoid->operands,
                "a fold takes its monoid's operands");
        int phase = 0;
        for (const ValueId v : fold.reads())
            phase = std::max(phase, use(sweep, v, sweep.code.next(), "what a fold reads is a value").phase);
        require(fold.element == sweep.code[fold.value].type, "a fold's element type is its value's");
        for (const ValueId other : fold.others)
            require(!other.valid() || sweep.code[other].type ==
                                          (fold.monoid->rule == OperandRule::payload ? DType::u64 : fold.element),
                    "a fold's other operands have its element type, or are a payload");
        require(!is_half(fold.accumulator), "f16 and bf16 accumulate in f32 or wider");
        require(std::count(sweep.folds.begin(), sweep.folds.end(), fold) == 1, "folds differ");
        require(!fold.mask.valid() || sweep.code[fold.mask].type == DType::boolean, "a mask is bool");
        require(fold.phase == phase, "a fold has the phase of what it folds");
        require(fold.phase == 0 || phases_ == Phases::several, "a sweep has one phase of folds");
        require(fold.kept == kept_dims(sweep), "the folds of a sweep keep the same dims");
        require(fold.kept.empty() || !(fold.kept == DimSet::first(sweep.dims.size())), "a fold folds some dim");
        for (std::size_t d = sweep.dims.size(); d < sizeof(unsigned) * 8; ++d)
            require(!fold.kept.contains(d), "a fold keeps dims of the domain");
    }

    void verify_store(const Sweep& sweep, const Store& store) {
        require(plan_.arrays.holds(store.array), "an array is declared");
        const Array& array = plan_.arrays[store.array];
        const Instruction& value = use(sweep, store.value, sweep.code.next(), "a store takes a value");
        require(array.role != ArrayRole::input, "inputs are not stored");
        require(touched_.insert(store.array).second && !stored_in_[store.array].valid(),
                "an array is stored once, and not loaded beside");
        stored_in_[store.array] = sweep_;
        const bool of_results = is_per_result(sweep, value);
        require(of_results || (!sweep.dims.empty() && (value.phase == 0 || phases_ == Phases::several) &&
                               value.domain == DimSet::first(sweep.dims.size())),
                "a store covers the domain, or the results of folds");
        std::vector<DimId> dims = array.dims; // an output's, in any order
        std::sort(dims.begin(), dims.end());
        require(dims == dims_of(sweep, value.domain), "a store's array has the dims of its value");
        require(value.type == value_type(array.type), "a store has its array's type");
    }

    void verify_yield(const Sweep& sweep, const Yield& yield) {
        require(plan_.scalars.holds(yield.scalar), "a scalar is declared");
        const Scalar& scalar = plan_.scalars[yield.scalar];
        const auto use_scalar = [&](ValueId value) {
            const Instruction& i = use(sweep, value, sweep.code.next(), "a yield takes a value");
            require(i.domain.empty(), "a yield takes a value that varies along no dim");
            return i.type;
        };
        require(use_scalar(yield.value) == value_type(scalar.type), "a yield has its scalar's type");
        require(!yielded_in_[yield.scalar].valid(), "a scalar is yielded once");
        yielded_in_[yield.scalar] = sweep_;
        require(yield.empty.valid() == scalar.may_be_empty, "a scalar that may be empty is yielded with whether it is");
        if (yield.empty.valid())
            require(use_scalar(yield.empty) == DType::boolean, "whether a scalar is empty is bool");
    }

    void verify_outputs() const {
        std::set<std::string> names;
        for (const Output& output : plan_.outputs) {
            require(names.insert(output.name).second, "results have names of their own");
            require(output.scalar.valid() != output.array.valid(), "a result is a scalar or an array");
            if (output.scalar.valid()) require(plan_.scalars.holds(output.scalar), "a scalar is declared");
            if (!output.array.valid()) continue;
            require(plan_.arrays.holds(output.array), "an array is declared");
            const Array& array = plan_.arrays[output.array];
            require(array.role == ArrayRole::output, "a result is an output");
            if (!output.validity.valid()) continue;
            require(plan_.arrays.holds(output.validity), "an array is declared");
            const Array& validity = plan_.arrays[output.validity];
            require(validity.role == ArrayRole::output && validity.type == DType::boolean &&
                        validity.dims == array.dims,
                    "which elements are there is bool, of the result's dims");
        }
    }

    const Plan& plan_;
    const Phases phases_;
    Table<ArrayId, SweepId> stored_in_;
    Table<ScalarId, SweepId> yielded_in_;
    SweepId sweep_; ///< being verified
    ValueId value_; ///< of it
    Table<ValueId, bool> used_;
    std::set<ArrayId> touched_; ///< loaded or stored
    std::set<SweepId> fetched_from_;
};

} // namespace

void verify(const Plan& plan, Phases phases) { PlanVerifier(plan, phases).verify(); }

} // namespace gf::plan
