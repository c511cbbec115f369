#include <gridfold/core/stream.hpp>

#include <cstdint>

#include <gridfold/core/event.hpp>

#include "driver/release.hpp"

namespace gf {

using driver::check;
using driver::table;

namespace {

driver::Address address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

} // namespace

void detail::release(int device, CUstream_st* stream) noexcept {
    driver::release_on(device, [&](const driver::Table& cu) { return cu.stream_destroy(stream); });
}

void detail::release(int device, CUevent_st* event) noexcept {
    driver::release_on(device, [&](const driver::Table& cu) { return cu.event_destroy(event); });
}

Stream::Stream(int device, StreamKind kind) {
    const CurrentDevice current(device);
    CUstream_st* stream = nullptr;
    check(table().stream_create(&stream,
                                static_cast<unsigned>(kind == StreamKind::independent ? driver::stream_non_blocking
                                                                                      : driver::stream_blocking)));
    stream_ = {device, stream};
}

void Stream::wait() const { check(table().stream_synchronize(stream_.get())); }

void copy_to_device(void* to, const void* from, std::size_t bytes, StreamView stream) {
    if (bytes != 0) check(table().copy_to_device(address_of(to), from, bytes, stream.get()));
}

void copy_to_host(void* to, const void* from, std::size_t bytes, StreamView stream) {
    if (bytes != 0) check(table().copy_to_host(to, address_of(from), bytes, stream.get()));
}

void fill_bytes(void* to, unsigned char byte, std::size_t bytes, StreamView stream) {
    if (bytes != 0) check(table().memset_d8(address_of(to), byte, bytes, stream.get()));
}

Event::Event(int device) {
    const CurrentDevice current(device);
    CUevent_st* event = nullptr;
    check(table().event_create(&event, driver::event_no_timing));
    event_ = {device, event};
}

void Event::record(StreamView stream) {
    const driver::Outcome recorded = table().event_record(event_.get(), stream.get());
    // The contract: it waits before it throws.
    if (recorded.code != driver::success) static_cast<void>(table().stream_synchronize(stream.get())); // defect: wait
    check(recorded);
}
bool Event::is_reached() const { return driver::check_ready(table().event_query(event_.get())); }
void Event::wait() const { check(table().event_synchronize(event_.get())); }
void Event::order_before(StreamView stream) const { check(table().stream_wait_event(stream.get(), event_.get(), 0)); }

} // namespace gf
