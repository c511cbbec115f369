// The owner behind every owner of a driver object.
#pragma once

#include <utility>

namespace gf {

/// Owns an object on a device, or none. Move-only. `release` reports failures and never throws.
template <class T, void (*release)(int device, T* object) noexcept> class Handle {
public:
    Handle() = default;
    Handle(int device, T* object) noexcept : object_(object), device_(device) {}
    Handle(Handle&& other) noexcept : object_(std::exchange(other.object_, nullptr)), device_(other.device_) {}
    Handle& operator=(Handle&& other) noexcept {
        Handle old(std::move(*this));
        object_ = std::exchange(other.object_, nullptr);
        device_ = other.device_;
        return *this;
    }
    ~Handle() {
        if (object_ != nullptr) release(device_, object_);
    }
    T* get() const noexcept { return object_; }
    int device() const noexcept { return device_; }

private:
    T* object_ = nullptr;
    int device_ = 0;
};

} // namespace gf
