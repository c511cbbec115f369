#include "cpu/llvm.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <gridfold/core/error.hpp>

// The types of LLVM's C API, which are pointers to these.
struct LLVMOpaqueContext;
struct LLVMOpaqueModule;
struct LLVMOpaqueMemoryBuffer;
struct LLVMOpaqueExecutionEngine;

namespace gf::cpu::llvm {

namespace {

using Context = LLVMOpaqueContext*;
using Module = LLVMOpaqueModule*;
using MemoryBuffer = LLVMOpaqueMemoryBuffer*;
using ExecutionEngine = LLVMOpaqueExecutionEngine*;

/// LLVMMCJITCompilerOptions
struct CompilerOptions {
    unsigned level;
    int code_model, no_frame_pointer_elimination, fast_selection;
    void* memory_manager;
};

/// The functions that this file calls; their names follow in `symbols`.
struct Functions {
    Context (*create_context)();
    void (*dispose_context)(Context);
    MemoryBuffer (*create_buffer)(const char* data, std::size_t bytes, const char* name, int ends_with_zero);
    int (*parse)(Context, MemoryBuffer, Module*, char** message); // takes the buffer
    void (*dispose_message)(char*);
    void (*link_compiler)();
    void (*initialize_options)(CompilerOptions*, std::size_t bytes);
    int (*create_engine)(ExecutionEngine*, Module, CompilerOptions*, std::size_t bytes, char** message); // takes it
    std::uint64_t (*function_address)(ExecutionEngine, const char* name);
    void (*dispose_engine)(ExecutionEngine);
    void (*target_info)();
    void (*target)();
    void (*target_code)();
    void (*assembly_printer)();
};
constexpr std::array symbols{"LLVMContextCreate",
                             "LLVMContextDispose",
                             "LLVMCreateMemoryBufferWithMemoryRange",
                             "LLVMParseIRInContext",
                             "LLVMDisposeMessage",
                             "LLVMLinkInMCJIT",
                             "LLVMInitializeMCJITCompilerOptions",
                             "LLVMCreateMCJITCompilerForModule",
                             "LLVMGetFunctionAddress",
                             "LLVMDisposeExecutionEngine",
                             "LLVMInitializeX86TargetInfo",
                             "LLVMInitializeX86Target",
                             "LLVMInitializeX86TargetMC",
                             "LLVMInitializeX86AsmPrinter"};
static_assert(sizeof(Functions) == symbols.size() * sizeof(void*));

/// A function that older versions do not have. They do not read the IR's `ptr`.
constexpr const char* since_15 = "LLVMPointerTypeInContext";
constexpr std::array known_names{"libLLVM.so.20.1", "libLLVM.so.19.1", "libLLVM.so.18.1",
                                 "libLLVM-17.so.1", "libLLVM-16.so.1", "libLLVM-15.so.1"};

/// GRIDFOLD_LLVM; "" if it is not set.
std::string_view chosen() {
    const char* const value = std::getenv("GRIDFOLD_LLVM");
    return value == nullptr ? "" : value;
}

/// True once static objects may have ended: those of a library are after the first ones of the program.
std::atomic<bool> is_exiting = false;

/// False where the system forbids memory that was written to become code.
bool may_make_code() {
    constexpr std::size_t bytes = 4096;
    void* const page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return false;
    const bool may = mprotect(page, bytes, PROT_READ | PROT_EXEC) == 0;
    munmap(page, bytes);
    return may;
}

/// A loaded library, or the reason why there is none. It is never unloaded: code may outlive every static object.
struct Library {
    Functions functions = {};
    std::string reason;

    /// `name`: GRIDFOLD_LLVM.
    explicit Library(const std::string& name) {
        if (!name.empty() && name != "none" && name != "always") {
            open(name.c_str());
            return;
        }
        for (const char* known : known_names)
            if (open(known)) return;
        reason = "no library of LLVM 15 to 20 was found; install libllvm15 or a later one";
    }

private:
    bool open(const char* name) {
        void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            reason = dlerror();
            return false;
        }
        std::array<void*, symbols.size()> found{};
        for (std::size_t i = 0; i < symbols.size(); ++i) found[i] = dlsym(library, symbols[i]);
        const auto* const missing = std::ranges::find(found, nullptr);
        const bool is_old = dlsym(library, since_15) == nullptr;
        if (missing != found.end() || is_old) {
            reason = missing == found.end() ? fmt::format("{} is older than LLVM 15", name)
                                            : fmt::format("{} has no {}", name,
                                                          symbols[static_cast<std::size_t>(missing - found.begin())]);
            dlclose(library);
            return false;
        }
        std::memcpy(&functions, found.data(), sizeof functions);
        functions.link_compiler();
        functions.target_info();
        functions.target();
        functions.target_code();
        functions.assembly_printer();
        std::atexit([] { is_exiting = true; }); // before the library's own objects end
        reason.clear();
        return true;
    }
};

/// The library that GRIDFOLD_LLVM asks for, loaded when it is first asked for.
const Library& library() {
    static std::mutex mutex;
    static auto& libraries = *new std::map<std::string, std::unique_ptr<const Library>>();
    const std::lock_guard lock(mutex);
    std::unique_ptr<const Library>& known = libraries[std::string(chosen())];
    if (known == nullptr) known = std::make_unique<const Library>(std::string(chosen()));
    return *known;
}

} // namespace

std::string unavailable_reason() { return library().reason; }

Use chosen_use() {
    const std::string_view name = chosen();
    if (name == "none") return Use::never;
    if (name.empty()) return Use::when_worth;
    if (const std::string reason = unavailable_reason(); !reason.empty())
        throw InvalidOption(fmt::format("GRIDFOLD_LLVM={}", name),
                            fmt::format("it asks for a library of LLVM that can be loaded: {}", reason),
                            "name another library, set it to always or none, or unset it");
    return name == "always" ? Use::always : Use::when_worth;
}

/// A context with one module and what compiles it.
struct Code::Engine {
    const Functions& llvm = library().functions;
    Context context = llvm.create_context();
    ExecutionEngine engine = nullptr;

    Engine() = default;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    ~Engine() {
        if (engine != nullptr) llvm.dispose_engine(engine);
        llvm.dispose_context(context);
    }
    [[noreturn]] void fail(char* message, const std::string& text) const {
        std::string what = message == nullptr ? "no message" : message;
        if (message != nullptr) llvm.dispose_message(message);
        throw InternalError(fmt::format("LLVM does not compile a loop of the CPU backend: {}\n{}", what, text));
    }
};

Code::Code(const std::string& text, const char* name) {
    if (const std::string reason = unavailable_reason(); !reason.empty())
        throw InternalError(fmt::format("there is no LLVM: {}", reason));
    // LLVM would not say so, and the address that it returns would be no code.
    if (is_exiting || !may_make_code()) throw InternalError("this process may not make code, or ends");
    engine_ = std::make_unique<Engine>();
    const Functions& llvm = engine_->llvm;
    Module module = nullptr;
    char* message = nullptr;
    if (llvm.parse(engine_->context, llvm.create_buffer(text.c_str(), text.size(), name, 1), &module, &message) != 0)
        engine_->fail(message, text);
    CompilerOptions options;
    llvm.initialize_options(&options, sizeof options);
    options.level = 2;
    if (llvm.create_engine(&engine_->engine, module, &options, sizeof options, &message) != 0)
        engine_->fail(message, text);
    address_ = reinterpret_cast<void*>(llvm.function_address(engine_->engine, name));
    if (address_ == nullptr) engine_->fail(nullptr, text);
}

Code::~Code() = default;

} // namespace gf::cpu::llvm
