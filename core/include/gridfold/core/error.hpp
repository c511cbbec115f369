// The errors gridfold throws, split by whose fault it is. A call that throws has created and changed nothing.
//
//     Error ┬ UsageError: your mistake ┬ InvalidGraph    in a graph or its text
//           │                          ├ InvalidBinding  in an argument bound to a graph
//           │                          ├ InvalidResult   in a request to results: its name, type or time
//           │                          └ InvalidOption   in an option, an environment variable or a command line
//           ├ EmptyReduction   the requested value has no contributing element
//           ├ IoError          a file could not be read, or has another content than expected
//           ├ CompileError     a generated kernel did not compile
//           ├ DeviceError      a device could not do what was asked
//           ├ OutOfMemory      the host has no room for an array
//           └ InternalError    gridfold's own mistake
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace gf {

/// Base of every exception class that gridfold defines.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The user's mistake, found before anything runs. The message is "subject: rule; fix", without the parts that are "".
class UsageError : public Error {
public:
    /// The message ends with `excerpt`, the lines that show the place.
    UsageError(std::string subject, std::string rule, std::string fix, std::string_view excerpt = {})
        : Error(message(subject, rule, fix, excerpt)), subject_(std::move(subject)), rule_(std::move(rule)),
          fix_(std::move(fix)) {}
    /// What is wrong: the value as it was given, by name.
    const std::string& subject() const noexcept { return subject_; }
    /// The rule that it breaks.
    const std::string& rule() const noexcept { return rule_; }
    /// What to do about it.
    const std::string& fix() const noexcept { return fix_; }

private:
    static std::string message(std::string_view subject, std::string_view rule, std::string_view fix,
                               std::string_view excerpt) {
        std::string text(subject);
        text.append(!text.empty() && !rule.empty() ? ": " : "").append(rule);
        text.append(!text.empty() && !fix.empty() ? "; " : "").append(fix);
        return text.append(excerpt.empty() ? "" : "\n").append(excerpt);
    }
    std::string subject_, rule_, fix_;
};

/// A mistake in a graph or its text. A text's subject begins with line and column.
class InvalidGraph : public UsageError {
public:
    using UsageError::UsageError;
};

/// A mistake in the arguments bound to a graph: names, types, extents, memory.
class InvalidBinding : public UsageError {
public:
    using UsageError::UsageError;
};

/// A mistake in a request to results: a name, a type, or the time (results() before a run, run() during a capture).
class InvalidResult : public UsageError {
public:
    using UsageError::UsageError;
};

/// A mistake in an option, a device's name, an environment variable or a command line.
class InvalidOption : public UsageError {
public:
    using UsageError::UsageError;
};

/// A file could not be read or written, or has another content than expected. The message says which and what to do.
class IoError : public Error {
public:
    IoError(const std::string& what, std::string path) : Error(what), path_(std::move(path)) {}
    const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

/// A generated kernel did not compile (possible only with a user's own map or monoid). `source()` is the kernel text,
/// `log()` the compiler's messages, each followed by the line of the text that it names.
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

/// A device could not do what was asked: none is present, its memory ran out, or a driver call failed. `call()` is the
/// driver's entry point ("" if none was called), `code()` its CUresult (then 0).
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

/// The host has no room for an array of `bytes()`. (Small allocations that fail are a std::bad_alloc.)
class OutOfMemory : public Error {
public:
    OutOfMemory(const std::string& what, std::size_t bytes) : Error(what), bytes_(bytes) {}
    std::size_t bytes() const noexcept { return bytes_; }

private:
    std::size_t bytes_;
};

/// The requested value has no contributing element (the minimum of integers that are all masked, say).
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
