// A sweep's kernel being written: struct Sweep, which device/flat.cuh runs (device/kernel.cuh says what it holds), and
// the entry point. A function that writes nothing returns something.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cuda/emit_cuda.hpp"
#include "cuda/sweep_code.hpp"
#include "cuda/writer.hpp"

namespace gf::cuda {

/// One sweep being written.
class Emitter {
public:
    Emitter(const Plan& plan, int number, Problems problems, Writer::Notes notes);

    /// The kernel, but for its source.
    Kernel kernel();
    /// The maps, struct Sweep and the entry point: what differs between kernels.
    std::string sweep();
    /// The device text that the sweep stands on, its monoids included.
    std::string library() const;

private:
    /// What the sweep computes, in words.
    void title();
    /// The maps, finalisers and users' monoids that it uses, each once.
    void definitions();
    void structure();
    /// The constants that differ from SweepBase's.
    void constants();
    /// The kernel's parameters, in order, and what is computed from them once.
    void members();
    void member(std::string_view type, const std::string& name, KernelParameter parameter,
                const std::string& note = {});
    /// What is read in order, and the rest of Loads; what is stored.
    void arrays();
    void folds();
    /// Everything that is the same for all elements: computed by each thread once.
    void prologue();
    void gather();
    /// One element: its values, folds and stores.
    void element();
    void finish();
    void entry();

    /// The definition of value v, or its assignment where it is a member.
    void value(int v, bool is_member);

    /// Whether elements may be dealt to lanes in any way. Those of an array that is not aligned are then taken from its
    /// first whole pack on.
    bool shifts() const;
    /// Whether the kernel prefetches its first slabs before the kernel before it ends. Not for many problems, whose
    /// records must be waited for first; nor where a sweep only maps: its many blocks do not wait together.
    bool prefetches() const;
    bool reads_in_order() const;
    /// Whether any value is finalised from a State.
    bool reads_states() const;

    const Plan& plan_;
    const Sweep& sweep_;
    int number_;
    Problems problems_;
    Shape shape_;
    SweepCode code_;
    bool by_coordinates_;
    Kernel kernel_;
    Writer out_;

    struct Member {
        std::string type, name;
    };
    std::vector<Member> members_; ///< the kernel's parameters
};

} // namespace gf::cuda
