// How fast this machine reads memory: what a fused sweep is held against.
#pragma once

#include <memory>

#include <gridfold/core/view.hpp>

/// Reads an array, and does nothing else with it: with all cores, or, in device memory, with a kernel.
class Reader {
public:
    /// `array` holds a multiple of 16 bytes, at an address that is one; what is beyond the last such is not read.
    explicit Reader(const gf::View& array);
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    ~Reader();
    /// Reads all of it, and waits until that is done.
    void read();
    double bytes() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};
