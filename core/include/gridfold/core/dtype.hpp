// Element types: their sizes and names, and the mapping from and to C++ types, generated from dtype.def.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include <gridfold/core/dtype_enum.hpp>
#include <gridfold/core/half.hpp>

namespace gf {

/// Bytes of one element.
constexpr std::size_t size_of(DType type) {
    switch (type) {
#define GRIDFOLD_DTYPE(id, text, cpp, kind, npy) \
    case DType::id: return sizeof(cpp);
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    }
    return 0;
}

/// The name in the text form: "f32".
constexpr std::string_view to_text(DType type) {
    switch (type) {
#define GRIDFOLD_DTYPE(id, text, cpp, kind, npy) \
    case DType::id: return text;
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    }
    return "";
}

/// The type named `text`, or nothing.
std::optional<DType> dtype_from_text(std::string_view text);

/// All types, in the table's order.
std::span<const DType> all_dtypes();

namespace detail {
template <class T> struct DTypeOf;
template <DType type> struct ElementOf;
#define GRIDFOLD_DTYPE(id, text, cpp, kind, npy)  \
    template <> struct DTypeOf<cpp> {             \
        static constexpr DType value = DType::id; \
    };                                            \
    template <> struct ElementOf<DType::id> {     \
        using type = cpp;                         \
    };
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
// `long` and `long long` are distinct types of one size; std::int64_t is only one of them.
using OtherLong = std::conditional_t<std::is_same_v<std::int64_t, long>, long long, long>;
template <> struct DTypeOf<OtherLong> {
    static constexpr DType value = DType::i64;
};
template <> struct DTypeOf<std::make_unsigned_t<OtherLong>> {
    static constexpr DType value = DType::u64;
};
static_assert(sizeof(OtherLong) == 8);
} // namespace detail

/// A C++ type that is an element type of gridfold.
template <class T>
concept Element = requires { detail::DTypeOf<std::remove_cv_t<T>>::value; };

/// The DType of a C++ type: `dtype_of<float> == DType::f32`.
template <Element T> inline constexpr DType dtype_of = detail::DTypeOf<std::remove_cv_t<T>>::value;

/// The C++ type of a DType: `element_of<DType::f32>` is float.
template <DType type> using element_of = typename detail::ElementOf<type>::type;

/// Calls `f` with a value-initialised element of the C++ type of `type` and returns what it returns.
template <class F> constexpr decltype(auto) with_type(DType type, F&& f) {
    switch (type) {
#define GRIDFOLD_DTYPE(id, text, cpp, kind, npy) \
    case DType::id: return f(cpp{});
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    }
    __builtin_unreachable();
}

/// Calls `f` with a value-initialised value of the C++ type of value_type(type) and returns what it returns.
template <class F> constexpr decltype(auto) with_value_type(DType type, F&& f) {
    return with_type(type, [&f]<class T>(T) -> decltype(auto) {
        if constexpr (std::same_as<T, f16> || std::same_as<T, bf16>)
            return f(float{});
        else
            return f(T{});
    });
}

} // namespace gf
