// A sweep's compiled loop (tile_text.hpp), once it is worth compiling.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "cpu/llvm.hpp"
#include "cpu/tile_text.hpp"

namespace gf::cpu {

/// Shared by all runs of a sweep. Its functions are thread-safe.
class TileCode {
public:
    TileCode(InstructionSet set, llvm::Use use);

    /// The sweep's function for a run that takes so much work, in units of SweepProgram::work; null while steps are
    /// interpreted. The run with which they have taken about as long as compiling takes compiles, so that no sweep
    /// takes more than twice as long as with the better way known before. With Use::always the first run does.
    TileFunction for_run(std::int64_t work, const Plan& plan, const Sweep& sweep);

    /// Of a whole block.
    std::size_t lanes_of_tree() const { return static_cast<std::size_t>(cpu::lanes_of_tree(set_)); }

private:
    void compile(const Plan& plan, const Sweep& sweep);

    InstructionSet set_;
    llvm::Use use_;
    std::atomic<std::int64_t> left_; ///< the work to be interpreted
    std::atomic<TileFunction> function_ = nullptr;
    std::shared_ptr<const llvm::Code> code_;
    std::mutex compiling_;
};

/// Null if the sweep has no text, or steps are as fast.
std::shared_ptr<TileCode> tile_code(const Plan& plan, const Sweep& sweep, const SweepProgram& program,
                                    InstructionSet set);

} // namespace gf::cpu
