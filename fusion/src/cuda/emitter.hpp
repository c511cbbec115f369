// The Emitter writes a sweep's kernel: struct Sweep, which the device text of its course runs (contract:
// device/kernel.cuh), and the entry point.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cuda/emit_cuda.hpp"
#include "cuda/phase_values.hpp"
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
    /// Loads and Windows, and the function that visits their arrays.
    void arrays();
    /// Stored, and the function that visits its arrays.
    void stored(const std::vector<Store>& stores);
    void results();
    /// A function that calls visit(of.member...) for each of these members.
    void visitor(std::string_view function, const std::vector<std::string>& members);
    /// Of one phase.
    void folds(int phase = 0);
    /// prologue() and read_scalars(): the values that each thread computes once before the elements.
    void prologue();
    /// gather(): reads the elements of these loads that are not in order, and coordinates.
    void gather(const std::vector<const Instruction*>& loads);
    /// scatter(): writes the elements of arrays that are not in the domain's order.
    void scatter();
    /// read_across() and write_across() of the course of tiles.
    void across();
    /// begin(): the coordinates of a row.
    void begin();
    std::vector<ArrayId> moving_gathers() const;
    std::string gathered_from(ArrayId a) const;
    /// One element: its values, folds and stores.
    void element();
    /// Folds and stores an element's values, of one phase.
    void take(int phase, const std::vector<Store>& stores);
    void finish();
    /// finish() of a kernel whose folds keep dims: computes and stores one result.
    void finish_result();
    void store_results(const std::vector<Store>& stores);
    void yield_scalars(const std::vector<Yield>& yields);
    void entry();

    // Of held rows (emit_phases.cpp): a struct for each phase, derived from Sweep.
    /// Kept and Held: the values of results and of elements that later phases read.
    void kept_and_held();
    bool stores_words(int phase, const std::vector<Store>& stores) const;
    void phase(int number);
    /// A function that calls visit(of.member, word) for each of these values, with its first word of a pack.
    void held_visitor(std::string_view function, const HeldLayout& layout, const std::vector<ValueId>& values);
    /// element() and finish() of a phase. They compute again what earlier phases computed of an element, unless held.
    void element_of(int phase);
    void finish_of(int phase);

    /// The definition of value v, or its assignment if it is a member.
    void value(ValueId v, bool is_member);
    /// The values, of these of an element, that called() of device/lanes.cuh computes. None depends on another.
    Table<ValueId, bool> called_values(const Table<ValueId, bool>& of_element) const;
    bool calls(const Table<ValueId, bool>& of_element) const;
    /// The definition of a value of an element.
    void value_of_element(ValueId v, const Table<ValueId, bool>& called);

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
