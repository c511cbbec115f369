// Memory for trying a function at many points, and the checks of its results: on the host or on a GPU.
#pragma once

#include <cstdint>
#include <memory>

#include <gridfold/gridfold.hpp>

#include "functions/error.cuh"
#include "functions/functions.hpp"

namespace gf::test {

/// Which points are tried: those of points.cuh, or the number of a point is its operand's bits.
enum class Points { hard, all_bits };

template <class T> class Trial {
public:
    virtual ~Trial() = default;

    /// Makes the operands of points first … first + count − 1; count is at most the trial's capacity.
    virtual void make(const Function& f, Points points, std::uint64_t first, std::uint64_t count) = 0;
    // The operands, and the memory for a device's results.
    virtual View a() = 0;
    virtual View b() = 0;
    virtual View results() = 0;
    /// The errors of the device's results against the reference.
    virtual Tally errors(const Function& f) = 0;

    // The same operands for the CPU, and memory for its results.
    virtual View host_a() = 0;
    virtual View host_b() = 0;
    virtual View host_results() = 0;
    /// Where the first `count` results of the CPU differ from those of the device.
    virtual Difference difference(std::uint64_t count) = 0;
};

template <class T> std::unique_ptr<Trial<T>> trial_on_host(std::uint64_t capacity);
/// Only linked into programs that are built with nvcc.
template <class T> std::unique_ptr<Trial<T>> trial_on_gpu(std::uint64_t capacity);

/// The point of an index, for messages.
template <class T> GRIDFOLD_BOTH Point<T> chosen_point(const Domain& d, Points points, std::uint64_t index) {
    return points == Points::hard ? point<T>(d, index) : Point<T>{from_bits<T>(static_cast<BitsOf<T>>(index)), T(0)};
}

/// A graph of the function alone, for a device and, on the CPU, an instruction set: of GRIDFOLD_CPU.
Executable compiled(const Function& f, DType type, const std::string& device);
/// The executable's results for operands, written to `y`.
void run(const Executable& exe, const Function& f, const View& a, const View& b, const View& y);

} // namespace gf::test
