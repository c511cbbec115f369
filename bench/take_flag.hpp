// The benchmarks' own flags.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace bench {

/// Removes `--flag=<number>` from the arguments and returns the number.
inline std::size_t take_flag(int& count, char** arguments, std::string_view flag, std::size_t standard) {
    for (int i = 1; i < count; ++i) {
        const std::string_view argument = arguments[i];
        if (!argument.starts_with(flag) || argument.substr(flag.size(), 1) != "=") continue;
        standard = std::strtoull(arguments[i] + flag.size() + 1, nullptr, 10);
        std::copy(arguments + i + 1, arguments + count, arguments + i);
        --count;
    }
    return standard;
}

/// The same for `--rounds`, at least 1.
inline int take_rounds(int& count, char** arguments, std::size_t standard) {
    return static_cast<int>(std::max<std::size_t>(take_flag(count, arguments, "--rounds", standard), 1));
}

} // namespace bench
