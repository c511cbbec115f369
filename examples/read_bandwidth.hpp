// The read bandwidth of this machine, for comparison with a fused sweep.
#pragma once

#include <memory>

#include <gridfold/core/view.hpp>

/// Only reads an array: with all cores, or in device memory with a kernel.
class Reader {
public:
    /// `array` is aligned to 16 bytes; bytes beyond a multiple of 16 are not read.
    explicit Reader(const gf::View& array);
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    ~Reader();
    /// Reads the whole array, and returns when done.
    void read();
    double bytes() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};
