// Sizes for tests of the CUDA backend: on the emulated device (tests/emulator/device) an element takes a microsecond.
#pragma once

#include <algorithm>
#include <vector>

#include <gridfold/core/device.hpp>

namespace gf::test {

inline bool is_emulated() {
    static const bool emulated = !devices().empty() && devices().front().name == "Emulated device";
    return emulated;
}

/// `count` elements or rounds; on the emulated device a fiftieth, at least 20.
template <class Count> Count scaled(Count count) {
    return is_emulated() ? std::min(count, std::max<Count>(20, count / 50)) : count;
}

} // namespace gf::test
