// What a second process does: asks for one kernel and says how it came by it. Run by nvrtc_process_test.
#include <cstdio>
#include <cstring>

#include <link.h>

#include <gridfold/core/cache.hpp>
#include <gridfold/core/error.hpp>

#include "core/warm_key.hpp"

int main() {
    try {
        const gf::Image image = gf::image_for(gf::testing::warm_key());
        bool compiler_loaded = false;
        dl_iterate_phdr(
            [](dl_phdr_info* info, std::size_t, void* found) {
                if (std::strstr(info->dlpi_name, "libnvrtc.") != nullptr) *static_cast<bool*>(found) = true;
                return 0;
            },
            &compiler_loaded);
        std::printf("%s %s\n", image.was_cached ? "cached" : "compiled", compiler_loaded ? "loaded" : "unloaded");
    } catch (const gf::Error& error) {
        std::printf("error %s\n", error.what());
    }
}
