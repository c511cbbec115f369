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

Stream::Stream(int device, StreamKind kind) : device_(device) {
    const CurrentDevice current(device);
    check(table().stream_create(&stream_,
                                static_cast<unsigned>(kind == StreamKind::independent ? driver::stream_non_blocking
                                                                                      : driver::stream_blocking)));
}

Stream::~Stream() {
    if (stream_ == nullptr) return;
    driver::release_on(device_, [&](const driver::Table& cu) { return cu.stream_destroy(stream_); });
}

void Stream::wait() const { check(table().stream_synchronize(stream_)); }

void copy_to_device(void* to, const void* from, std::size_t bytes, StreamView stream) {
    if (bytes != 0) check(table().copy_to_device(address_of(to), from, bytes, stream.get()));
}

void copy_to_host(void* to, const void* from, std::size_t bytes, StreamView stream) {
    if (bytes != 0) check(table().copy_to_host(to, address_of(from), bytes, stream.get()));
}

void fill_bytes(void* to, unsigned char byte, std::size_t bytes, StreamView stream) {
    if (bytes != 0) check(table().memset_d8(address_of(to), byte, bytes, stream.get()));
}

Event::Event(int device) : device_(device) {
    const CurrentDevice current(device);
    check(table().event_create(&event_, driver::event_no_timing));
}

Event::~Event() {
    if (event_ == nullptr) return;
    driver::release_on(device_, [&](const driver::Table& cu) { return cu.event_destroy(event_); });
}

void Event::record(StreamView stream) {
    const driver::Outcome recorded = table().event_record(event_, stream.get());
    if (recorded.code != driver::success) static_cast<void>(table().stream_synchronize(stream.get())); // or it is lost
    check(recorded);
}
bool Event::is_reached() const { return driver::check_ready(table().event_query(event_)); }
void Event::wait() const { check(table().event_synchronize(event_)); }
void Event::order_before(StreamView stream) const { check(table().stream_wait_event(stream.get(), event_, 0)); }

} // namespace gf
