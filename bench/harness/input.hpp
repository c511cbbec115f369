// Inputs in device memory: consecutive copies of one array, so that successive calls find none of their data in the
// cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gridfold/gridfold.hpp>

#include "harness/digits.hpp"
#include "harness/element.hpp"

namespace bench {

/// A handle: copies share the memory.
template <class T> class Input {
public:
    /// `copies` times the same digits. Each copy begins `shift` elements after a multiple of 256 bytes.
    Input(std::int64_t elements, int copies, int seed = 0, int shift = 0);

    std::int64_t elements() const { return elements_; }
    std::int64_t bytes() const { return elements_ * std::int64_t{sizeof(T)}; }
    T* copy(int c) const { return memory_.get() + pitch_ * c + shift_; }
    gf::View view(int c) const {
        return gf::device_view(reinterpret_cast<typename Element<T>::Gridfold*>(copy(c)), {elements_});
    }

    /// Replaces elements, by their numbers, in all copies.
    void put(const std::vector<std::pair<std::int64_t, T>>& values);

    /// The digits, counted on the device.
    Digits digits() const { return count(nullptr); }
    /// The digits of the elements whose counterpart in the mask's first copy is more than 3.
    Digits digits_where(const Input<std::uint8_t>& mask) const { return count(mask.copy(0)); }
    /// The index of the first element with that value, which must occur.
    std::int64_t first(double value) const;

private:
    Digits count(const std::uint8_t* mask) const;

    std::int64_t elements_, pitch_;
    int copies_, seed_, shift_;
    std::shared_ptr<T[]> memory_;
};

} // namespace bench
