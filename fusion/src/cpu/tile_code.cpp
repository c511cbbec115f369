#include "cpu/tile_code.hpp"

#include <limits>
#include <map>
#include <string>

#include <gridfold/core/error.hpp>

namespace gf::cpu {

namespace {

/// About 30 ms, which loading LLVM and compiling one loop take.
constexpr std::int64_t work_of_compiling = std::int64_t{1} << 32;

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

TileCode::TileCode(InstructionSet set, llvm::Use use)
    : set_(set), use_(use), left_(use == llvm::Use::always ? 0 : work_of_compiling) {}

TileFunction TileCode::for_run(std::int64_t work, const Plan& plan, const Sweep& sweep) {
    if (const TileFunction function = function_.load(std::memory_order_acquire)) return function;
    if (left_.fetch_sub(work, std::memory_order_relaxed) > work) return nullptr;
    const std::unique_lock lock(compiling_, std::try_to_lock);
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
    left_.store(std::numeric_limits<std::int64_t>::max(), std::memory_order_relaxed); // interpreted from now on
}

std::shared_ptr<TileCode> tile_code(const Plan& plan, const Sweep& sweep, const SweepProgram& program,
                                    InstructionSet set) {
    const llvm::Use use = llvm::chosen_use();
    if (use == llvm::Use::never || set == InstructionSet::baseline || program.calls() < 2 ||
        !has_tile_text(plan, sweep))
        return nullptr;
    return std::make_shared<TileCode>(set, use);
}

} // namespace gf::cpu
