// A column of made-up elements.
#pragma once

#include <cstdlib>
#include <memory>

#include "workloads.hpp"

namespace bench::cpu {

/// n elements, each written first by the thread that a static OpenMP schedule has read it. The i-th is the same in
/// every column of its type. Integers are odd, of i8 any and else between ±2,048; floating-point numbers are such, over
/// 2,048: exact in every type, f16 included. None is 0, and sums of them are exact in f64.
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
