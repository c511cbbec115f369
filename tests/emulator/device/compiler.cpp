// NVRTC's entry points, implemented by the host's compiler. An image is a shared object with one kernel.
#include <array>
#include <cstring>
#include <functional>
#include <regex>
#include <string>

#include "device.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using gf::emulator::Device;

struct Program {
    std::string source;
    gf::emulator::HostImage image;
};

constexpr int success = 0, compilation_failed = 6;
constexpr int architecture = 90;

/// The host compiler's "kernel_0:12:5: error: …" in NVRTC's form: "kernel(12): error: …".
std::string in_nvrtcs_words(const std::string& log) {
    static const std::regex place(R"(kernel_0:(\d+)(:\d+)?: )");
    return std::regex_replace(log, place, "kernel($1): ");
}

int copy_out(const std::string& text, char* to) {
    std::memcpy(to, text.data(), text.size());
    return success;
}

Program* program_of(void* handle) { return static_cast<Program*>(handle); }

} // namespace

EXPORT const char* nvrtcGetErrorString(int code) {
    return code == compilation_failed ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_EMULATED";
}
EXPORT int nvrtcVersion(int* major, int* minor) {
    // The kernel cache compares the compiler's version.
    return *major = 13,
           *minor = static_cast<int>(std::hash<std::string>()(gf::emulator::compiler_identity()) % 1'000'000'000),
           success;
}
EXPORT int nvrtcGetNumSupportedArchs(int* count) { return *count = 1, success; }
EXPORT int nvrtcGetSupportedArchs(int* architectures) { return *architectures = architecture, success; }
EXPORT int nvrtcCreateProgram(void** program, const char* source, const char*, int, const char* const*,
                              const char* const*) {
    return *program = new Program{source, {}}, success;
}
EXPORT int nvrtcDestroyProgram(void** program) {
    delete program_of(*program);
    return *program = nullptr, success;
}
EXPORT int nvrtcCompileProgram(void* handle, int, const char* const*) {
    Program* program = program_of(handle);
    program->image = gf::emulator::compile_on_host(std::array{program->source});
    program->image.log = in_nvrtcs_words(program->image.log);
    {
        const std::lock_guard lock(Device::the().mutex);
        ++Device::the().control.compilations;
    }
    return program->image.bytes.empty() ? compilation_failed : success;
}
EXPORT int nvrtcGetProgramLogSize(void* program, std::size_t* bytes) {
    return *bytes = program_of(program)->image.log.size() + 1, success;
}
EXPORT int nvrtcGetProgramLog(void* program, char* log) {
    const std::string& text = program_of(program)->image.log;
    log[text.size()] = '\0';
    return copy_out(text, log);
}
EXPORT int nvrtcGetCUBINSize(void* program, std::size_t* bytes) {
    return *bytes = program_of(program)->image.bytes.size(), success;
}
EXPORT int nvrtcGetCUBIN(void* program, char* cubin) { return copy_out(program_of(program)->image.bytes, cubin); }
EXPORT int nvrtcGetPTXSize(void*, std::size_t* bytes) { return *bytes = 0, success; }
EXPORT int nvrtcGetPTX(void*, char*) { return success; }
