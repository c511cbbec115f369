// A sweep's schedule: how its kernel walks the domain (threads, width, slabs in flight). It tunes for a GPU and changes
// no bit. It follows from the plan, from the alignment and the strides of the bound arrays, for rows from their length
// and number, for columns from their lanes, slabs and thread blocks, and for many problems from the number of their
// blocks. One that suits aligned, contiguous arrays of any extents is chosen, and compiled, when the plan is built;
// what is bound may want another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include <gridfold/fusion/order.hpp>
#include <gridfold/fusion/plan.hpp>

#include "cuda/parameters.hpp"

namespace gf::cuda {

/// The number of problems that one launch of a kernel runs.
enum class Problems : std::uint8_t {
    one, ///< the kernel's parameters are the problem's
    /// The kernel has two parameters, pointers to device memory. The first points to a record for each problem: the
    /// number of its blocks, then the values of the parameters, 8 bytes each. The second points to a place for each
    /// block: its problem | its number in the problem << 32; if null, each problem has one block.
    many,
};

/// threads · width · lanes_each = slab_elements (order.hpp) in kernels that fold; but columns of few lanes have small
/// thread blocks.
struct Schedule {
    Problems problems = Problems::one;
    Course course = Course::flat;
    int threads = 0;
    int width = 0;             ///< elements of a thread in one slab
    int in_flight = 1;         ///< slabs loaded before the first is folded
    bool realigns = false;     ///< reads unaligned arrays in windows (device/loads.cuh), not one element at a time
    int windows_in_flight = 1; ///< the same as in_flight, for windows
    int resident = 1;          ///< minimum blocks on a multiprocessor, in __launch_bounds__
    bool rest_at_once = false; ///< what is left of a batch is loaded at once, each slab predicated; else in halves
    bool tail_early = false;   ///< the tail (a partial slab) is loaded together with the slabs in flight
    // Of rows by warps (device/warp_rows.cuh).
    bool one_turn = false;      ///< there are thread blocks for all rows at once; of all courses of whole rows
    int packs = 1;              ///< of a thread, of `width` elements
    int row_threads = 32;       ///< threads that fold a row
    int row_packs = 1;          ///< packs of a thread in one row
    bool by_elements = false;   ///< unaligned arrays are not read in windows: these would take longer
    bool several_slabs = false; ///< blocks of rows have several slabs
    int slabs = 1;              ///< most of a block
    bool gathers_packs = false; ///< arrays with the dims of a row's elements are read in packs
    bool whole_packs = false;   ///< all rows have one length, whole packs, in aligned arrays
    bool whole_slabs = false;   ///< … and whole slabs
    bool counts_slabs = false; ///< … of whole packs, and few slabs: a block has them unrolled, all whole but the last
    bool even_blocks = false;  ///< whole slabs, and each of their blocks has `slabs` of them
    bool several_blocks = false; ///< rows have several blocks
    // Of rows by threads (device/thread_rows.cuh), besides `packs`.
    int unit = 1;       ///< every row begins at a multiple of so many elements
    int tile_bytes = 0; ///< shared memory of a warp
    // Of rows by runs (device/run_rows.cuh), besides `packs`, `slabs` and `tile_bytes`.
    int most_blocks = 1; ///< most of a row; a power of 2
    // Of rows by runs and of held rows.
    int slab_warps = 1; ///< warps that share a slab
    int cluster = 1;    ///< thread blocks that share a row
    // Of columns (device/columns.cuh).
    int lanes_each = 1;     ///< lanes of a thread
    int apart = 1;          ///< from a column of a thread to its next
    bool staggered = false; ///< a thread's pack may begin before its strip
    bool few_slabs = false; ///< a block has at most `in_flight` slabs
    bool one_lane = false;  ///< each column has one lane of one block
    // Of held rows (device/held_rows.cuh), besides.
    bool cooperates = false;   ///< they are no cluster, and pass each other states through device memory
    bool stores_words = false; ///< rows that begin anywhere are stored from shared memory, in words
    int shared_bytes = 0;      ///< dynamic, of a thread block
    bool holds_values = false; ///< functions of elements are computed in one phase and held for later ones
    std::int64_t length = 0;   ///< of each row, if the kernel is for rows of that length alone
    int elements_ahead = 0;    ///< a thread block prefetches the rows of the one that begins so many elements later
    int taken = -1; ///< of held rows by threads (device/held_thread_rows.cuh), besides `packs`, `unit`, `tile_bytes`
    // Of all courses again.
    int collects = 1;     ///< most blocks whose states one thread collects
    int slabs_of_map = 1; ///< slabs of a block in a kernel that folds nothing
    // Of tiles (device/tiles.cuh).
    int side = 0;                    ///< elements of a tile's row, and rows
    int across = -1;                 ///< the position in Sweep::dims of the dim along which rows follow each other
    std::uint64_t across_arrays = 0; ///< those that are read across: bit n is number n of loaded_arrays()
    /// strided_arrays(): those bound with strides, which the kernel reads by coordinates. Unlike the rest, no choice: a
    /// kernel without an array's bit would read other elements.
    std::uint64_t strided = 0;

    /// The elements that a block processes at a time, but for rows by warps.
    std::int64_t slab() const { return std::int64_t{threads} * width; }
    /// The rows of a thread block, if each row has one block: of rows by warps, and of held rows.
    int rows_of_thread_block() const { return threads / row_threads / slab_warps * (packs / row_packs); }
    friend bool operator==(const Schedule&, const Schedule&) = default;
};
/// For aligned arrays; with the strides of a plan of with_strides(). `blocks`: the number of blocks of the launch; used
/// for many problems.
Schedule choose_schedule(const Plan& plan, const Sweep& sweep, Problems problems = Problems::one,
                         std::int64_t blocks = 0);
/// The schedule of boxes whose blocks fold at most `slabs` slabs.
Schedule for_boxes(std::int64_t slabs, const Plan& plan, const Sweep& sweep, Problems problems);
constexpr std::int64_t many_slabs = 1 << 20; ///< choose_schedule() assumes so many
/// The columns that a thread block folds (device/columns.cuh).
struct Strips {
    std::int64_t packs = 1;    ///< of a row in a strip
    std::int64_t count = 1;    ///< strips of a row
    std::int64_t together = 1; ///< blocks of the order that one thread block folds
    std::int64_t blocks = 1;   ///< thread blocks that fold a strip
    std::int64_t sharing = 1;  ///< strips that a thread block folds side by side

    /// Those that fold all strips of `batches` batches.
    std::int64_t thread_blocks(std::int64_t batches) const {
        return (batches * count + sharing - 1) / sharing * blocks;
    }
};
Strips strips_of(const Schedule& schedule, const FoldOrder& order);
/// The largest power of 2, at most 16, that divides n.
constexpr int alignment_of(std::uint64_t n) { return n == 0 ? 16 : int(std::min<std::uint64_t>(n & -n, 16)); }
/// What is known of the parts whose merged dims are one that is folded and, inside it, one that is kept.
struct ColumnFacts {
    int alignment = 16;            ///< of the rows of the arrays that are read in order, as in RowFacts
    int slab_alignment = 16;       ///< of the first rows of slabs
    int step_alignment = 16;       ///< of the rows of a lane, counted from its first
    std::int64_t least_lanes = 0;  ///< of a result, in all blocks: the fewest of a problem's
    std::int64_t most_lanes = 0;   ///< … and the most; 0: no problem has any
    std::int64_t most_of_slab = 0; ///< … in a slab
    std::int64_t fewest = 0;       ///< columns of a problem
    FoldOrder largest = {};        ///< of the problem with the most elements

    /// Adds a problem, whose arrays are aligned.
    void add(const FoldOrder& order);
    /// Lowers the alignments to an array's, in elements.
    void add_array(int alignment);
};
/// What is known of the rows of folds that keep the leading dims alone; of other parts only `slabs` and `columns`.
struct RowFacts {
    std::int64_t longest = 0;  ///< elements
    std::int64_t blocks = 0;   ///< of all rows
    int alignment = 1;         ///< rows begin at multiples of so many elements, or of 16 bytes; a power of 2
    std::int64_t shortest = 1; ///< elements
    std::int64_t slabs = 1;    ///< the most of a block
    int stored_alignment = 1;  ///< as `alignment`, of the rows that are stored
    /// Arrays of has_packs() have no strides, and begin at multiples of 16 bytes. So do their packs: the last extent is
    /// a multiple of 16, or such an array has no other dim, and neither have a row's elements.
    bool packs_aligned = false;
    ColumnFacts columns = {};
};
/// The schedule of such parts: of columns where rows are whole packs, or long and begin anywhere; else of boxes.
Schedule for_columns(const RowFacts& parts, const Plan& plan, const Sweep& sweep, Problems problems);
inline constexpr std::int64_t most_thread_blocks = 0x7fffffff; ///< of a launch: CUDA's limit

/// The tiles of a sweep that folds nothing: rows follow each other along `across`, a position in Sweep::dims.
struct TileFacts {
    int across = -1;                 ///< −1: no array runs across the rows
    std::uint64_t across_arrays = 0; ///< as in Schedule
};
/// What follows from the dims of the arrays that are bound without strides.
TileFacts tile_facts(const Plan& plan, const Sweep& sweep);
/// The schedule of such tiles; without `across`, of the flat course.
Schedule for_tiles(const Plan& plan, const Sweep& sweep, const TileFacts& tiles, Problems problems);
/// The thread blocks that may share a held row.
struct RowSharing {
    int cluster = 1;            ///< the most of a cluster
    int multiprocessors = 0;    ///< of a device on which a row's thread blocks may cooperate; 0: they may not
    int shared_bytes = 232'448; ///< … of a multiprocessor, without what it reserves for one thread block
    int warps = 64;             ///< … resident on a multiprocessor
    int bytes_ahead = 0;        ///< how far ahead thread blocks prefetch rows; 0: they do not
    friend bool operator==(const RowSharing&, const RowSharing&) = default;
};
/// The same for such rows: threads or warps fold them if they are short, or if they are many and have few blocks.
Schedule for_rows(const RowFacts& rows, const Plan& plan, const Sweep& sweep, const Schedule& schedule,
                  const RowSharing& sharing = {});
/// … or threads, if they are short and many: then the schedule, else nothing.
std::optional<Schedule> for_thread_rows(const RowFacts& rows, const Plan& plan, const Sweep& sweep, Problems problems,
                                        int most_shared);
/// The same of a joined sweep's rows, where 32 of them fit a tile, and threads access different banks.
std::optional<Schedule> for_held_thread_rows(const RowFacts& rows, const Plan& plan, const Sweep& sweep,
                                             Problems problems, int most_shared);
/// … or warps whose threads fold runs of lanes.
std::optional<Schedule> for_run_rows(const RowFacts& rows, const Plan& plan, const Sweep& sweep, Problems problems,
                                     const RowSharing& sharing);
/// The rows of a thread of rows by threads, of `elements` elements each. An element has `bytes` bytes in all of its
/// `arrays` arrays.
std::int64_t rows_of_thread(const Schedule& schedule, std::int64_t elements, int bytes, int arrays);
/// The schedule of a joined sweep (plan/join_phases.hpp), if a warp, a thread block, or the thread blocks that may
/// share a row can hold such rows; for whole arrays, if that takes less time than several sweeps.
std::optional<Schedule> for_held_rows(const RowFacts& rows, const Plan& plan, const Sweep& sweep, Problems problems,
                                      const RowSharing& sharing = {});
/// The schedule for unaligned arrays. Windows are a third of a kernel's text, so kernels that need none have none.
Schedule for_unaligned(const Plan& plan, const Sweep& sweep, Schedule schedule);
/// At most the bytes of static shared memory that a kernel of held rows has for the states of its warps.
int bytes_of_states(const Sweep& sweep, const Schedule& schedule);
/// The most bytes of a thread that a kernel may spill without being compiled for fewer resident blocks.
int spill_allowed(const Schedule& schedule);
/// The next schedule to try after a kernel of `registers` registers spilled `spilled_bytes` bytes a thread: with fewer
/// resident blocks, of which there must be more than one.
Schedule with_fewer_resident(const Schedule& schedule, int registers, int spilled_bytes);

} // namespace gf::cuda
