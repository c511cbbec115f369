// How destructors call the driver: on their device, reporting and never throwing.
#pragma once

#include "driver/driver.hpp"

namespace gf::driver {

/// Makes `device` current, if need be at a second try, and calls `release(table)`, which gives an Outcome. Does nothing
/// where CUDA is gone (a forked child). What fails is reported.
template <class Release> void release_on(int device, Release&& release, Here here = Here::current()) noexcept {
    const Table* cu = table_or_null();
    if (cu == nullptr) return;
    for (int tries = 0; tries < 2; ++tries) {
        try {
            const CurrentDevice current(device);
            report(release(*cu), here);
            return;
        } catch (const DeviceError& error) {
            report({error.code(), error.call().c_str()}, here);
        } catch (...) { // no memory to say so
        }
    }
    report(release(*cu), here); // what can be released without is not kept
}

} // namespace gf::driver
