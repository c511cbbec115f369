// The results of a run, by name or by the typed handle of Graph::output.
//
//     auto sum = r.get<std::int64_t>("sum");                  // its own type
//     auto sum = r.get_as<double>("sum");                     // converted
//     auto sum = r[cubes];                                    // auto cubes = g.output<std::int64_t>("cubes", value)
//     std::vector<float> y = r.to_vector<float>("y");         // copied from any memory
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gridfold/core/view.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf {

namespace detail {
class ProblemSet;
} // namespace detail

/// The results of one run. Owns the arrays that the caller did not bind. A plain value, readable from any thread. The
/// Results of many problems share the memory of their scalars, until the last is destroyed. Default-constructed, it
/// holds no results. A mistake (an unknown name, another type) is an InvalidResult that names the right one.
class Results {
public:
    Results() = default;

    /// The scalar result `name` as its own type T. Throws EmptyReduction if no element contributed to it.
    template <Element T> T get(std::string_view name) const;
    /// get(), but empty if no element contributed.
    template <Element T> std::optional<T> get_optional(std::string_view name) const;
    /// The scalar result `name` of any type, converted to T. A floating T rounds; an integer T or bool must represent
    /// the value exactly (InvalidResult). Throws EmptyReduction if no element contributed to it.
    template <class T>
        requires std::is_arithmetic_v<T>
    T get_as(std::string_view name) const;
    /// By the handle of Graph::output: get() for a scalar, span() for an array.
    template <Element T> T operator[](const Result<T>& result) const { return get<T>(result.name()); }
    template <Element T> std::span<const T> operator[](const ArrayResult<T>& result) const {
        return span<T>(result.name());
    }

    /// The array result `name`, in its allocated or bound memory; valid while these Results (or the caller's binding)
    /// live.
    View array(std::string_view name) const;
    /// A host array result as a span.
    template <Element T> std::span<const T> span(std::string_view name) const;
    /// Copies an array result of any number of dims from host or device memory to `to`, which has its size.
    template <Element T> void copy_to(std::string_view name, std::span<T> to) const {
        copy_array(name, dtype_of<T>, to.data(), to.size());
    }
    /// copy_to() to a new vector.
    template <Element T> std::vector<T> to_vector(std::string_view name) const;
    /// For each element of the array result `name`, row-major: true unless it is empty, because no element contributed
    /// to it. The bits of an empty element mean nothing. Copied from host or device memory.
    std::vector<bool> valid(std::string_view name) const;
    /// The bool array behind valid(), in the memory of the other results. InvalidResult for a result that is never
    /// empty: all but minima, maxima, argmin and argmax of integers, under a mask over some dims, and what is computed
    /// from them.
    View valid_array(std::string_view name) const;

    struct Entry {
        std::string name;
        DType type;
        bool is_array;
        bool empty;         ///< scalar: no element contributed
        std::uint64_t bits; ///< scalar: the value's bytes, zero-extended
        View array;
        View valid; ///< array: which elements are not empty, bool; without dims where none ever is
    };
    /// All results, in the order of the graph; valid while these Results, or a copy of them, live. The first call
    /// builds the list.
    std::span<const Entry> entries() const;

    struct Run;
    struct Arrays;

private:
    friend class detail::ProblemSet;
    Results(std::shared_ptr<const Run> run, std::shared_ptr<const Arrays> arrays, std::size_t problem)
        : run_(std::move(run)), arrays_(std::move(arrays)), problem_(problem) {}

    struct Scalar {
        std::string_view name;
        DType type;
        bool empty;
        std::uint64_t bits;
    };
    /// The number of the output of this name in the graph's order.
    std::size_t find_output(std::string_view name) const;
    Scalar scalar(std::string_view name) const;
    Scalar scalar(std::string_view name, DType type) const;
    /// The bools behind valid(); a view without dims where no element is ever empty.
    View validity(std::string_view name) const;
    View host_array(std::string_view name, DType type) const;
    void copy_array(std::string_view name, DType type, void* to, std::size_t count) const;
    [[noreturn]] static void throw_empty(const Scalar& scalar);
    [[noreturn]] static void throw_not_held(const Scalar& scalar, DType type);

    std::shared_ptr<const Run> run_;
    std::shared_ptr<const Arrays> arrays_; ///< null for a graph without array outputs
    std::size_t problem_ = 0;              ///< its number in the run
};

template <Element T> T Results::get(std::string_view name) const {
    const Scalar found = scalar(name, dtype_of<T>);
    if (found.empty) throw_empty(found);
    T value;
    std::memcpy(&value, &found.bits, sizeof value);
    return value;
}

template <Element T> std::optional<T> Results::get_optional(std::string_view name) const {
    if (scalar(name, dtype_of<T>).empty) return {};
    return get<T>(name);
}

template <class T>
    requires std::is_arithmetic_v<T>
T Results::get_as(std::string_view name) const {
    const Scalar found = scalar(name);
    if (found.empty) throw_empty(found);
    return with_type(found.type, [&](auto stored) -> T {
        std::memcpy(static_cast<void*>(&stored), &found.bits, sizeof stored);
        const auto value = [&] {
            if constexpr (std::is_arithmetic_v<decltype(stored)>)
                return stored;
            else // f16, bf16
                return static_cast<float>(stored);
        }();
        using From = std::remove_const_t<decltype(value)>;
        if constexpr (std::is_floating_point_v<T>) {
            return static_cast<T>(value);
        } else {
            bool held = false;
            if constexpr (std::is_same_v<T, bool>)
                held = value == From(0) || value == From(1);
            else if constexpr (std::is_floating_point_v<From>) // 2^digits is exact in any floating type
                held = value == std::trunc(value) && value < std::ldexp(From(1), std::numeric_limits<T>::digits) &&
                       value >= (std::is_signed_v<T> ? -std::ldexp(From(1), std::numeric_limits<T>::digits) : From(0));
            else if constexpr (std::is_same_v<From, bool>)
                held = true;
            else
                held = std::in_range<T>(value);
            if (!held) throw_not_held(found, dtype_of<T>);
            return static_cast<T>(value);
        }
    });
}

template <Element T> std::span<const T> Results::span(std::string_view name) const {
    const View view = host_array(name, dtype_of<T>);
    return {static_cast<const T*>(view.address), element_count(view.extents)};
}

template <Element T> std::vector<T> Results::to_vector(std::string_view name) const {
    const std::size_t count = element_count(array(name).extents);
    if constexpr (std::is_same_v<T, bool>) { // a std::vector<bool> has no array
        const auto values = std::make_unique<bool[]>(count);
        copy_to(name, std::span(values.get(), count));
        return std::vector<bool>(values.get(), values.get() + count);
    } else {
        std::vector<T> values(count);
        copy_to(name, std::span(values));
        return values;
    }
}

} // namespace gf
