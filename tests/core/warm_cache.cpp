// A process that asks for one kernel and prints whether it was cached, with an argument also the image's SHA-256. Run
// by warm_process.hpp.
#include <cstdio>
#include <cstring>

#include <link.h>

#include <gridfold/core/cache.hpp>
#include <gridfold/core/error.hpp>

#include "core/warm_key.hpp"
#include "sha256.hpp"

int main(int count, char**) {
    try {
        const gf::Image image = gf::image_for(gf::testing::warm_key());
        bool compiler_loaded = false;
        dl_iterate_phdr(
            [](dl_phdr_info* info, std::size_t, void* found) {
                if (std::strstr(info->dlpi_name, "libnvrtc.") != nullptr) *static_cast<bool*>(found) = true;
                return 0;
            },
            &compiler_loaded);
        std::printf("%s %s", image.was_cached ? "cached" : "compiled", compiler_loaded ? "loaded" : "unloaded");
        if (count > 1) std::printf(" %s", gf::to_hex(gf::sha256(*image.bytes)).c_str());
        std::printf("\n");
    } catch (const gf::Error& error) {
        std::printf("error %s\n", error.what());
    }
}
