#include <gridfold/core/nvrtc.hpp>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include "driver/nvrtc_table.hpp"

namespace gf::nvrtc {
namespace {

constexpr const char* override_name = "GRIDFOLD_NVRTC";

/// Sets size and time of a compiler's file; both are 0 if it does not exist.
void look_at_file(Identity& identity) {
    struct stat s {};
    if (stat(identity.path.c_str(), &s) != 0) s = {};
    identity.file_bytes = static_cast<std::uint64_t>(s.st_size);
    identity.file_time = std::int64_t{s.st_mtim.tv_sec} * 1'000'000'000 + s.st_mtim.tv_nsec;
}

/// Opens one library as the compiler, or sets the reason why it cannot be used.
void open_library(Compiler& compiler, const std::string& library, int newest_major) {
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        compiler.reason = dlerror();
        return;
    }
    Table table;
    const char* missing = nullptr;
    const auto load_symbol = [&](const char* name, auto& function) {
        void* symbol = dlsym(handle, name);
        if (symbol == nullptr && missing == nullptr) missing = name;
        std::memcpy(&function, &symbol, sizeof symbol); // POSIX's conversion of an object to a function pointer
    };
    load_symbol("nvrtcGetErrorString", table.error_string);
#define NVRTC(member, entry_point, parameters) load_symbol(table.member.symbol, table.member.function);
#include "driver/nvrtc.def"
#undef NVRTC
    Identity identity;
    if (missing != nullptr) {
        compiler.reason = fmt::format("{} has no {}", library, missing);
    } else if (table.version(&identity.major, &identity.minor).code != success) {
        compiler.reason = fmt::format("{} does not tell its version", library);
    } else if (newest_major != 0 && identity.major > newest_major) {
        compiler.reason = fmt::format("{} is version {}.{}, and the driver only supports CUDA {}", library,
                                      identity.major, identity.minor, newest_major);
    } else {
        Dl_info info{};
        void* inside = nullptr;
        std::memcpy(&inside, &table.version.function, sizeof inside);
        if (dladdr(inside, &info) != 0 && info.dli_fname != nullptr) {
            char real[PATH_MAX];
            identity.path = realpath(info.dli_fname, real) != nullptr ? real : info.dli_fname;
        }
        look_at_file(identity);
        compiler.table = table;
        compiler.usable = true;
        compiler.identity = identity;
        compiler.reason.clear();
        return; // never closed: opening it again would take as long as compiling a small kernel
    }
    dlclose(handle);
}

std::vector<std::string> candidates() {
    std::vector<std::string> all = {"libnvrtc.so.13", "libnvrtc.so.12"};
    std::vector<std::string> folders;
    for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
        if (const char* value = std::getenv(name); value != nullptr && *value != '\0') folders.emplace_back(value);
    folders.emplace_back("/usr/local/cuda");
    for (const std::string& folder : folders)
        for (const char* below : {"/lib64/", "/lib/"})
            for (const char* file : {"libnvrtc.so.13", "libnvrtc.so.12"}) all.push_back(folder + below + file);
    return all;
}

std::atomic<bool> loaded{false};

const Compiler& compiler() {
    static const auto& it = *[] { // never destroyed: compiling threads may outlive main
        auto* made = new Compiler(load(std::getenv(override_name), driver::loaded_version() / 1000));
        loaded = true;
        return made;
    }();
    return it;
}

const Compiler& usable_compiler() {
    const Compiler& it = compiler();
    if (!it.usable) throw Unavailable(fmt::format("a kernel must be compiled, but {}", it.reason));
    return it;
}

void check(const Compiler& it, driver::Outcome outcome) {
    if (outcome.code != success)
        throw DeviceError(fmt::format("{}: {}", outcome.call, it.table.error_string(outcome.code)), outcome.call,
                          outcome.code);
}

/// The log with the line of `text` that each message names below it: "kernel(12): error …".
std::string quote_lines(std::string_view log, std::string_view text) {
    std::vector<std::string_view> lines;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    std::string quoted;
    for (std::size_t at = 0; at < log.size();) {
        const std::size_t end = std::min(log.find('\n', at), log.size());
        const std::string_view message = log.substr(at, end - at);
        quoted.append(message).push_back('\n');
        constexpr std::string_view start = "kernel(";
        if (message.starts_with(start)) {
            const std::size_t line = std::strtoull(std::string(message.substr(start.size())).c_str(), nullptr, 10);
            if (line >= 1 && line <= lines.size()) quoted += fmt::format("  line {}: {}\n", line, lines[line - 1]);
        }
        at = end + 1;
    }
    return quoted;
}

/// Owns a program.
struct Program {
    const Compiler& compiler;
    _nvrtcProgram* handle = nullptr;
    explicit Program(const Compiler& c) : compiler(c) {}
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program() {
        if (handle != nullptr) static_cast<void>(compiler.table.destroy(&handle));
    }
};

} // namespace

Compiler load(const char* chosen, int newest_major) {
    Compiler compiler;
    if (chosen != nullptr && std::string_view(chosen) == "none") {
        compiler.reason = fmt::format("{}=none forbids the compiler", override_name);
        return compiler;
    }
    if (chosen != nullptr && *chosen != '\0') {
        open_library(compiler, chosen, newest_major);
    } else {
        std::string first;
        for (const std::string& library : candidates()) {
            open_library(compiler, library, newest_major);
            if (compiler.usable) break;
            if (first.empty()) first = compiler.reason;
        }
        if (!compiler.usable) compiler.reason = first;
    }
    if (!compiler.usable)
        compiler.reason = fmt::format("there is no NVRTC ({}): install the CUDA toolkit's libnvrtc, or name it in {}",
                                      compiler.reason, override_name);
    return compiler;
}

const Identity& identity() { return usable_compiler().identity; }

std::string unavailable_reason() { return compiler().reason; }

bool is_current(const Identity& made_by) {
    const char* chosen = std::getenv(override_name);
    const bool none = chosen != nullptr && std::string_view(chosen) == "none";
    const bool forced = chosen != nullptr && *chosen != '\0' && !none;
    if (none) return true;
    if (!loaded && !forced) {
        Identity now = made_by;
        look_at_file(now);
        if (now == made_by && !made_by.path.empty()) return true;
    }
    const Compiler& it = compiler();
    return !it.usable || (it.identity.major == made_by.major && it.identity.minor == made_by.minor);
}

std::string target_for(int capability_major, int capability_minor) {
    const Compiler& it = usable_compiler();
    int count = 0;
    check(it, it.table.supported_count(&count));
    std::vector<int> known(static_cast<std::size_t>(count));
    check(it, it.table.supported(known.data()));
    const int wanted = capability_major * 10 + capability_minor;
    int same_family = 0, any = 0;
    for (const int architecture : known) {
        if (architecture > wanted) continue;
        any = std::max(any, architecture);
        if (architecture / 10 == capability_major) same_family = std::max(same_family, architecture);
    }
    if (same_family != 0) return fmt::format("sm_{}", same_family);
    if (any != 0) return fmt::format("compute_{}", any);
    throw DeviceError(
        fmt::format("NVRTC {}.{} does not compile for compute capability {}.{}: its oldest is {}; install "
                    "an older CUDA toolkit, or use the cpu backend",
                    it.identity.major, it.identity.minor, capability_major, capability_minor,
                    known.empty() ? 0 : *std::min_element(known.begin(), known.end())));
}

Compiled compile(const std::string& text, const std::string& target, std::span<const std::string> options) {
    const Compiler& it = usable_compiler();
    Program program(it);
    check(it, it.table.create(&program.handle, text.c_str(), "kernel", 0, nullptr, nullptr));
    const std::string architecture = "--gpu-architecture=" + target;
    std::vector<const char*> arguments = {architecture.c_str()};
    for (const std::string& option : options) arguments.push_back(option.c_str());
    // Omits the declarations of textures and of the CUDA runtime: the same code in 80 % of the time.
    if (std::pair(it.identity.major, it.identity.minor) >= std::pair(12, 4)) arguments.push_back("--minimal");
    const driver::Outcome outcome =
        it.table.compile(program.handle, static_cast<int>(arguments.size()), arguments.data());

    std::size_t bytes = 0;
    Compiled compiled;
    check(it, it.table.log_size(program.handle, &bytes));
    compiled.log.resize(bytes);
    if (bytes != 0) check(it, it.table.log(program.handle, compiled.log.data()));
    while (!compiled.log.empty() && compiled.log.back() == '\0') compiled.log.pop_back();
    if (outcome.code == compilation_failed) {
        const std::string log = quote_lines(compiled.log, text);
        throw CompileError(fmt::format("a generated kernel does not compile for {}:\n{}", target, log), text, log);
    }
    check(it, outcome);

    const bool is_ptx = target.starts_with("compute_");
    const auto& size = is_ptx ? it.table.ptx_size : it.table.cubin_size;
    const auto& get = is_ptx ? it.table.ptx : it.table.cubin;
    check(it, size(program.handle, &bytes));
    compiled.image.resize(bytes);
    check(it, get(program.handle, compiled.image.data()));
    return compiled;
}

} // namespace gf::nvrtc
