// The plan in words.
#include "front/explain.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include <gridfold/core/device_text.hpp>
#include <gridfold/fusion/order.hpp>

#include "plan/format_id.hpp"
#include "plan/join_phases.hpp"

namespace gf::detail {
namespace {

using Line = std::back_insert_iterator<std::string>;

std::string dims_text(const Plan& plan, const std::vector<DimId>& dims) {
    std::string text;
    for (const DimId dim : dims) text += (text.empty() ? "" : ", ") + plan.dims[dim].name;
    return "[" + text + "]";
}

/// Bytes as a sum of products of extents: "8*n + 4*j".
std::string bytes_text(const Plan& plan, const std::vector<ArrayId>& arrays) {
    std::vector<std::pair<std::vector<DimId>, std::size_t>> terms; // dims, and bytes of one element
    for (const ArrayId id : arrays) {
        const Array& array = plan.arrays[id];
        std::vector<DimId> dims = array.dims;
        std::sort(dims.begin(), dims.end());
        const auto same =
            std::find_if(terms.begin(), terms.end(), [&](const auto& term) { return term.first == dims; });
        if (same == terms.end())
            terms.emplace_back(std::move(dims), size_of(array.type));
        else
            same->second += size_of(array.type);
    }
    std::string text;
    for (const auto& [dims, bytes] : terms) {
        text += fmt::format("{}{}", text.empty() ? "" : " + ", bytes);
        for (const DimId dim : dims) text += "*" + plan.dims[dim].name;
    }
    return text.empty() ? "0" : text;
}

std::string arrays_text(const Plan& plan, const std::vector<ArrayId>& arrays) {
    std::string text;
    for (const ArrayId id : arrays) {
        const Array& array = plan.arrays[id];
        text += fmt::format("{}{} ({}{}{})", text.empty() ? "" : ", ", array.name, to_text(array.type),
                            dims_text(plan, array.dims), array.role == ArrayRole::temporary ? ", temporary" : "");
    }
    return text.empty() ? "nothing" : text;
}

std::vector<ArrayId> arrays_read(const Sweep& sweep) {
    std::vector<ArrayId> arrays;
    for (const Instruction& instruction : sweep.code)
        if (instruction.opcode == Opcode::load && std::count(arrays.begin(), arrays.end(), instruction.array) == 0)
            arrays.push_back(instruction.array);
    return arrays;
}

std::vector<ArrayId> arrays_written(const Sweep& sweep) {
    std::vector<ArrayId> arrays;
    for (const Store& store : sweep.stores) arrays.push_back(store.array);
    return arrays;
}

/// The names of the scalar results that a sweep yields.
std::string results_text(const Plan& plan, const Sweep& sweep) {
    std::string text;
    for (const Output& output : plan.outputs)
        for (const Yield& yield : sweep.yields)
            if (yield.scalar == output.scalar) text += (text.empty() ? "" : ", ") + output.name;
    return text;
}

std::string folds_text(const Sweep& sweep) {
    std::string text;
    for (const Fold& fold : sweep.folds)
        text += fmt::format("{}{}<{}, {}>{}", text.empty() ? "" : ", ", fold.monoid->name, to_text(fold.element),
                            to_text(fold.accumulator), fold.mask.valid() ? " where masked" : "");
    return text;
}

/// The order of folds that keep dims: its numbers where every extent is fixed, else its rule.
std::string order_text(const Plan& plan, const Sweep& sweep) {
    std::vector<std::int64_t> extents(plan.dims.size());
    bool all_fixed = true;
    for (const DimId dim : sweep.dims) {
        all_fixed = all_fixed && plan.dims[dim].extent.has_value();
        extents[dim.index()] = plan.dims[dim].extent.value_or(0);
    }
    if (!all_fixed) {
        if (folds_rows(sweep)) return "each result has the order that its elements have alone";
        return fmt::format("slabs are boxes of at most {} elements; the kept extents inside folded dims are part of it",
                           slab_elements);
    }
    if (const auto elements = element_count(sweep.dims, extents); !elements || *elements > max_domain_elements)
        return "its extents are too large: one sweep visits at most 2^48 elements";
    const FoldOrder order = fold_order(sweep, extents);
    const auto counted = [](std::int64_t n, std::string_view word) {
        return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
    };
    return fmt::format("{}, each of {} and {}; a slab has {} of {}", counted(order.parts, "part"),
                       counted(order.slabs, "slab"), counted(order.blocks, "block"),
                       counted(order.slab_results, "result"), counted(order.lanes, "lane"));
}

void explain_kernel(Line out, const SweepFacts& facts) {
    if (!facts.loop.empty()) fmt::format_to(out, "  loop:    {}\n", facts.loop);
    if (facts.source.empty()) return;
    fmt::format_to(out, "  kernel:  ");
    if (facts.threads >= 0) fmt::format_to(out, "{} threads a block, ", facts.threads);
    if (facts.registers >= 0) fmt::format_to(out, "{} registers a thread, ", facts.registers);
    if (facts.spill_bytes == 0) fmt::format_to(out, "no spills, ");
    if (facts.spill_bytes > 0) fmt::format_to(out, "{} bytes spilled, ", facts.spill_bytes);
    fmt::format_to(out, "{}\n", facts.cached ? "from the cache" : "compiled now");
}

void explain_sweep(Line out, const Plan& plan, std::size_t number, const SweepFacts* facts) {
    const Sweep& sweep = plan.sweeps[number];
    const auto read = arrays_read(sweep), written = arrays_written(sweep);
    fmt::format_to(out, "sweep {}: domain {}, stage {}\n", number, dims_text(plan, sweep.dims), sweep.stage);
    fmt::format_to(out, "  reads:   {}: {} bytes\n", arrays_text(plan, read), bytes_text(plan, read));
    fmt::format_to(out, "  writes:  {}: {} bytes\n", arrays_text(plan, written), bytes_text(plan, written));
    if (!sweep.folds.empty()) fmt::format_to(out, "  folds:   {}\n", folds_text(sweep));
    if (const std::string results = results_text(plan, sweep); !results.empty())
        fmt::format_to(out, "  results: {}\n", results);
    if (sweep.reason.empty())
        fmt::format_to(out, "  why:     its domain is traversed once for all of this\n");
    else
        fmt::format_to(out, "  why:     a sweep of its own: {}\n", sweep.reason);
    if (!kept_dims(sweep).empty())
        fmt::format_to(out, "  keeps:   {}\n", dims_text(plan, dims_of(sweep, kept_dims(sweep))));
    if (sweep.folds.empty())
        fmt::format_to(out, "  grid:    one block per slab; per few slabs in a long map that computes functions\n");
    else if (!kept_dims(sweep).empty())
        fmt::format_to(out, "  order:   version {}: {}\n", order_version, order_text(plan, sweep));
    else
        fmt::format_to(out,
                       "  order:   version {}: {} lanes a block; 1 block up to {} elements, {} at 2^20, {} at 2^28\n",
                       order_version, slab_elements, one_block_slabs * slab_elements, fold_order(1 << 20).blocks,
                       fold_order(1 << 28).blocks);
    const auto is_function = [](const plan::Instruction& i) {
        return i.opcode == plan::Opcode::map && calls_functions(i.map->expression);
    };
    if (std::ranges::any_of(sweep.code, is_function))
        fmt::format_to(out, "  functions: version {}\n", function_version);
    if (facts) explain_kernel(out, *facts);
}

} // namespace

std::string explain(const Plan& plan, std::string_view device, std::string_view why,
                    std::span<const SweepFacts> facts) {
    std::string text;
    const Line out(text);
    std::vector<ArrayId> inputs, outputs;
    for (const ArrayId i : plan.arrays.ids()) {
        if (plan.arrays[i].role == ArrayRole::input) inputs.push_back(i);
        if (plan.arrays[i].role == ArrayRole::output) outputs.push_back(i);
    }
    fmt::format_to(out, "graph {}: {} result{} in {} sweep{}; its arrays hold {} bytes in, {} bytes out\n", plan.name,
                   plan.outputs.size(), plan.outputs.size() == 1 ? "" : "s", plan.sweeps.size(),
                   plan.sweeps.size() == 1 ? "" : "s", bytes_text(plan, inputs), bytes_text(plan, outputs));
    fmt::format_to(out, "device {}: {}\n", device, why);
    for (std::size_t i = 0; i < plan.sweeps.size(); ++i)
        explain_sweep(out, plan, i, i < facts.size() ? &facts[i] : nullptr);
    const bool on_gpu = !facts.empty() && !facts[0].source.empty();
    for (const plan::Chain& chain :
         facts.empty() ? std::vector<plan::Chain>{}
                       : plan::find_chains(plan, on_gpu ? plan::Folded::rows_or_all : plan::Folded::rows)) {
        const std::string rows = dims_text(plan, plan.sweeps[chain[0]].dims);
        fmt::format_to(out, "sweeps {}: ", fmt::join(chain, ", "));
        if (on_gpu && kept_dims(plan.sweeps[chain[0]]).empty())
            fmt::format_to(out, "one kernel runs them where the device holds {} and that takes less time\n", rows);
        else if (on_gpu)
            fmt::format_to(out,
                           "one kernel runs them where a thread block, or several, can hold a row of {}, and reads it "
                           "once\n",
                           rows);
        else
            fmt::format_to(
                out,
                "a thread runs them over as many rows of {} at a time as its cache holds, if it has several rows\n",
                rows);
    }
    return text;
}

} // namespace gf::detail
