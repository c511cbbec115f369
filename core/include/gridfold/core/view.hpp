// Views of memory that the caller owns, for binding to a graph's inputs and outputs.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <gridfold/core/dtype.hpp>

namespace gf {

/// The most dims that one array or one domain can have.
inline constexpr int max_rank = 8;

namespace detail {

/// A number for each dim of an array, outermost first. A plain value; at most max_rank of them.
class NumberOfDims {
public:
    NumberOfDims() = default;
    /// Throws InvalidBinding for more than max_rank numbers; `what` they are is for the message.
    NumberOfDims(std::span<const std::int64_t> numbers, const char* what);

    int rank() const noexcept { return rank_; }
    std::int64_t operator[](int i) const noexcept { return numbers_[static_cast<std::size_t>(i)]; }
    const std::int64_t* begin() const noexcept { return numbers_.data(); }
    const std::int64_t* end() const noexcept { return numbers_.data() + rank_; }
    friend bool operator==(const NumberOfDims&, const NumberOfDims&) = default;

private:
    std::array<std::int64_t, max_rank> numbers_{};
    int rank_ = 0;
};

} // namespace detail

/// The extents of an array, outermost first (row-major). A plain value; at most max_rank of them.
class Extents : public detail::NumberOfDims {
public:
    Extents() = default;
    /// Throws InvalidBinding for more than max_rank extents. Negative extents are stored, and refused when bound.
    Extents(std::initializer_list<std::int64_t> extents) : Extents(std::span(extents.begin(), extents.size())) {}
    explicit Extents(std::span<const std::int64_t> extents) : NumberOfDims(extents, "extents") {}
    friend bool operator==(const Extents&, const Extents&) = default;
};

/// The elements of memory between neighbours along each dim of an array, outermost first; any may be 0 or negative. A
/// plain value; at most max_rank of them.
class Strides : public detail::NumberOfDims {
public:
    Strides() = default;
    /// Throws InvalidBinding for more than max_rank strides.
    Strides(std::initializer_list<std::int64_t> strides) : Strides(std::span(strides.begin(), strides.size())) {}
    explicit Strides(std::span<const std::int64_t> strides) : NumberOfDims(strides, "strides") {}
    friend bool operator==(const Strides&, const Strides&) = default;
};

/// "[3, 4]"
std::string to_text(const Extents& extents);
std::string to_text(const Strides& strides);

/// The product of extents ≥ 0; empty if it does not fit. It is 0 if any extent is 0, even if others would overflow.
std::optional<std::int64_t> element_count(std::span<const std::int64_t> extents) noexcept;
/// The product of extents of existing memory, which always fits.
inline std::size_t element_count(const Extents& extents) noexcept {
    return static_cast<std::size_t>(element_count(std::span(extents.begin(), extents.end())).value_or(0));
}

/// Bytes of memory, relative to the address of a view: from `begin`, which is at most 0, to before `end`.
struct ByteRange {
    std::int64_t begin = 0, end = 0;
    friend bool operator==(const ByteRange&, const ByteRange&) = default;
};
/// The bytes from the first to the last element of an array of extents ≥ 0, also those between its elements; none
/// without elements. `strides`: one for each extent, or none for a contiguous, row-major array. Empty for contiguous
/// arrays of more than 2^63 - 1 bytes, and for strides that lead over more than 2^62 - 1.
std::optional<ByteRange> byte_range(const Extents& extents, const Strides& strides, DType type) noexcept;

/// The kind of memory that a pointer points to. `unknown`: the driver, if loaded, is asked when the view is bound.
enum class Memory : std::uint8_t { unknown, host, device };

struct View;

namespace detail {

/// Any contiguous one-dimensional range with data() and size(): std::vector, std::span, std::array, cuda::std::span,
/// and thrust::device_vector (whose data() is a device pointer with get()).
template <class Range>
concept ArrayOfElements = !std::is_same_v<std::remove_cvref_t<Range>, View> && requires(Range& r) {
    { r.size() } -> std::convertible_to<std::size_t>;
    *r.data();
};

/// A span of any library. CUDA's is no borrowed_range: it says so to cuda::std only. (std::array has no element_type.)
template <class Range>
concept Span = std::is_trivially_copyable_v<Range> && requires { typename Range::element_type; };

/// A range whose elements outlive the expression: an lvalue, or one that does not own them.
template <class Range>
concept ArrayThatStays =
    ArrayOfElements<Range> &&
    (std::is_lvalue_reference_v<Range> || std::ranges::borrowed_range<Range> || Span<std::remove_cv_t<Range>>);

/// A strided multidimensional span of any library, as std::mdspan is: elements are behind a pointer, and nothing
/// converts them on the way (an accessor's reference is a plain one).
template <class Span>
concept Mdspan = requires(const Span& span) {
    requires std::is_pointer_v<std::remove_cvref_t<decltype(span.data_handle())>>;
    requires std::is_same_v<typename Span::reference, std::remove_reference_t<decltype(*span.data_handle())>&>;
    { span.rank() } -> std::convertible_to<std::size_t>;
    { span.extent(0) } -> std::convertible_to<std::int64_t>;
    { span.stride(0) } -> std::convertible_to<std::int64_t>;
};

/// A container whose elements end with the expression that creates it.
template <class Range>
concept TemporaryArray = ArrayOfElements<Range> && !ArrayThatStays<Range>;

} // namespace detail

/// An array in memory that it does not own: contiguous and row-major, or with a stride for each dim. Trivially
/// copyable; the memory must outlive its use. Inputs may have strides; what is written is contiguous.
struct View {
    void* address = nullptr; ///< of the element whose coordinates are all 0
    DType type = DType::f32;
    Extents extents;
    Memory memory = Memory::unknown;
    bool writable = false;
    Strides strides; ///< one for each extent; none: contiguous, row-major

    View() = default;
    View(void* pointer, DType element, Extents shape, Memory where, bool can_write, Strides steps = {})
        : address(pointer), type(element), extents(shape), memory(where), writable(can_write), strides(steps) {}

    /// True if the elements are contiguous and row-major, whatever `strides` says of extents of 0 and 1. Requires as
    /// many strides as extents, or none.
    bool is_contiguous() const noexcept;

    /// A one-dimensional view of the range's elements.
    template <detail::ArrayThatStays Range>
    View(Range&& range); // NOLINT(google-explicit-constructor): bindings read as {{"x", data}}
    /// A view of what a std::mdspan, or one like it, shows. It may be a temporary.
    template <detail::Mdspan Span> View(const Span& span); // NOLINT(google-explicit-constructor)
    // Compilers print the line of a deleted function: its comment says what to do.
    template <detail::TemporaryArray Range> View(Range&&) = delete; // dangles: bind an array kept in a variable
    View(const std::vector<bool>&) = delete; // packs its bits: bind a std::vector<std::uint8_t> as u8, test it != 0
};

/// A view of `pointer` with the given extents; its kind of memory is determined when it is bound. `strides`: one for
/// each extent, in elements, also 0 or negative: view(x, {rows, columns}, {1, rows}) is a matrix that x holds column by
/// column. None: contiguous, row-major. `pointer`: the element whose coordinates are all 0.
template <Element T> View view(T* pointer, Extents extents, Strides strides = {}) {
    return {const_cast<std::remove_const_t<T>*>(pointer),
            dtype_of<T>,
            extents,
            Memory::unknown,
            !std::is_const_v<T>,
            strides};
}
/// A view of host memory. Binding it with a device pointer is an InvalidBinding.
template <Element T> View host_view(T* pointer, Extents extents, Strides strides = {}) {
    View v = view(pointer, extents, strides);
    v.memory = Memory::host;
    return v;
}
/// A view of device memory. Binding it with a host pointer is an InvalidBinding.
template <Element T> View device_view(T* pointer, Extents extents, Strides strides = {}) {
    View v = view(pointer, extents, strides);
    v.memory = Memory::device;
    return v;
}

template <detail::ArrayThatStays Range> View::View(Range&& range) {
    const auto size = static_cast<std::int64_t>(range.size());
    if constexpr (requires { range.data().get(); })
        *this = device_view(range.data().get(), {size});
    else
        *this = view(range.data(), {size});
}

template <detail::Mdspan Span> View::View(const Span& span) {
    const auto rank = static_cast<std::size_t>(span.rank());
    std::vector<std::int64_t> shape(rank), steps(rank);
    for (std::size_t r = 0; r < rank; ++r) {
        shape[r] = static_cast<std::int64_t>(span.extent(r));
        steps[r] = static_cast<std::int64_t>(span.stride(r));
    }
    const Extents checked{std::span<const std::int64_t>(shape)};
    *this = view(span.data_handle(), checked, Strides(std::span<const std::int64_t>(steps)));
}

} // namespace gf
