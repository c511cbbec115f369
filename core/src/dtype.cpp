// Element types by their names.
#include <gridfold/core/dtype.hpp>

#include <array>

namespace gf {

namespace {

constexpr std::array types{
#define GRIDFOLD_DTYPE(id, text, cpp, kind, npy) DType::id,
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
};

} // namespace

std::optional<DType> dtype_from_text(std::string_view text) {
    for (const DType type : types)
        if (to_text(type) == text) return type;
    return std::nullopt;
}

std::span<const DType> all_dtypes() { return types; }

} // namespace gf
