// See calls.hpp.
#include "calls.hpp"

#include <cstring>

namespace gf::emulator {

namespace {

constexpr std::size_t most_arguments = 4096;

/// `refusal` if a capture in progress forbids the call, which invalidates that capture; else success.
template <class Forbids> int unless_captured(int refusal, Forbids&& forbids) {
    const auto lock = locked();
    int outcome = success;
    for (CUstream_st* stream : capturing())
        if (forbids(*stream)) stream->invalid = true, outcome = refusal;
    return outcome;
}

} // namespace

ThreadState& this_thread() {
    thread_local ThreadState state;
    return state;
}

std::vector<CUstream_st*>& capturing() {
    static std::vector<CUstream_st*> streams;
    return streams;
}

CUstream_st* end_capture(CUstream_st* stream) {
    std::erase(capturing(), stream);
    return stream;
}

int gate() { return in_destroy() ? not_permitted : device().gate(); }

int gate_in_context() {
    const int code = gate();
    return code != success ? code : this_thread().contexts.empty() ? no_context : success;
}

int gate_unsafe() {
    if (const int code = gate_in_context(); code != success) return code;
    return unless_captured(capture_unsupported, [mode = this_thread().capture_mode](const CUstream_st& stream) {
        const bool own = stream.thread == std::this_thread::get_id();
        return stream.mode != driver::capture_relaxed && mode != driver::capture_relaxed &&
               (own || (stream.mode == capture_global && mode == capture_global));
    });
}

int gate_of(const CUstream_st* stream) {
    if (const int code = stream == nullptr ? gate_in_context() : gate(); code != success) return code;
    if (stream == nullptr)
        return unless_captured(capture_implicit, [](const CUstream_st& captured) { return captured.blocking; });
    return unless_captured(capture_unsupported, [&](const CUstream_st& captured) { return &captured == stream; });
}

int to_call(CUfunc_st* function, unsigned blocks, unsigned threads, void** parameters, KernelCall& call) {
    if (function == nullptr || blocks == 0 || threads == 0 || threads % 32 != 0 || threads > 1024) return invalid_value;
    call = {function->module, blocks, threads, {}};
    std::size_t bytes = 0;
    for (std::size_t i = 0; const Parameter& parameter : function->module->parameters(0)) {
        if (parameter.bytes > sizeof(std::uint64_t)) return invalid_value;
        bytes += parameter.bytes;
        std::memcpy(&call.values.emplace_back(), parameters[i++], parameter.bytes);
    }
    return bytes > most_arguments ? invalid_value : success;
}

int check_room(const KernelCall& call) {
    const auto lock = locked();
    const bool fits = int(call.blocks) <= multiprocessors * control().resident_blocks;
    return !call.cooperative || fits ? success : gf::driver::cooperative_too_large;
}

void count_wait() {
    const auto lock = locked();
    ++control().waits;
}

} // namespace gf::emulator
