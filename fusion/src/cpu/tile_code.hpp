// A sweep's compiled loop (tile_text.hpp), once it is worth compiling.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "cpu/llvm.hpp"
#include "cpu/tile_text.hpp"

namespace gf::cpu {

/// Shared by all runs of a sweep. Its functions are thread-safe.
class TileCode {
public:
    TileCode(InstructionSet set, llvm::Use use);

    /// The sweep's function for a run; null while steps are interpreted. Once they have taken `time_of_compiling`, the
    /// next run compiles, so that no sweep takes more than twice as long as with the better way known before; with
    /// Use::always the first run.
    TileFunction for_run(const Plan& plan, const Sweep& sweep);
    /// Adds the time that the steps of a run have taken.
    void add(std::chrono::nanoseconds time) { interpreted_.fetch_add(time.count(), std::memory_order_relaxed); }
    bool is_compiled() const { return function_.load(std::memory_order_relaxed) != nullptr; }

    /// About what loading LLVM and compiling one loop take.
    static constexpr std::chrono::nanoseconds time_of_compiling = std::chrono::milliseconds(30);

    /// Of a whole block.
    std::size_t lanes_of_tree() const { return static_cast<std::size_t>(cpu::lanes_of_tree(set_)); }

private:
    void compile(const Plan& plan, const Sweep& sweep);

    InstructionSet set_;
    llvm::Use use_;
    std::atomic<std::int64_t> interpreted_ = 0; ///< nanoseconds
    std::atomic<bool> failed_ = false;          ///< LLVM is not there, or does not take the text
    std::atomic<TileFunction> function_ = nullptr;
    std::shared_ptr<const llvm::Code> code_;
    std::mutex compiling_;
};

/// Null if the sweep has no text, or steps are as fast.
std::shared_ptr<TileCode> tile_code(const Plan& plan, const Sweep& sweep, const SweepProgram& program,
                                    InstructionSet set);

/// How a sweep's tiles are computed, for explain().
std::string loop_text(const Plan& plan, const Sweep& sweep, const SweepProgram& program, InstructionSet set);

} // namespace gf::cpu
