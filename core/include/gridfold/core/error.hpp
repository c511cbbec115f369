// The errors gridfold throws, split by whose fault it is. A call that throws has created and changed nothing.
#pragma once

#include <stdexcept>
#include <string>

namespace gf {

/// Base of every exception that gridfold throws on its own account.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The user's mistake in a graph, its text, its bindings or its options. The message names the value, the rule and
/// the fix. Thrown before anything runs.
class InvalidGraph : public Error {
public:
    using Error::Error;
};

/// A generated kernel did not compile (possible only with a user's own map or monoid). `source()` is the kernel text,
/// `log()` the compiler's words, each with the line of the text that it is about.
class CompileError : public Error {
public:
    CompileError(const std::string& what, std::string source, std::string log)
        : Error(what), source_(std::move(source)), log_(std::move(log)) {}
    const std::string& source() const noexcept { return source_; }
    const std::string& log() const noexcept { return log_; }

private:
    std::string source_;
    std::string log_;
};

/// A device could not do what was asked: none is present, memory ran out, or a driver call failed. `call()` is the
/// driver's entry point ("" where none was called), `code()` its CUresult (0 likewise).
class DeviceError : public Error {
public:
    DeviceError(const std::string& what, std::string call = {}, int code = 0)
        : Error(what), call_(std::move(call)), code_(code) {}
    const std::string& call() const noexcept { return call_; }
    int code() const noexcept { return code_; }

private:
    std::string call_;
    int code_;
};

/// A value was asked for that no element contributed to (the minimum of integers that are all masked, say).
class EmptyReduction : public Error {
public:
    using Error::Error;
};

/// gridfold's own mistake. The message carries the graph in its text form; please report it.
class InternalError : public Error {
public:
    using Error::Error;
};

} // namespace gf
