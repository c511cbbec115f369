// Bindings that must not compile: each mistake is compiled alone, and the file without any.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gridfold/gridfold.hpp>

std::vector<float> make_values();

void run(const gf::Executable& exe, std::vector<float>& values, const std::vector<bool>& mask) {
    const std::span<float> part(values);
    exe.run({{"x", values}, {"y", part.first(2)}, {"z", std::span<const float>(values)}}, {{"out", values}});
    static_cast<void>(mask);
#if WRONG == 1
    exe.run({{"x", make_values()}});
#elif WRONG == 2
    const gf::View view = make_values();
#elif WRONG == 3
    exe.run({{"ok", mask}});
#elif WRONG == 4
    const gf::View view = mask;
#elif WRONG == 5
    exe.run({{"ok", std::vector<bool>{true}}});
#endif
}
