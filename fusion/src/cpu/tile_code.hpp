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
    /// `steps`: the calls of a tile's kernels.
    TileCode(InstructionSet set, std::size_t steps);

    /// Compiles now. Throws InternalError if LLVM does not.
    void compile(const Plan& plan, const Sweep& sweep);

    /// The sweep's function for a run; null while steps are interpreted. The run after they have taken time_of_steps()
    /// compiles; if that fails, steps stay interpreted. Allocates only then. Throws nothing.
    TileFunction for_run(const Plan& plan, const Sweep& sweep) noexcept;
    /// Adds the time that the steps of a run have taken.
    void add(std::chrono::nanoseconds time) { interpreted_.fetch_add(time.count(), std::memory_order_relaxed); }
    bool is_compiled() const { return function_.load(std::memory_order_relaxed) != nullptr; }
    bool has_failed() const { return failed_.load(std::memory_order_relaxed); }

    /// About what loading LLVM and compiling the loop take.
    std::chrono::milliseconds time_of_steps() const { return std::chrono::milliseconds(20 + 2 * steps_); }

    /// The lanes of a whole block that leave one.
    std::size_t lanes_of_tree() const { return static_cast<std::size_t>(words_of_register(set_)); }

private:
    InstructionSet set_;
    std::size_t steps_;
    std::atomic<std::int64_t> interpreted_ = 0; ///< nanoseconds
    std::atomic<bool> failed_ = false;          ///< steps stay interpreted
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
