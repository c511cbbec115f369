#include "cpu/tile_code.hpp"

#include <map>
#include <string>

#include <gridfold/core/error.hpp>

namespace gf::cpu {

namespace {

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

TileCode::TileCode(InstructionSet set, llvm::Use use) : set_(set), use_(use) {}

TileFunction TileCode::for_run(const Plan& plan, const Sweep& sweep) {
    if (const TileFunction function = function_.load(std::memory_order_acquire)) return function;
    const bool is_worth =
        use_ == llvm::Use::always || interpreted_.load(std::memory_order_relaxed) >= time_of_compiling.count();
    if (!is_worth || failed_.load(std::memory_order_relaxed)) return nullptr;
    const std::unique_lock lock(compiling_, std::try_to_lock); // others go on meanwhile
    if (lock.owns_lock() && function_.load(std::memory_order_acquire) == nullptr) compile(plan, sweep);
    return function_.load(std::memory_order_acquire);
}

void TileCode::compile(const Plan& plan, const Sweep& sweep) {
    if (use_ == llvm::Use::always || llvm::unavailable_reason().empty()) {
        try {
            code_ = code_of(tile_text(plan, sweep, set_));
            function_.store(reinterpret_cast<TileFunction>(code_->address()), std::memory_order_release);
            return;
        } catch (const InternalError&) {
            if (use_ == llvm::Use::always) throw;
        }
    }
    failed_.store(true, std::memory_order_relaxed);
}

std::shared_ptr<TileCode> tile_code(const Plan& plan, const Sweep& sweep, const SweepProgram& program,
                                    InstructionSet set) {
    const llvm::Use use = llvm::chosen_use();
    if (use == llvm::Use::never || set == InstructionSet::baseline || program.calls() < 2 ||
        !obstacle_to_tile_text(plan, sweep).empty())
        return nullptr;
    return std::make_shared<TileCode>(set, use);
}

std::string loop_text(const Plan& plan, const Sweep& sweep, const SweepProgram& program, InstructionSet set) {
    if (program.code != nullptr && program.code->is_compiled()) return "compiled by LLVM";
    if (program.calls() < 2) return "one step";
    if (set == InstructionSet::baseline) return "steps: loops are compiled for AVX2 and AVX-512";
    if (const std::string obstacle = obstacle_to_tile_text(plan, sweep); !obstacle.empty()) return "steps: " + obstacle;
    if (llvm::chosen_use() == llvm::Use::never) return "steps: GRIDFOLD_LLVM=none forbids a compiled loop";
    return "steps, and one loop once they have taken 30 ms, if there is LLVM";
}

} // namespace gf::cpu
