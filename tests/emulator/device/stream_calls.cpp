// The driver's entry points for streams, captures, events and launches, including those that only a user of CUDA calls
// to capture.
#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "calls.hpp"

using gf::driver::LaunchConfig;
using namespace gf::emulator;

namespace {

constexpr int capture_status_invalidated = 2;

bool is_one(unsigned y, unsigned z) { return y == 1 && z == 1; }

} // namespace

EXPORT int cuStreamCreate(CUstream_st** stream, unsigned flags) {
    if (const int code = gate_in_context(); code != success) return code;
    auto* made = new CUstream_st;
    made->blocking = flags != gf::driver::stream_non_blocking;
    return keep(stream, made);
}
EXPORT int cuStreamDestroy_v2(CUstream_st* stream) { return destroy(stream); }
EXPORT int cuStreamSynchronize(CUstream_st* stream) {
    if (const int code = gate_of(stream); code != success) return code;
    count_wait();
    // The default stream is done when work that is pushed now is.
    device().queue.wait_for(stream == nullptr ? device().queue.push(nullptr, [] {}) : device().queue.last_of(*stream));
    return device().lost();
}
EXPORT int cuStreamWaitEvent(CUstream_st* stream, CUevent_st* event, unsigned) {
    if (const int code = gate_of(stream); code != success) return code;
    const auto lock = locked();
    if (event->recorded != 0)
        device().queue.push(
            stream, [] {}, event->recorded);
    return success;
}
EXPORT int cuStreamIsCapturing(CUstream_st* stream, int* status) {
    const int code = gate();
    const auto lock = locked();
    if (stream == nullptr && std::ranges::any_of(capturing(), [](const CUstream_st* s) { return s->blocking; }))
        return capture_implicit;
    *status = stream == nullptr || stream->captured == nullptr ? gf::driver::capture_none
              : stream->invalid                                ? capture_status_invalidated
                                                               : gf::driver::capture_active;
    return code;
}
EXPORT int cuStreamGetCaptureInfo_v2(CUstream_st* stream, int* status, gf::driver::Id*, CUgraph_st** graph,
                                     CUgraphNode_st* const**, std::size_t*) {
    const auto lock = locked();
    *graph = stream->invalid ? nullptr : static_cast<CUgraph_st*>(stream->captured);
    return cuStreamIsCapturing(stream, status);
}
EXPORT int cuThreadExchangeStreamCaptureMode(int* mode) {
    const int code = gate();
    if (code == success) std::swap(this_thread().capture_mode, *mode);
    return code;
}
EXPORT int cuStreamBeginCapture_v2(CUstream_st* stream, int mode) {
    const auto lock = locked();
    capturing().push_back(stream);
    stream->captured = new CUgraph_st;
    stream->last = nullptr;
    stream->mode = mode;
    stream->thread = std::this_thread::get_id();
    stream->invalid = false;
    return success;
}
EXPORT int cuStreamEndCapture(CUstream_st* stream, CUgraph_st** graph) {
    const auto lock = locked();
    auto* const captured = static_cast<CUgraph_st*>(std::exchange(end_capture(stream)->captured, nullptr));
    if (!stream->invalid) return keep(graph, captured);
    delete captured;
    return *graph = nullptr, capture_invalidated;
}

EXPORT int cuEventCreate(CUevent_st** event, unsigned) {
    if (const int code = gate_in_context(); code != success) return code;
    return keep(event, new CUevent_st);
}
EXPORT int cuEventDestroy_v2(CUevent_st* event) { return destroy(event); }
EXPORT int cuEventRecord(CUevent_st* event, CUstream_st* stream) {
    if (const int code = gate_of(stream); code != success) return code;
    const auto lock = locked();
    event->recorded = device().queue.push(stream, [] {});
    return success;
}
EXPORT int cuEventQuery(CUevent_st* event) {
    if (const int code = gate_unsafe(); code != success) return code;
    return device().queue.is_done(event->recorded) ? device().lost() : gf::driver::not_ready;
}
EXPORT int cuEventSynchronize(CUevent_st* event) {
    if (const int code = gate_unsafe(); code != success) return code;
    count_wait();
    device().queue.wait_for(event->recorded);
    return device().lost();
}

EXPORT int cuLaunchKernelEx(const LaunchConfig* config, CUfunc_st* function, void** parameters, void**) {
    CUstream_st* const stream = config->stream;
    const int code = stream != nullptr && stream->captured != nullptr ? gate() : gate_of(stream);
    if (code != success) return code;
    KernelCall call;
    if (!is_one(config->grid_y, config->grid_z) || !is_one(config->block_y, config->block_z) ||
        config->shared_bytes > most_shared_bytes)
        return invalid_value;
    if (const int wrong = to_call(function, config->grid_x, config->block_x, parameters, call); wrong != success)
        return wrong;
    // Overlapping is permitted, not required: kernels do not overlap here.
    for (unsigned i = 0; i < config->attribute_count; ++i) {
        const int id = config->attributes[i].id;
        if (id != gf::driver::launch_overlapping && id != gf::driver::launch_cooperative) return invalid_value;
        call.cooperative = call.cooperative || id == gf::driver::launch_cooperative;
    }
    if (const int wrong = check_room(call); wrong != success) return wrong;
    const auto lock = locked();
    if (stream == nullptr || stream->captured == nullptr) {
        device().queue.push(stream, [call] { device().execute(call); });
    } else if (stream->invalid) {
        return capture_invalidated;
    } else {
        auto node = std::make_unique<Node>(Node{std::move(call), {}});
        if (stream->last != nullptr) node->after.push_back(stream->last);
        stream->last = node.get();
        stream->captured->nodes.push_back(std::move(node));
    }
    return success;
}
