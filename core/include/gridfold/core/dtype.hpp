// Element types: the enum, its properties, and the mapping from C++ types, all generated from dtype.def.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include <gridfold/core/half.hpp>

namespace gf {

/// The type of one array element or scalar.
enum class DType : std::uint8_t {
#define GRIDFOLD_DTYPE(id, text, type, kind, npy) id,
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
};

/// The kind of a DType in the promotion rules.
enum class Kind : std::uint8_t { boolean, signed_integer, unsigned_integer, floating };

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

constexpr Kind kind_of(DType type) {
    switch (type) {
#define GRIDFOLD_DTYPE(id, text, cpp, kind, npy) \
    case DType::id: return Kind::kind;
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    }
    return Kind::boolean;
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

constexpr bool is_floating(DType type) { return kind_of(type) == Kind::floating; }
constexpr bool is_integer(DType type) {
    return kind_of(type) == Kind::signed_integer || kind_of(type) == Kind::unsigned_integer;
}

constexpr bool is_half(DType type) { return type == DType::f16 || type == DType::bf16; }

/// The type in which values of `type` are stored in registers and computed: f32 for f16 and bf16, else `type`.
constexpr DType value_type(DType type) { return is_half(type) ? DType::f32 : type; }

/// The type named `text`, or nothing.
std::optional<DType> dtype_from_text(std::string_view text);

/// All types, in the table's order.
std::span<const DType> all_dtypes();

namespace detail {
template <class T> struct DTypeOf;
#define GRIDFOLD_DTYPE(id, text, cpp, kind, npy)  \
    template <> struct DTypeOf<cpp> {             \
        static constexpr DType value = DType::id; \
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
