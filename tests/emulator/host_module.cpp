// Compiling kernels on the host; see host_module.hpp.
#include "host_module.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace gf::emulator {

namespace {

namespace fs = std::filesystem;

/// Owns a new folder, removed with its contents.
class ScratchFolder {
public:
    ScratchFolder() {
        std::string name = (fs::temp_directory_path() / "gridfold-emulator-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("emulator: no temporary folder");
        path = name;
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    ~ScratchFolder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    fs::path path;
};

/// Puts each kernel text in its own namespace, because texts define the same names. Includes come first.
std::string translation_unit(std::span<const std::string> sources) {
    std::string text = "#define GRIDFOLD_EMULATED_KERNELS\n#include \"emulator.hpp\"\n";
    std::string list;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        text += fmt::format("namespace kernel_{0} {{\nnamespace emulator = ::gf::emulator;\n"
                            "#define gridfold_sweep gridfold_sweep_{0}\n#line 1 \"kernel_{0}\"\n{1}\n"
                            "#line 1 \"kernels\"\n#undef gridfold_sweep\n}}\n",
                            i, sources[i]);
        list += fmt::format("    gf::emulator::listed<kernel_{0}::GRIDFOLD_NAMESPACE::gridfold_sweep_{0}>(),\n", i);
    }
    return text + fmt::format("#pragma GCC visibility push(default)\n"
                              "extern \"C\" const gf::emulator::Kernel kernels[] {{\n{}}};\n"
                              "extern \"C\" const std::size_t kernel_count = {};\n"
                              "extern \"C\" void attach(const gf::emulator::Machine* machine) {{ "
                              "gf::emulator::attached = machine; }}\n",
                              list, sources.size());
}

std::string contents(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

/// Compiles kernels.cpp in `folder` to kernels.so, with a log. Flags may name sanitizers: their runtime is that of this
/// program's compiler. If the build uses ccache, the same kernels are compiled once: their names are relative to the
/// folder, which is new each time. The compiler lists what is included (CCACHE_DEPEND), which takes less than a
/// preprocessor.
std::string command(const fs::path& folder, const std::string& flags) {
    // No strict aliasing: kernel text accesses elements as words, which device compilers allow. Hidden: otherwise
    // templates of one name in two libraries would be merged. Rounding math: otherwise gcc folds erfc of a constant to
    // other bits than the library's. Clash protection: a large frame cannot skip the guard of a stack. No induction
    // variables of its own: gcc 12 then loses the last elements of a row of f64 and u8 at -O1, and at no other level;
    // clang does not, and UBSan finds nothing (RunRows.of_wide_folds).
    return fmt::format("cd '{3}' && {{ CCACHE_DEPEND=1 CCACHE_NOHASHDIR=1 $(command -v {4}) '{0}' -std=c++20 -O1 -w "
                       "-fPIC -fvisibility=hidden "
                       "-ffp-contract=off -frounding-math -fno-strict-aliasing -fstack-clash-protection -fno-ivopts "
                       "{1} -I '{2}' -MD -c kernels.cpp -o kernels.o && "
                       "'{0}' -shared {1} kernels.o -o kernels.so; }} > log 2>&1",
                       flags.empty() ? host_compiler() : GRIDFOLD_OWN_COMPILER, flags, GRIDFOLD_EMULATOR_FOLDER,
                       folder.string(), GRIDFOLD_COMPILER_LAUNCHER);
}

template <class F> F symbol(void* library, const std::string& name) {
    void* address = dlsym(library, name.c_str());
    if (address == nullptr) throw std::runtime_error("emulator: no symbol " + name);
    return reinterpret_cast<F>(address);
}

std::string image_of(std::span<const std::string> sources, const std::string& flags) {
    HostImage image = compile_on_host(sources, flags);
    if (image.bytes.empty()) throw std::runtime_error("emulator: kernels do not compile\n" + image.log);
    return std::move(image.bytes);
}

} // namespace

std::string host_compiler() {
    if (access(GRIDFOLD_HOST_COMPILER, X_OK) == 0) return GRIDFOLD_HOST_COMPILER;
    return std::system("c++ --version > /dev/null 2>&1") == 0 ? "c++" : "";
}

std::string compiler_identity() {
    return GRIDFOLD_HOST_COMPILER_VERSION + command({}, {}) + translation_unit({}) +
           contents(fs::path(GRIDFOLD_EMULATOR_FOLDER) / "emulator.hpp");
}

HostImage compile_on_host(std::span<const std::string> sources, const std::string& flags) {
    const ScratchFolder folder;
    std::ofstream(folder.path / "kernels.cpp") << translation_unit(sources);
    const int status = std::system(command(folder.path, flags).c_str());
    // During system(), an interrupt ends only the compiler.
    if ((WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) ||
        (WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGINT))
        std::raise(SIGINT);
    return {status == 0 ? contents(folder.path / "kernels.so") : "", contents(folder.path / "log")};
}
HostModule::HostModule(const std::string& image) {
    const ScratchFolder folder; // a unique name: the loader returns the same library for the same name
    const fs::path file = folder.path / "kernels.so";
    std::ofstream(file, std::ios::binary) << image;
    library_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(std::string("emulator: ") + dlerror());
    symbol<void (*)(const Machine*)>(library_, "attach")(&machine());
    kernels_ = {symbol<const Kernel*>(library_, "kernels"), *symbol<const std::size_t*>(library_, "kernel_count")};
}

HostModule::HostModule(std::span<const std::string> sources, const std::string& flags)
    : HostModule(image_of(sources, flags)) {}

HostModule::~HostModule() {
    if (library_ != nullptr) dlclose(library_);
}

} // namespace gf::emulator
