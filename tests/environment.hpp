// Environment variables that tests set.
#pragma once

#include <cstdlib>

namespace gf::test {

/// Sets an environment variable while it lives; then it is not set.
class SetVariable {
public:
    SetVariable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
    ~SetVariable() { unsetenv(name_); }
    SetVariable(const SetVariable&) = delete;
    SetVariable& operator=(const SetVariable&) = delete;

private:
    const char* name_;
};

struct ChosenSet : SetVariable {
    explicit ChosenSet(const char* name) : SetVariable("GRIDFOLD_CPU", name) {}
};
struct ChosenLlvm : SetVariable {
    explicit ChosenLlvm(const char* value) : SetVariable("GRIDFOLD_LLVM", value) {}
};
struct ChosenFarMemory : SetVariable {
    explicit ChosenFarMemory(const char* arrays) : SetVariable("GRIDFOLD_FAR_MEMORY", arrays) {}
};

} // namespace gf::test
