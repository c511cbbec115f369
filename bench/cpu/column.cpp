#include "column.hpp"

#include <new>
#include <type_traits>

namespace bench::cpu {
namespace {

/// Mixes an index: SplitMix64's last two steps (Steele, Lea and Flood, 2014).
std::uint64_t mixed(std::uint64_t i) {
    i = (i + 1) * 0x9e3779b97f4a7c15U;
    i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9U;
    return i ^ (i >> 27);
}

template <class T> T element(std::uint64_t i) {
    const auto number = static_cast<std::int32_t>(mixed(i) >> 53) * 2 + 1 - 2048;
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(number);
    else
        return static_cast<T>(static_cast<float>(number) / 2048.0F);
}

constexpr std::size_t alignment = 64;

} // namespace

Column::Column(Type type, std::size_t n) {
    if (n == 0) return;
    memory_.reset(std::aligned_alloc(alignment, (n * size_of(type) + alignment - 1) / alignment * alignment));
    if (memory_ == nullptr) throw std::bad_alloc();
    with_column({{}, type, memory_.get(), n, nullptr}, [&](const auto* typed) -> Call {
        using T = std::remove_cvref_t<decltype(*typed)>;
        T* const x = static_cast<T*>(memory_.get());
#pragma omp parallel for schedule(static)
        for (std::size_t i = 0; i < n; ++i) x[i] = element<T>(i);
        return {};
    });
}

} // namespace bench::cpu
