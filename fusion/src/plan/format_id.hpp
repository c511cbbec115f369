// Ids print as their numbers.
#pragma once

#include <fmt/format.h>

#include <gridfold/core/id.hpp>

template <class Of> struct fmt::formatter<gf::Id<Of>> : fmt::formatter<int> {
    template <class Context> auto format(gf::Id<Of> id, Context& context) const {
        return fmt::formatter<int>::format(id.number(), context);
    }
};
