// A sweep's kernel being written: its loads (emit_loads.cpp), its folds (emit_folds.cpp), and the rest
// (emit_cuda.cpp). Each function writes one member of the Kernel that device/sweep.cuh describes, unless it says more.
#pragma once

#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "emit_cuda.hpp"
#include "sweep_code.hpp"

namespace gf::cuda {

/// One sweep being written.
class Emitter : SweepCode {
public:
    Emitter(const Plan& plan, int number, Problems problems);

    Kernel emit();

private:
    template <class... Args> void line(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(kernel_.source), format, std::forward<Args>(args)...);
        kernel_.source += '\n';
    }

    // The whole: emit_cuda.cpp.
    void text();
    /// The maps, monoids and finalisers that the sweep uses, each once.
    void fragments();
    void structure();
    void member(std::string_view type, const std::string& name, KernelParameter parameter);
    /// The kernel's parameters, in order, and what is computed from them once.
    void members();
    /// Everything that is the same for all elements: computed by each thread once.
    void prologue();
    /// A value of the prologue, as a member.
    void compute(int v);
    void entry();

    // What is read, and stored: emit_loads.cpp.
    void loads();
    void load();
    /// May elements be shared out among lanes in any way? Then those of an array that is not aligned are from its first
    /// pack on.
    bool shifts() const;
    void shift();
    /// Of many problems, the table is awaited first; and a sweep that only maps has many blocks, which do not wait
    /// together.
    bool prefetches() const { return problems_ == Problems::one && kernel_.words > 0 && reads_in_order(); }
    bool realigns() const { return !shifts() && reads_in_order(); }
    bool reads_in_order() const;
    void realign();
    /// Can all of these addresses be accessed by whole packs?
    std::string alignment(const std::vector<std::pair<std::string, DType>>& addresses) const;
    std::string loads_alignment() const;
    std::string stores_alignment() const;

    // What is folded: emit_folds.cpp.
    void folds();
    void fold();
    /// One element into the state of its lane.
    void accumulate(std::size_t number);
    /// Is one state enough for all lanes of a thread? It sees their elements in increasing order, too.
    static bool joins(const Fold& fold) { return fold.monoid->exact_in_any_order(fold.accumulator); }
    /// Does this fold take its elements in steps, or those of whole slabs pack by pack (monoid.cuh)?
    static bool in_steps(const Fold& fold) { return fold.mask < 0 && fold.monoid->in_steps; }
    static bool packs(const Fold& fold) {
        return fold.mask < 0 && fold.monoid->in_packs && joins(fold) && !in_steps(fold);
    }
    bool ends() const;
    /// Do its lanes share something of their block's first element?
    static bool shares(const Fold& fold) { return fold.mask < 0 && fold.monoid->of_block_words > 0; }
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
    std::vector<int> fold_words_;
    bool by_coordinates_ = false;
    std::vector<Member> members_;
};

} // namespace gf::cuda
