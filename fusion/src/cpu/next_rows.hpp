// What the next rows of a chain read, prefetched into the second-level cache a few lines at a time, while the sweeps
// compute these rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "cpu/memory.hpp"

namespace gf::cpu {

class NextRows {
public:
    /// An array's first element of the next rows.
    struct Array {
        const char* first;
        std::size_t element_bytes;
    };

    void resize(std::size_t arrays) { arrays_.resize(arrays); }
    Array& array(std::size_t number) { return arrays_[number]; }
    /// `elements` of each array will be prefetched once step() has been called for `steps` elements. Fewer steps leave
    /// the last ones out, which are then read as if nothing were prefetched.
    void begin(std::size_t elements, std::size_t steps) {
        elements_ = elements;
        steps_ = std::max<std::size_t>(steps, 1);
        done_ = stepped_ = 0;
    }
    /// Prefetches a share, and returns its elements: a step computes n elements of these rows.
    std::size_t step(std::size_t n) {
        if (done_ == elements_) return 0;
        stepped_ = std::min(stepped_ + n, steps_);
        const std::size_t end = stepped_ * elements_ / steps_;
        for (const Array& array : arrays_) {
            const auto first = reinterpret_cast<std::uintptr_t>(array.first);
            const std::uintptr_t stop = first + end * array.element_bytes;
            std::uintptr_t line = (first + done_ * array.element_bytes + line_bytes - 1) / line_bytes * line_bytes;
            for (; line < stop; line += line_bytes) __builtin_prefetch(reinterpret_cast<const void*>(line), 0, 2);
        }
        return end - std::exchange(done_, end);
    }

private:
    std::vector<Array> arrays_;
    std::size_t elements_ = 0, done_ = 0, steps_ = 1, stepped_ = 0;
};

} // namespace gf::cpu
