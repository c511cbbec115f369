#include "cpu/tile_code.hpp"

#include <map>
#include <string>

#include <fmt/format.h>

namespace gf::cpu {

namespace {

/// LLVM takes some 2 ms a step.
constexpr std::size_t most_steps = 64;

/// The code of a text, which all sweeps with that text share while one of them lives.
std::shared_ptr<const llvm::Code> code_of(const std::string& text) {
    static std::mutex mutex;
    static auto& codes = *new std::map<std::string, std::weak_ptr<const llvm::Code>>();
    const std::lock_guard lock(mutex);
    std::erase_if(codes, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<const llvm::Code>& known = codes[text];
    std::shared_ptr<const llvm::Code> code = known.lock();
    if (code == nullptr) {
        code = std::make_shared<const llvm::Code>(text, tile_function);
        known = code;
    }
    return code;
}

} // namespace

TileCode::TileCode(InstructionSet set, std::size_t steps) : set_(set), steps_(steps) {}

void TileCode::compile(const Plan& plan, const Sweep& sweep) {
    code_ = code_of(tile_text(plan, sweep, set_));
    function_.store(reinterpret_cast<TileFunction>(code_->address()), std::memory_order_release);
}

TileFunction TileCode::for_run(const Plan& plan, const Sweep& sweep) noexcept {
    if (const TileFunction function = function_.load(std::memory_order_acquire)) return function;
    const std::chrono::nanoseconds interpreted(interpreted_.load(std::memory_order_relaxed));
    if (interpreted < time_of_steps() || failed_.load(std::memory_order_relaxed)) return nullptr;
    const std::unique_lock lock(compiling_, std::try_to_lock); // others go on meanwhile
    if (!lock.owns_lock() || function_.load(std::memory_order_acquire) != nullptr) return function_.load();
    try {
        compile(plan, sweep);
    } catch (...) { // nothing is lost but time
        failed_.store(true, std::memory_order_relaxed);
    }
    return function_.load(std::memory_order_acquire);
}

std::shared_ptr<TileCode> tile_code(const Plan& plan, const Sweep& sweep, const SweepProgram& program,
                                    InstructionSet set) {
    if (set == InstructionSet::baseline) return nullptr;
    const llvm::Use use = llvm::chosen_use();
    if (use == llvm::Use::never || program.calls() < 2 || program.calls() > most_steps ||
        !obstacle_to_tile_text(plan, sweep, set).empty())
        return nullptr;
    auto code = std::make_shared<TileCode>(set, program.calls());
    if (use == llvm::Use::always) code->compile(plan, sweep);
    return code;
}

std::string loop_text(const Plan& plan, const Sweep& sweep, const SweepProgram& program, InstructionSet set) {
    if (program.code != nullptr && program.code->is_compiled()) return "compiled by LLVM";
    if (program.calls() < 2) return "one step";
    if (program.calls() > most_steps) return fmt::format("steps: more than {} take LLVM too long", most_steps);
    if (set == InstructionSet::baseline) return "steps: loops are compiled for AVX2 and AVX-512";
    if (const std::string obstacle = obstacle_to_tile_text(plan, sweep, set); !obstacle.empty())
        return "steps: " + obstacle;
    if (program.code == nullptr) return "steps: GRIDFOLD_LLVM=none forbids a compiled loop";
    if (program.code->has_failed()) {
        const std::string reason = llvm::unavailable_reason();
        return "steps: " + (reason.empty() ? "LLVM could not compile the loop" : reason);
    }
    return fmt::format("steps, and one loop {}once they have taken {} ms, if there is LLVM",
                       folds_rows(sweep) ? "of rows of more than 2,048 elements " : "",
                       program.code->time_of_steps().count());
}

} // namespace gf::cpu
