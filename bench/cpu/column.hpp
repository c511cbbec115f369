// A column of pseudo-random elements.
#pragma once

#include <cstdlib>
#include <memory>

#include "workloads.hpp"

namespace bench::cpu {

/// n elements, each first written by the thread that reads it in a static OpenMP schedule. Element i is the same in
/// every column of its type. Integers are odd, of i8 any, of wider types between ±2,048; floating-point numbers are
/// such integers divided by 2,048, exact in every type. None is 0, and their sums are exact in f64.
class Column {
public:
    Column(Type type, std::size_t n);
    void* address() const { return memory_.get(); }

private:
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    std::unique_ptr<void, Free> memory_;
};

} // namespace bench::cpu
