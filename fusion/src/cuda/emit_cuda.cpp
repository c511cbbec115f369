// See emit_cuda.hpp and emitter.hpp. The kernel's course is device/sweep.cuh; the Emitter writes the particulars.
#include "cuda/emit_cuda.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include <gridfold/core/device/prelude.cuh>

#include <gridfold/core/device/slots.cuh>
#include <gridfold/core/device_text.hpp>
#include <gridfold/core/error.hpp>
#include <gridfold/fusion/order.hpp>
#include <gridfold/ops/device_text.hpp>

#include "cuda/emitter.hpp"
#include "cuda/spell.hpp"

namespace gf::cuda {

namespace {

bool reads_scalar(const Instruction& i) { return i.opcode == Opcode::read || i.opcode == Opcode::is_empty; }

} // namespace

Emitter::Emitter(const Plan& plan, int number, Problems problems)
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

Kernel Emitter::emit() {
    text();
    fragments();
    structure();
    entry();
    return std::move(kernel_);
}

void Emitter::text() {
    // Neither name nor number of the sweep: sweeps of one form are one kernel, and one cache entry (but for the
    // numbers of the scalars that they read and yield).
    line("// One grid-stride kernel, written by gridfold.");
    kernel_.source += detail::device_text();
}

void Emitter::fragments() {
    std::set<std::string> written;
    const auto once = [&](std::string fragment) {
        if (written.insert(fragment).second) line("{}", fragment);
    };
    for (const Fold& f : sweep_.folds)
        if (f.monoid->builtin >= 0) once(std::string(monoid_source(*f.monoid)));
    line("namespace GRIDFOLD_NAMESPACE {{\n");
    for (const Fold& f : sweep_.folds)
        if (f.monoid->builtin < 0) once(std::string(monoid_source(*f.monoid)));
    for (const Instruction& i : sweep_.code) {
        if (i.opcode == Opcode::map) once(spell_map(*i.map));
        if (i.opcode == Opcode::finalize) once(spell_finalize(*i.reduce));
    }
}

void Emitter::structure() {
    line("\nstruct Sweep {{");
    line("    static constexpr int threads = {}, width = {}, in_flight = {}, words = {};", shape_.threads, shape_.width,
         shape_.in_flight, kernel_.words);
    line("    static constexpr int windows_in_flight = {}, most_blocks = {}, collects = {};", shape_.windows_in_flight,
         max_blocks, shape_.collects);
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

void Emitter::member(std::string_view type, const std::string& name, KernelParameter parameter) {
    line("    {} {};", type, name);
    kernel_.parameters.push_back(parameter);
    members_.push_back({std::string(type), name});
}

void Emitter::members() {
    for (const int a : arrays_)
        member(fmt::format("const {}*", spell_stored(array(a).type)), pointer(a), {ParameterKind::array, a});
    for (const Store& s : sweep_.stores)
        member(fmt::format("{}*", spell_stored(array(s.array).type)), out_pointer(s), {ParameterKind::array, s.array});
    for (const int v : values_where(sweep_, is_once_before))
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
    const bool reads = std::ranges::any_of(sweep_.code, reads_scalar);
    if (kernel_.finishes || reads) member("Scalar*", "scalars", {ParameterKind::scalars});
    if (kernel_.finishes) {
        member("u64*", "workspace", {ParameterKind::workspace});
        member("u64*", "host", {ParameterKind::host});
    }
    line("    u32 block, blocks;");
    line("    bool aligned, stores_aligned;");
    if (by_coordinates_) line("    i64 extents[{}];", std::max<std::size_t>(sweep_.dims.size(), 1));
    for (const int v : values_where(sweep_, is_once_before)) line("    {} v{};", spell(code(v).type), v);
    line("");
}

void Emitter::prologue() {
    line("    GRIDFOLD_FN void prologue() {{");
    line("        aligned = {};", loads_alignment());
    line("        stores_aligned = {};", stores_alignment());
    if (by_coordinates_)
        for (std::size_t d = 0; d < sweep_.dims.size(); ++d) line("        extents[{0}] = extent_{0};", d);
    // From the first scalar on that an earlier sweep yielded, all waits for it.
    const std::vector<int> once = values_where(sweep_, is_once_before);
    const auto waits = std::ranges::find_if(once, [&](int v) { return reads_scalar(code(v)); });
    std::for_each(once.begin(), waits, [&](int v) { compute(v); });
    line("    }}");
    line("    GRIDFOLD_FN void read_scalars() {{");
    std::for_each(waits, once.end(), [&](int v) { compute(v); });
    line("    }}\n");
}

void Emitter::compute(int v) { line("        v{} = {};", v, expression(v)); }

void Emitter::entry() {
    std::string parameters, values;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        const Member& member = members_[i];
        parameters += fmt::format("{}{} {}", i ? ", " : "", member.type, member.name);
        values += problems_ == Problems::one ? member.name + ", "
                                             : fmt::format("from_bytes<{}>(own[{}]), ", member.type, i + 1);
    }
    if (problems_ == Problems::many) parameters = "const u64* records, const u32* problem_of_block";
    // Without a number of blocks, ptxas spills registers for the sake of more.
    line("extern \"C\" __global__ void __launch_bounds__({}, {}) gridfold_sweep({}) {{", shape_.threads,
         shape_.resident, parameters);
    if (problems_ == Problems::many) {
        line("    wait_for_previous_kernel();");
        line("    const u32 problem = problem_of_block == nullptr ? block_index() : problem_of_block[block_index()];");
        line("    const u64* const own = records + u64(problem) * {};", members_.size() + 1);
        line("    Sweep kernel{{{}block_index() - u32(own[0]), u32(own[0] >> 32)}};", values);
    } else {
        line("    Sweep kernel{{{}block_index(), grid_blocks()}};", values);
    }
    line("    sweep(kernel);");
    line("}}");
    line("\n}} // namespace GRIDFOLD_NAMESPACE");
}

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
    const std::int64_t blocks =
        kernel.words > 0 ? fold_order(elements).blocks : (elements + kernel.slab - 1) / kernel.slab;
    constexpr std::int64_t most = 0x7fffffff; // CUDA's; each block then takes more than one
    return std::clamp<std::int64_t>(blocks, 1, most);
}

void check_elements(const Kernel& kernel, std::int64_t elements, std::string_view whose) {
    const std::int64_t limit = std::int64_t{kernel.slab} << 31; // kernels count slabs in 32 bits
    if (elements < limit) return;
    throw InvalidBinding(
        fmt::format("{}a sweep over {} elements", whose, elements),
        fmt::format("on cuda its domain has fewer than 2^{}", std::countr_zero(static_cast<std::uint64_t>(limit))),
        "fold a part of it at a time, or run it on the cpu");
}

std::size_t workspace_bytes(const Kernel& kernel) {
    return sizeof(std::uint64_t) * std::size_t(device::Slots::count(kernel.words, int(max_blocks)));
}

} // namespace gf::cuda
