// See number.hpp.
#include "front/number.hpp"

#include <cmath>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>
#include <gridfold/ops/type_rule.hpp>

namespace gf::detail {

std::uint64_t scalar_bits(Literal number, DType type) {
    const std::uint64_t bits = constant_bits(number, type);
    if (type == DType::boolean && constant_bits(number, DType::f64) != constant_bits(bits, DType::f64))
        throw InvalidGraph(fmt::format("the number {}", to_text(number)), "bool holds true, false, 0 and 1", "");
    const bool is_finite = number.kind != Literal::Kind::floating || std::isfinite(number.floating);
    if (is_finite && !std::isfinite(to_double(type, bits)))
        throw InvalidGraph(fmt::format("the number {}", to_text(number)),
                           fmt::format("{} would round it to infinity", to_text(type)), "");
    return bits;
}

} // namespace gf::detail
