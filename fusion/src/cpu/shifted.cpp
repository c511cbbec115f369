// Reading arrays through the steps of a load (gather.hpp).
#include <algorithm>
#include <cstring>

#include "cpu/gather.hpp"
#include "cpu/index.hpp"

namespace gf::cpu {

namespace {

/// Neighbouring coordinates: `at`, and then the next ones, or always the same.
struct Run {
    std::int64_t at;
    std::int64_t count;
    bool moves = true;
};

/// The longest run into which the steps change `count` coordinates from `at` on, along a dim of that extent.
Run changed(Run run, std::span<const plan::Step> steps, std::int64_t extent) {
    for (const plan::Step& step : steps) {
        std::int64_t to = run.at + step.offset;
        if (step.wraps) {
            to = (to % extent + extent) % extent;
            if (run.moves) run.count = std::min(run.count, extent - to);
        } else if (run.moves && to < 0) {
            run.count = std::min(run.count, -to);
            run.moves = false;
            to = 0;
        } else if (run.moves && to >= extent) {
            run.moves = false;
            to = extent - 1;
        } else if (run.moves) {
            run.count = std::min(run.count, extent - to);
        } else {
            to = std::clamp<std::int64_t>(to, 0, extent - 1);
        }
        run.at = to;
    }
    return run;
}

template <class T>
void gather_elements(T* out, const T* array, const ShiftedWalk& walk, std::int64_t first, std::size_t n) {
    std::array<std::int64_t, max_rank> coordinate{};
    for (std::size_t d = at(walk.rank); d-- > 0;) {
        coordinate[d] = first % walk.extent[d];
        first /= walk.extent[d];
    }
    const std::size_t inner = at(walk.rank) - 1;
    const std::int64_t stride = walk.stride[inner];
    auto left = static_cast<std::int64_t>(n);
    while (left > 0) {
        const T* row = array;
        for (std::size_t d = 0; d < inner; ++d)
            row += changed({coordinate[d], 1}, walk.steps[d], walk.extent[d]).at * walk.stride[d];
        const std::int64_t end = std::min(coordinate[inner] + left, walk.extent[inner]);
        for (std::int64_t c = coordinate[inner]; c < end;) {
            const Run run = changed({c, end - c}, walk.steps[inner], walk.extent[inner]);
            const T* const from = row + run.at * stride;
            if (!run.moves || stride == 0)
                std::fill_n(out, run.count, *from);
            else if (stride == 1)
                std::copy_n(from, run.count, out);
            else
                for (std::int64_t i = 0; i < run.count; ++i) out[i] = from[i * stride];
            out += run.count;
            c += run.count;
        }
        left -= end - coordinate[inner];
        coordinate[inner] = 0;
        for (std::size_t d = inner; d-- > 0;) {
            if (++coordinate[d] < walk.extent[d]) break;
            coordinate[d] = 0;
        }
    }
}

} // namespace

void gather(void* out, const void* array, std::size_t element_bytes, const ShiftedWalk& walk, std::int64_t first,
            std::size_t n) {
    const auto elements = [&]<class T>(T) {
        gather_elements(static_cast<T*>(out), static_cast<const T*>(array), walk, first, n);
    };
    switch (element_bytes) {
    case 1: return elements(std::uint8_t{});
    case 2: return elements(std::uint16_t{});
    case 4: return elements(std::uint32_t{});
    default: return elements(std::uint64_t{});
    }
}

} // namespace gf::cpu
