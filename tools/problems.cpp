// See problems.hpp.
#include "problems.hpp"

#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>

namespace gf::tool {
namespace {

View array_of_problem(const View& all, std::int64_t i) {
    View one = all;
    one.extents = Extents(std::span(all.extents.begin() + 1, all.extents.end()));
    const auto count = static_cast<std::int64_t>(element_count(one.extents));
    const std::int64_t stride = all.strides.rank() > 0 ? all.strides[0] : count;
    if (count != 0)
        one.address = static_cast<std::byte*>(all.address) + i * stride * static_cast<std::int64_t>(size_of(all.type));
    if (all.strides.rank() > 0) one.strides = Strides(std::span(all.strides.begin() + 1, all.strides.end()));
    return one;
}

} // namespace

Literal number_at(const View& all, std::int64_t i) {
    return with_type(all.type, [&](auto value) -> Literal {
        const std::byte* const from =
            static_cast<const std::byte*>(all.address) + static_cast<std::size_t>(i) * sizeof value;
        if constexpr (std::is_same_v<decltype(value), bool>) return *from != std::byte{0}; // any byte is a valid bool
        std::memcpy(static_cast<void*>(&value), from, sizeof value);
        if constexpr (std::is_arithmetic_v<decltype(value)>)
            return value;
        else // f16, bf16
            return static_cast<float>(value);
    });
}

Binding Given::binding(std::int64_t i) const {
    Binding own = shared;
    if (each && each_is_number)
        own.scalar = number_at(*each, i);
    else if (each)
        own = Binding(shared.name, array_of_problem(*each, i));
    return own;
}

Binding Given::of_batch() const { return each ? Binding(shared.name, *each) : shared; }

std::vector<Entries> entries_of(std::span<const Results> problems) {
    std::vector<Entries> all;
    for (const Results& one : problems) all.emplace_back(one.entries().begin(), one.entries().end());
    return all;
}

std::vector<Entries> entries_of_batch(const Results& batch, std::int64_t count) {
    std::vector<Entries> all(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
        for (const Results::Entry& of_all : batch.entries()) {
            Results::Entry one = of_all;
            one.array = array_of_problem(of_all.array, i);
            const bool may_be_empty = of_all.valid.extents.rank() > 0;
            if (may_be_empty) one.valid = array_of_problem(of_all.valid, i);
            one.is_array = one.array.extents.rank() > 0;
            if (!one.is_array) {
                static_assert(std::endian::native == std::endian::little, "a value is the first bytes of its bits");
                std::memcpy(&one.bits, one.array.address, size_of(one.type));
                one.empty = may_be_empty && *static_cast<const std::byte*>(one.valid.address) == std::byte{0};
            }
            all[static_cast<std::size_t>(i)].push_back(std::move(one));
        }
    return all;
}

std::int64_t count_problems(std::span<const Given> given) {
    const Given* first = nullptr;
    for (const Given& one : given) {
        if (!one.each) continue;
        if (first == nullptr) first = &one;
        if (one.each->extents[0] != first->each->extents[0])
            throw InvalidOption(fmt::format("{} holds {} problems, and {} holds {}", first->word,
                                            first->each->extents[0], one.word, one.each->extents[0]),
                                "with --many, arrays that have the problems' dim in front hold equally many",
                                "bind as many in each, or one array without that dim for all problems");
    }
    if (first == nullptr)
        throw InvalidOption("--many was given, but nothing that is bound has a dim in front of the graph's",
                            "problems are stacked in arrays, as numpy.stack does", "stack them, or leave --many out");
    if (first->each->extents[0] == 0)
        throw InvalidOption(first->word,
                            fmt::format("the array's extents are {}, which is no problem: --many runs one or more",
                                        to_text(first->each->extents)),
                            "bind an array whose first extent is not 0");
    return first->each->extents[0];
}

Extents with_problems_in_front(std::int64_t count, const Extents& extents) {
    std::vector<std::int64_t> all{count};
    all.insert(all.end(), extents.begin(), extents.end());
    return Extents(all);
}

} // namespace gf::tool
