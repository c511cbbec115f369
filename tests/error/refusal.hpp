// Tests a refusal: its type, its message (value, rule and fix), and that nothing else happened.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <gridfold/core/error.hpp>

namespace gf::test {

/// Expects `call` to throw an E whose message holds every one of `words`.
template <class E, class Call> void expect_refused(Call&& call, std::initializer_list<std::string_view> words) {
    try {
        call();
    } catch (const E& error) {
        for (const std::string_view word : words)
            EXPECT_NE(std::string_view(error.what()).find(word), std::string_view::npos)
                << "the message lacks '" << word << "': " << error.what();
        return;
    } catch (const std::exception& error) {
        FAIL() << "another error was thrown: " << error.what();
    }
    FAIL() << "nothing was thrown";
}

} // namespace gf::test
