// See schedule.hpp: the schedule of boxes.
#include <algorithm>
#include <bit>

#include <gridfold/core/device/prelude.cuh>

#include <gridfold/core/device/slots.cuh>

#include <gridfold/core/device/places.cuh>

#include <gridfold/fusion/order.hpp>

#include "cuda/schedule.hpp"
#include "cuda/sweep_sizes.hpp"

namespace gf::cuda {

// As in sweep_sizes.hpp.
namespace tuned {
constexpr int bytes_of_narrow_boxes = 64; ///< … where several blocks are resident: sums of f32 columns 254 → 249
constexpr int box_windows_in_flight = 4;  ///< five of 2,049 × 131,071 bf16 569 → 473 with 4, not 2
constexpr int words_of_narrow_boxes = 4;  ///< of a thread's states
} // namespace tuned

Schedule for_boxes(std::int64_t slabs, const Plan& plan, const Sweep& sweep, Problems problems) {
    const int words = words_of_states(sweep).all; // of a position
    const int widest = widest_element(plan, sweep);
    int width = std::clamp(tuned::load_bytes / widest, tuned::least_width, tuned::most_width);
    while (width > tuned::least_width && words * width > tuned::most_state_words) width /= 2;
    Schedule chosen{
        .problems = problems, .course = Course::boxes, .threads = int(slab_elements) / width, .width = width};
    chosen.strided = strided_arrays(plan, sweep);
    const int bytes = loaded_bytes(plan, sweep) * width;
    if (bytes == 0) return chosen;
    // As many resident blocks as a compilation without spills allows (PlanLoader), and the more bytes in flight the
    // fewer these are; short parts want blocks.
    const bool is_narrow = words * width <= tuned::words_of_narrow_boxes || slabs <= tuned::slabs_of_short_boxes;
    const int wanted = is_narrow ? tuned::bytes_of_narrow_boxes : tuned::bytes_of_boxes;
    const int room = (registers_of_thread / 2 - width * (words + words_of_place) - words_to_fold(sweep, width)) /
                     words_in_flight(plan, sweep, width, words > tuned::narrow_words);
    const int of_folds = folds_at_length(sweep) ? tuned::most_of_long_folds / width : tuned::most_in_flight;
    chosen.in_flight = int(std::bit_floor(unsigned(std::max(std::min({wanted / bytes, room, of_folds}), 1))));
    chosen.windows_in_flight = std::min(chosen.in_flight, tuned::box_windows_in_flight);
    const bool fits = words * width <= tuned::words_of_resident_boxes || slabs <= tuned::slabs_of_short_boxes;
    chosen.resident = std::max(tuned::threads_of_many / (fits ? 1 : 2) / chosen.threads, 1);
    return chosen;
}

} // namespace gf::cuda
