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

/// The extents of an array, outermost first (row-major). A plain value; at most max_rank of them.
class Extents {
public:
    Extents() = default;
    /// Throws InvalidBinding for more than max_rank extents. Negative extents are stored, and refused when bound.
    Extents(std::initializer_list<std::int64_t> extents);
    explicit Extents(std::span<const std::int64_t> extents);

    int rank() const noexcept { return rank_; }
    std::int64_t operator[](int i) const noexcept { return extents_[static_cast<std::size_t>(i)]; }
    const std::int64_t* begin() const noexcept { return extents_.data(); }
    const std::int64_t* end() const noexcept { return extents_.data() + rank_; }
    friend bool operator==(const Extents&, const Extents&) = default;

private:
    std::array<std::int64_t, max_rank> extents_{};
    int rank_ = 0;
};

/// "[3, 4]"
std::string to_text(const Extents& extents);

/// The product of extents ≥ 0; empty if it does not fit. It is 0 if any extent is 0, even if others would overflow.
std::optional<std::int64_t> element_count(std::span<const std::int64_t> extents) noexcept;
/// The product of extents of existing memory, which always fits.
inline std::size_t element_count(const Extents& extents) noexcept {
    return static_cast<std::size_t>(element_count(std::span(extents.begin(), extents.end())).value_or(0));
}

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

/// A container whose elements end with the expression that creates it.
template <class Range>
concept TemporaryArray = ArrayOfElements<Range> && !ArrayThatStays<Range>;

} // namespace detail

/// A contiguous, row-major array in memory that it does not own. Trivially copyable; the memory must outlive its use.
struct View {
    void* address = nullptr;
    DType type = DType::f32;
    Extents extents;
    Memory memory = Memory::unknown;
    bool writable = false;

    View() = default;
    View(void* pointer, DType element, Extents shape, Memory where, bool can_write)
        : address(pointer), type(element), extents(shape), memory(where), writable(can_write) {}

    /// A one-dimensional view of the range's elements.
    template <detail::ArrayThatStays Range>
    View(Range&& range); // NOLINT(google-explicit-constructor): bindings read as {{"x", data}}
    // Compilers print the line of a deleted function: its comment says what to do.
    template <detail::TemporaryArray Range> View(Range&&) = delete; // dangles: bind an array kept in a variable
    View(const std::vector<bool>&) = delete; // packs its bits: bind a std::vector<std::uint8_t> as u8, test it != 0
};

/// A view of `pointer` with the given extents; its kind of memory is determined when it is bound.
template <Element T> View view(T* pointer, Extents extents) {
    return {const_cast<std::remove_const_t<T>*>(pointer), dtype_of<T>, extents, Memory::unknown, !std::is_const_v<T>};
}
/// A view of host memory. Binding it with a device pointer is an InvalidBinding.
template <Element T> View host_view(T* pointer, Extents extents) {
    View v = view(pointer, extents);
    v.memory = Memory::host;
    return v;
}
/// A view of device memory. Binding it with a host pointer is an InvalidBinding.
template <Element T> View device_view(T* pointer, Extents extents) {
    View v = view(pointer, extents);
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

} // namespace gf
