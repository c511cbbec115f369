#include <gridfold/core/device.hpp>

#include <cstdint>

#include "driver/driver.hpp"

namespace gf {

PointerQuery::PointerQuery() : cu_(driver::table_if_loaded()) {}

PointerInfo PointerQuery::operator()(const void* pointer) const {
    if (cu_ == nullptr) return {};
    const auto ask = [&](int attribute, auto& value) {
        return cu_->pointer_get_attribute(&value, attribute, reinterpret_cast<std::uintptr_t>(pointer)).code ==
               driver::success;
    };
    unsigned type = 0;
    if (!ask(driver::pointer_memory_type, type)) return {};
    unsigned managed = 0; // a CUDA bool: the driver writes an unsigned int
    PointerInfo info;
    info.managed = ask(driver::pointer_is_managed, managed) && managed != 0;
    if (type == driver::memory_type_device || info.managed) {
        info.memory = Memory::device;
        if (!ask(driver::pointer_device_ordinal, info.device)) info.device = -1;
    } else {
        info.pinned = type == driver::memory_type_host;
    }
    return info;
}

CaptureRelaxed::CaptureRelaxed() : mode_(driver::capture_relaxed) {
    driver::check(driver::table().thread_exchange_capture_mode(&mode_));
}

CaptureRelaxed::~CaptureRelaxed() {
    if (const driver::Table* cu = driver::table_or_null()) driver::report(cu->thread_exchange_capture_mode(&mode_));
}

CurrentDevice::CurrentDevice(int ordinal) {
    const driver::Table& cu = driver::table();
    CUctx_st* wanted = driver::primary_context(ordinal);
    CUctx_st* current = nullptr;
    driver::check(cu.ctx_get_current(&current));
    if (current == wanted) return;
    driver::check(cu.ctx_push_current(wanted));
    pushed_ = true;
}

CurrentDevice::~CurrentDevice() {
    const driver::Table* cu = pushed_ ? driver::table_or_null() : nullptr;
    if (cu == nullptr) return;
    CUctx_st* popped = nullptr;
    driver::report(cu->ctx_pop_current(&popped));
}

bool is_device_lost(const DeviceError& error) noexcept {
    switch (error.code()) {
    case driver::ecc_uncorrectable:
    case driver::nvlink_uncorrectable:
    case driver::illegal_address:
    case driver::launch_timeout:
    case driver::context_is_destroyed:
    case driver::assert_failed:
    case driver::hardware_stack_error:
    case driver::illegal_instruction:
    case driver::misaligned_address:
    case driver::invalid_address_space:
    case driver::invalid_pc:
    case driver::launch_failed: return true;
    default: return false; // CUDA's codes are an open set
    }
}

} // namespace gf
