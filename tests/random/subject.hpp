// Runs cases through the library, and describes differences of results.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gridfold/core/view.hpp>
#include <gridfold/fusion/executable.hpp>

#include "case.hpp"

namespace gf::oracle {

/// An array in host memory, misaligned by whole elements, that ends where its allocation ends.
class HostArray {
public:
    HostArray(DType type, std::size_t count, std::size_t offset);
    HostArray(DType type, std::span<const Bits> elements, std::size_t offset);
    void* address() const { return memory_.get() + offset_ * size_of(type_); }
    std::vector<Bits> elements() const;

private:
    DType type_;
    std::size_t count_, offset_;
    std::unique_ptr<std::byte[]> memory_;
};

/// The elements behind a host view.
std::vector<Bits> elements_of(const View& view);

/// The elements of a host view of bools; none for a view without dims, as Results::Entry::valid may be.
std::vector<bool> bools_of(const View& view);

/// Runs a case with host memory. The seed determines the misalignment, which inputs have strides, and whether outputs
/// are bound, too.
std::vector<Result> run(const Executable& executable, const Case& test, const Inputs& inputs);

/// A description of the first difference between results, or nothing. NaN equals NaN.
std::optional<std::string> difference(const std::vector<Result>& expected, const std::vector<Result>& actual);

} // namespace gf::oracle
