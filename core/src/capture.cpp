#include <gridfold/core/capture.hpp>

#include <atomic>

#include "driver/driver.hpp"

namespace gf {

using driver::check;

namespace {

/// An object that captured graphs own; after its release, an element of the list of objects to destroy.
struct Owned {
    std::shared_ptr<void> object;
    Owned* next = nullptr;
};

std::atomic<Owned*> retired{nullptr};

/// Called by CUDA after the last graph has released the object, on a thread where CUDA may not be called.
void retire(void* pointer) {
    auto* owned = static_cast<Owned*>(pointer);
    owned->next = retired.load(std::memory_order_relaxed);
    while (!retired.compare_exchange_weak(owned->next, owned, std::memory_order_release, std::memory_order_relaxed)) {}
}

} // namespace

bool is_capturing(StreamView stream) {
    int status = driver::capture_none;
    check(driver::table().stream_is_capturing(stream.get(), &status));
    return status != driver::capture_none;
}

void give_to_captured_graph(StreamView stream, std::shared_ptr<void> object) {
    const driver::Table& cu = driver::table();
    int status = driver::capture_none;
    CUgraph_st* graph = nullptr;
    check(cu.stream_get_capture_info(stream.get(), &status, nullptr, &graph, nullptr, nullptr));
    if (status != driver::capture_active)
        throw DeviceError("the stream is not being captured, or its capture was invalidated; begin the capture again");
    auto owned = std::make_unique<Owned>(Owned{std::move(object), nullptr});
    CUuserObject_st* user_object = nullptr;
    check(cu.user_object_create(&user_object, owned.get(), retire, 1, driver::user_object_no_sync));
    static_cast<void>(owned.release()); // now owned by retire()
    const driver::Outcome moved = cu.graph_retain_user_object(graph, user_object, 1, driver::user_object_move);
    if (moved.code != driver::success) driver::report(cu.user_object_release(user_object, 1));
    check(moved);
}

void release_retired() noexcept {
    Owned* owned = retired.exchange(nullptr, std::memory_order_acquire);
    while (owned != nullptr) {
        const std::unique_ptr<Owned> last(owned);
        owned = owned->next;
    }
}

} // namespace gf
