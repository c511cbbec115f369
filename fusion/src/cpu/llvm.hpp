// LLVM's just-in-time compiler through its C API, loaded when the first text is compiled: the library that
// GRIDFOLD_LLVM names, or version 20, 19, …, 15 by the names that Debian and Ubuntu give it. No build needs LLVM.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace gf::cpu::llvm {

/// Why this process cannot compile; "" if it can. Thread-safe.
std::string unavailable_reason();

/// When loops are compiled. GRIDFOLD_LLVM may also be "none" or "always".
enum class Use : std::uint8_t {
    never,
    when_worth, ///< once steps have taken about as long as compiling takes
    always,     ///< before the first run
};
/// Throws InvalidOption if GRIDFOLD_LLVM asks for a library that cannot be loaded.
Use chosen_use();

/// The machine code of one function, which ends with the object.
class Code {
public:
    /// Compiles a module in LLVM's IR; `name`: its function. Throws InternalError if LLVM is not there or does not
    /// accept the text, or if the process may not make code. One thread at a time.
    Code(const std::string& text, const char* name);
    ~Code();
    Code(const Code&) = delete;
    Code& operator=(const Code&) = delete;

    void* address() const { return address_; }

private:
    struct Engine;
    std::unique_ptr<Engine> engine_;
    void* address_ = nullptr;
};

} // namespace gf::cpu::llvm
