// A sweep's kernel being written: its loads (emit_loads.cpp), its folds (emit_folds.cpp), and the rest
// (emit_cuda.cpp). A function that is named as a member of device/sweep.cuh's Kernel writes that, and what belongs to
// it; one that returns something writes nothing.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cuda/emit_cuda.hpp"
#include "cuda/sweep_code.hpp"

namespace gf::cuda {

/// One sweep being written.
class Emitter : SweepCode {
public:
    Emitter(const Plan& plan, int number, Problems problems);

    Kernel emit();

private:
    /// Appends a line to the source.
    template <class... Args> void line(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(kernel_.source), format, std::forward<Args>(args)...);
        kernel_.source += '\n';
    }

    // The whole: emit_cuda.cpp.
    /// The device text that is the same in every kernel.
    void text();
    /// The maps, monoids and finalisers that the sweep uses, each once.
    void fragments();
    /// struct Sweep, which is the Kernel.
    void structure();
    /// A parameter of the kernel, as a member.
    void member(std::string_view type, const std::string& name, KernelParameter parameter);
    /// The kernel's parameters, in order, and what is computed from them once.
    void members();
    /// Everything that is the same for all elements: computed by each thread once.
    void prologue();
    /// A value of the prologue, as a member.
    void compute(int v);
    /// The __global__ function.
    void entry();

    // What is read, and its alignment: emit_loads.cpp.
    void loads();
    void load();
    /// May elements be shared out among lanes in any way? Then those of an array that is not aligned are taken from its
    /// first whole pack on.
    bool shifts() const;
    void shift();
    /// Is what is read first asked for before the kernel waits? Not of many problems, whose table is awaited; nor where
    /// a sweep only maps: it has many blocks, which do not wait together.
    bool prefetches() const { return problems_ == Problems::one && kernel_.words > 0 && reads_in_order(); }
    /// Are arrays that are not aligned read in windows?
    bool realigns() const { return !shifts() && reads_in_order(); }
    /// Is any array flat?
    bool reads_in_order() const;
    void realign();
    /// Can all of these addresses be accessed by whole packs?
    std::string alignment(const std::vector<std::pair<std::string, DType>>& addresses) const;
    /// The same of all flat arrays that are read, and of all that are stored.
    std::string loads_alignment() const;
    std::string stores_alignment() const;

    // What is folded, and stored: emit_folds.cpp.
    void folds();
    void fold();
    /// One element into the state of its lane.
    void accumulate(std::size_t number);
    /// Is one state enough for all lanes of a thread? It sees their elements in increasing order, too.
    static FoldTraits traits(const Fold& fold) {
        return fold.monoid->traits(fold.element, fold.accumulator, fold.mask >= 0);
    }
    static bool joins(const Fold& fold) { return traits(fold).joins; }
    /// Does this fold take its elements in steps (monoid.cuh)?
    static bool in_steps(const Fold& fold) { return traits(fold).in_steps; }
    /// Does it take those of whole slabs pack by pack (monoid.cuh)?
    static bool packs(const Fold& fold) { return traits(fold).in_packs; }
    /// Is any fold in steps?
    bool ends() const;
    /// Do its lanes share something of their block's first element?
    static bool shares(const Fold& fold) { return traits(fold).of_block; }
    /// Does any fold share?
    bool shares() const;
    /// The monoid of a fold's lanes.
    static std::string lane_monoid(const Fold& fold);
    void clear();
    void share();
    void end();
    void close();
    void finish();

    struct Member {
        std::string type, name;
    };

    Problems problems_;
    Shape shape_;
    Kernel kernel_;
    std::vector<int> fold_words_; ///< by fold: its first word of all states'
    bool by_coordinates_ = false; ///< by_coordinates() of the sweep
    std::vector<Member> members_; ///< the kernel's parameters
};

} // namespace gf::cuda
