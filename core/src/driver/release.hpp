// Driver calls of destructors: on their device, reporting and never throwing.
#pragma once

#include "driver/driver.hpp"

namespace gf::driver {

/// Makes `device` current, with a second try, and calls `release(table)`, which returns an Outcome. Does nothing if
/// CUDA cannot be used any more (a forked child). Reports failures.
template <class Release> void release_on(int device, Release&& release, Here here = Here::current()) noexcept {
    const Table* cu = table_or_null();
    if (cu == nullptr) return;
    for (int tries = 0; tries < 2; ++tries) { // defect: tries
        try {
            const CurrentDevice current(device);
            report(release(*cu), here);
            return;
        } catch (const DeviceError& error) {
            report({error.code(), error.call().c_str()}, here);
        } catch (...) { // no memory for the report
        }
    }
    report(release(*cu), here); // some objects can be released without a current device
}

} // namespace gf::driver
