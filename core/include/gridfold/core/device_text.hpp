// The text of device/*.cuh, as it was when the library was built, without its `#pragma once` lines: the first part of
// every generated kernel. Internal, for backends and tests.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace gf::detail {

std::string_view types_text();
std::string_view arithmetic_text();
std::string_view mathematics_text();
std::string_view conversions_text();
std::string_view slots_text();
std::string_view fold_text();
std::string_view warp_text();
std::string_view memory_text();
std::string_view shared_text();
std::string_view loads_text();
std::string_view lanes_text();
std::string_view kernel_text();
std::string_view parts_text();
std::string_view combine_text();
std::string_view publish_text();
std::string_view flat_text();
std::string_view places_text();
std::string_view exchange_text();
std::string_view rows_text();
std::string_view row_place_text();
std::string_view warp_rows_text();
std::string_view runs_text();
std::string_view thread_rows_text();
std::string_view run_rows_text();
std::string_view divisor_text();
std::string_view row_blocks_text();
std::string_view held_packs_text();
std::string_view held_rows_text();
std::string_view held_thread_rows_text();
std::string_view positions_text();
std::string_view tile_states_text();
std::string_view combine_positions_text();
std::string_view boxes_text();
std::string_view columns_text();
std::string_view tiles_text();
std::string_view real_text();
std::string_view exponential_text();
std::string_view logarithm_text();
std::string_view power_text();
std::string_view trigonometric_text();
std::string_view error_function_text();
std::string_view cuda_text();

inline std::string joined(std::initializer_list<std::string_view> parts) {
    std::string text;
    for (const std::string_view part : parts) text += part;
    return text;
}

/// The parts of prelude.cuh that every kernel has, in the order that it includes them.
inline std::string prelude_text() {
    return joined({types_text(), arithmetic_text(), mathematics_text(), conversions_text()});
}

/// The text that every kernel has, each part after those that it depends on.
inline std::string device_text() {
    return joined({prelude_text(), slots_text(), fold_text(), warp_text(), memory_text(), shared_text(), loads_text(),
                   lanes_text(), kernel_text(), parts_text(), combine_text(), publish_text(), flat_text()});
}

/// The texts that follow in kernels that fold some dims: rows, rows by warps, threads or runs, held rows,
/// boxes, or columns.
inline std::string rows_course_text() { return joined({places_text(), exchange_text(), rows_text()}); }
inline std::string warp_rows_course_text() {
    return joined({places_text(), exchange_text(), row_place_text(), warp_rows_text()});
}
inline std::string thread_rows_course_text() {
    return joined({places_text(), exchange_text(), runs_text(), thread_rows_text()});
}
inline std::string run_rows_course_text() {
    return joined({places_text(), exchange_text(), runs_text(), run_rows_text()});
}
inline std::string held_rows_course_text() {
    return warp_rows_course_text() + joined({divisor_text(), row_blocks_text(), held_packs_text(), held_rows_text()});
}
inline std::string held_thread_rows_course_text() {
    return thread_rows_course_text() + joined({divisor_text(), held_thread_rows_text()});
}
inline std::string boxes_course_text() {
    return joined(
        {places_text(), exchange_text(), positions_text(), tile_states_text(), combine_positions_text(), boxes_text()});
}
inline std::string columns_course_text() {
    return joined({places_text(), exchange_text(), positions_text(), tile_states_text(), columns_text()});
}
/// The text that follows in kernels that walk tiles.
inline std::string tiles_course_text() { return std::string(tiles_text()); }

/// The definitions of the elementary functions that `code` calls, with those that they depend on, or all of CUDA's if
/// GRIDFOLD_FAST_MATH is defined; "" if it calls none. Belongs after prelude_text().
std::string function_text(std::string_view code);
/// True if `code` calls an elementary function.
bool calls_functions(std::string_view code);
/// True if called() of device/lanes.cuh takes the function.
bool has_plain_form(std::string_view function);

} // namespace gf::detail
