// Sizes of a sweep that schedules follow from: bytes of its elements, and an estimate of the registers that a thread
// takes, in 32-bit words.
#pragma once

#include <gridfold/fusion/order.hpp>
#include <gridfold/fusion/plan.hpp>

#include "cuda/parameters.hpp"

namespace gf::cuda {

// Tuning constants that several schedules share; the others are beside what they tune. Each has the measurement that
// set it: µs on an H200, before → after (details in bench/NOTES.md). None changes a bit.
namespace tuned {
inline constexpr int load_bytes = 16; ///< bytes of a load: f32 sums at 2^30 B reach 0.99 of the read ceiling
inline constexpr int most_width = 16; ///< a slab of i8 in 128 threads
inline constexpr int threads_of_functions = 2048; ///< resident threads of such maps: log 631 → 563, erf 848 → 726
inline constexpr int least_width = 4; ///< f64 in blocks of 512 threads, not 1,024: 2^10 B 1.62 → 1.49, 2^26 19.3 → 18.7
inline constexpr int narrow_words = 8; ///< most words of a narrow lane; wide lanes leave room for one resident block
inline constexpr int most_state_words = 128; ///< words of a thread's lanes: a thread has at most 255 registers
inline constexpr int most_of_long_folds =
    48;                                   ///< elements in flight: NVRTC 13.0 fails on 192 times 16 insertions (top_k)
inline constexpr int most_in_flight = 16; ///< i8 sums of 2^30 B with 128 threads and 16 slabs: 254 → 242
inline constexpr int threads_of_many = 1024; ///< resident threads wanted for many problems: f64 sums of 1,000 61 → 39
inline constexpr int bytes_of_boxes = 128;   ///< of a thread, in flight: five of columns 305 → 293, of 3 302 → 265
inline constexpr int words_of_resident_boxes = 16; ///< of a thread's states: with more, boxes of 64 registers spill
inline constexpr int slabs_of_short_boxes =
    int(least_slabs_of_box_block) - 1;   ///< of parts of one block: 64 × 64 f32 1,171 → 983
inline constexpr int own_registers = 16; ///< counters and addresses; an estimate: 15 → 3 of 300 random graphs spill
} // namespace tuned

// A multiprocessor's registers, and a thread's.
inline constexpr int registers_of_multiprocessor = 65536;
inline constexpr int registers_of_thread = 255;
/// Bytes of a multiprocessor's shared memory, without what it reserves for one thread block, and what that is.
inline constexpr int shared_bytes_of_multiprocessor = 232'448;
inline constexpr int reserved_bytes = 1024;
/// Words of a position of a box, and of a slab or pack in flight, besides states and elements.
inline constexpr int words_of_place = 3;

/// Bytes of the widest element of the arrays that are loaded and stored.
int widest_element(const Plan& plan, const Sweep& sweep);
/// … of the narrowest that is loaded, at most 4.
int narrowest_load(const Plan& plan, const Sweep& sweep);
/// True if it loads or stores elements.
bool touches_arrays(const Sweep& sweep);
/// True if the instruction computes an elementary function.
bool is_elementary(const Instruction& i);
/// True if the kernel computes elementary functions.
bool calls_functions(const Sweep& sweep);
/// Words of the parameters and of values computed from them, in kernels whose parameters are not in constant memory.
int parameter_words(const Plan& plan, const Sweep& sweep, Course course);
/// Words of one State of every fold, and of the widest.
struct StateWords {
    int all = 0, widest = 0;
};
StateWords words_of_states(const Sweep& sweep);
/// Words of a thread's states: `width` lanes for folds that are not exact in any order, else one.
int state_words(const Sweep& sweep, int width);
/// The same for the phase that has the most.
int most_state_words(const Sweep& sweep, int width);
/// True if folding one element is long code.
bool folds_at_length(const Sweep& sweep);
/// True if the sweep reads its arrays in order, and only folds, with short code.
bool only_folds_in_order(const Plan& plan, const Sweep& sweep);
/// Words of a slab in flight: its elements (unpacked if many folds use them), the addresses of gathered elements,
/// coordinates, and values that are live during the subroutines of 64-bit quotients and exponentials.
int words_in_flight(const Plan& plan, const Sweep& sweep, int width, bool wide);
/// Words that folding needs besides states and slabs, for folds that are not exact in any order: masked states before
/// and after, and elements as f64.
int words_to_fold(const Sweep& sweep, int width);
/// Bytes of one element of all arrays that the sweep loads.
int loaded_bytes(const Plan& plan, const Sweep& sweep);

} // namespace gf::cuda
