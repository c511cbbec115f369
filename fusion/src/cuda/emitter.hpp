// The Emitter writes a sweep's kernel: struct Sweep, which the device text of its course runs (contract:
// device/kernel.cuh), and the entry point.
#pragma once

#include <string>

#include "cuda/emit_cuda.hpp"
#include "cuda/sweep_code.hpp"
#include "cuda/writer.hpp"

namespace gf::cuda {

/// Writes one sweep. Functions that return void append to the text.
class Emitter {
public:
    Emitter(const Plan& plan, SweepId id, const Schedule& schedule, Writer::Notes notes);

    /// The kernel without its source.
    Kernel kernel();
    /// The text that differs between kernels: maps, struct Sweep and the entry point.
    std::string sweep();
    /// The built-in monoids that the sweep uses.
    std::string monoids() const;

private:
    /// A comment: the sweep's number, domain and reason.
    void title();
    /// The maps, finalisers and users' monoids that the sweep uses, each once.
    void definitions();
    void structure();
    /// The constants that differ from SweepBase's.
    void constants();
    /// The kernel's parameters, in order, and the values computed once before the elements.
    void members();
    /// Loads, Windows and Stored, and the functions that visit their arrays.
    void arrays();
    void folds();
    /// prologue() and read_scalars(): the values that each thread computes once before the elements.
    void prologue();
    void gather();
    /// scatter(): writes the elements of arrays that are not in the domain's order.
    void scatter();
    /// read_across() and write_across() of the course of tiles.
    void across();
    /// begin(): the coordinates of a row.
    void begin();
    /// One element: its values, folds and stores.
    void element();
    void finish();
    /// finish() of a kernel whose folds keep dims: computes and stores one result.
    void finish_result();
    void entry();

    /// The definition of value v, or its assignment if it is a member.
    void value(ValueId v, bool is_member);

    /// True for an array that the course of tiles reads, or writes, across the domain's rows.
    bool is_read_across(ArrayId a) const;
    bool is_written_across(ArrayId a) const;
    /// True if the kernel prefetches its first slabs before the previous kernel ends. Not for many problems, whose
    /// records must be waited for first; nor for sweeps that only map, whose many blocks do not all wait at once.
    bool prefetches() const;
    /// True if any value is finalised from a State.
    bool reads_states() const;

    const Plan& plan_;
    const Sweep& sweep_;
    SweepId id_;
    Schedule schedule_;
    SweepCode code_;
    bool by_coordinates_, gathers_, scatters_, reads_in_order_, shifts_;
    std::size_t dims_of_row_; ///< leading dims that are the same for a whole row, in the course of rows
    Kernel kernel_;
    Writer out_;
};

} // namespace gf::cuda
