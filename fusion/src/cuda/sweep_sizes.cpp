// See sweep_sizes.hpp.
#include "cuda/sweep_sizes.hpp"

#include <algorithm>
#include <vector>

#include <gridfold/core/device_text.hpp>

#include "cuda/phase_values.hpp"
#include "plan/join_phases.hpp"

namespace gf::cuda {

// As in sweep_sizes.hpp.
namespace tuned {
constexpr int long_state_words = 8;    ///< of a fold in any order, such as a list: folding an element is long code
constexpr int computed_parameters = 4; ///< 64-bit values computed from parameters; an estimate
} // namespace tuned

int widest_element(const Plan& plan, const Sweep& sweep) {
    std::size_t widest = 1;
    for (const Instruction& i : sweep.code)
        if (i.opcode == Opcode::load) widest = std::max(widest, size_of(plan.arrays[i.array].type));
    for (const Store& s : element_stores(sweep)) widest = std::max(widest, size_of(plan.arrays[s.array].type));
    return int(widest);
}

int narrowest_load(const Plan& plan, const Sweep& sweep) {
    std::size_t narrowest = 4;
    for (const Instruction& i : sweep.code)
        if (i.opcode == Opcode::load) narrowest = std::min(narrowest, size_of(plan.arrays[i.array].type));
    return int(narrowest);
}

bool touches_arrays(const Sweep& sweep) {
    return !element_stores(sweep).empty() ||
           std::ranges::any_of(sweep.code, [](const Instruction& i) { return i.opcode == Opcode::load; });
}

bool only_folds_in_order(const Plan& plan, const Sweep& sweep) {
    return !loaded_arrays(sweep).empty() && !by_coordinates(plan, sweep) && element_stores(sweep).empty() &&
           !folds_at_length(sweep);
}

bool is_elementary(const Instruction& i) {
    return i.opcode == Opcode::map && detail::calls_functions(i.map->expression);
}

bool calls_functions(const Sweep& sweep) { return std::ranges::any_of(sweep.code, is_elementary); }

int parameter_words(const Plan& plan, const Sweep& sweep, Course course) {
    return 2 * (tuned::computed_parameters + int(kernel_parameters(plan, sweep, course).size()));
}

StateWords words_of_states(const Sweep& sweep) {
    StateWords words;
    for (const Fold& f : sweep.folds) {
        const int of_fold = f.monoid->state_words(f.element, f.accumulator);
        words.all += of_fold;
        words.widest = std::max(words.widest, of_fold);
    }
    return words;
}

int state_words(const Sweep& sweep, int width) {
    int words = 0;
    for (const Fold& f : sweep.folds)
        words += f.monoid->traits(f.element, f.accumulator, f.mask.valid()).thread_words(width);
    return words;
}

int most_state_words(const Sweep& sweep, int width) {
    std::vector<int> words(static_cast<std::size_t>(phase_count(sweep)));
    for (const Fold& f : sweep.folds)
        words[static_cast<std::size_t>(f.phase)] +=
            f.monoid->traits(f.element, f.accumulator, f.mask.valid()).thread_words(width);
    return *std::ranges::max_element(words);
}

bool folds_at_length(const Sweep& sweep) {
    return std::ranges::any_of(sweep.folds, [](const Fold& f) {
        const FoldTraits traits = f.monoid->traits(f.element, f.accumulator, f.mask.valid());
        return traits.joins && traits.state_words > tuned::long_state_words;
    });
}

int words_in_flight(const Plan& plan, const Sweep& sweep, int width, bool wide) {
    int bytes = 0, words = 0;
    for (const Instruction& i : sweep.code) {
        if (i.opcode == Opcode::load) {
            const Array& array = plan.arrays[i.array];
            bytes += width * std::max(int(size_of(array.type)), wide ? 4 : 1);
            if (!is_in_order(i, plan, sweep)) words += 2 * width;
        } else if (i.opcode == Opcode::index && sweep.dims.size() > 1) {
            words += 2 * width;
        }
    }
    const auto is_called = [&](const Instruction& i) {
        if (!is_per_element(sweep, i) || i.opcode != Opcode::map || size_of(i.compute) < 8) return false;
        const bool divides = i.map == &map_op::divide || i.map == &map_op::floor_div || i.map == &map_op::remainder;
        return divides || is_elementary(i);
    };
    return std::max(words + (bytes + 3) / 4 + 4 * width * int(std::ranges::count_if(sweep.code, is_called)), 1);
}

int words_to_fold(const Sweep& sweep, int width) {
    int words = 0;
    for (const Fold& f : sweep.folds) {
        if (f.monoid->traits(f.element, f.accumulator, f.mask.valid()).joins) continue;
        if (f.mask.valid())
            words += width * f.monoid->state_words(f.element, f.accumulator);
        else if (f.accumulator == DType::f64)
            words += width * 2;
    }
    return words;
}

int loaded_bytes(const Plan& plan, const Sweep& sweep) {
    std::size_t bytes = 0;
    for (const Instruction& i : sweep.code)
        if (i.opcode == Opcode::load) bytes += size_of(plan.arrays[i.array].type);
    return int(bytes);
}

} // namespace gf::cuda
