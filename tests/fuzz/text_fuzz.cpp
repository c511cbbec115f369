// The text form: any text is a graph or an InvalidGraph, and printing, parsing and printing a graph gives the same
// text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <gridfold/core/error.hpp>
#include <gridfold/ops/text.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
    std::string printed;
    try {
        printed = gf::to_text(gf::parse({reinterpret_cast<const char*>(bytes), count}));
    } catch (const gf::InvalidGraph&) {
        return 0;
    }
    if (gf::to_text(gf::parse(printed)) != printed) std::abort();
    return 0;
}
