// Arrays in device memory, for tests that bind them.
#pragma once

#include <cstdint>
#include <vector>

#include <gridfold/core/buffer.hpp>
#include <gridfold/core/device.hpp>
#include <gridfold/core/stream.hpp>

namespace gf::test {

/// A device array with these elements.
class DeviceArray {
public:
    explicit DeviceArray(const std::vector<float>& elements)
        : buffer_(0, elements.size() * sizeof(float)), extents_{static_cast<std::int64_t>(elements.size())} {
        set(elements);
    }
    /// Replaces the elements by as many others.
    void set(const std::vector<float>& elements) const {
        const CurrentDevice current(0);
        const Stream stream(0, StreamKind::ordered_with_default);
        copy_to_device(buffer_.address(), elements.data(), buffer_.bytes(), stream);
        stream.wait();
    }
    View view() const { return buffer_.view(DType::f32, extents_); }
    float* pointer() const { return static_cast<float*>(buffer_.address()); }

private:
    DeviceBuffer buffer_;
    Extents extents_;
};

inline std::vector<float> to_host(const View& view) {
    std::vector<float> elements(static_cast<std::size_t>(view.extents[0]));
    const CurrentDevice current(0);
    const Stream stream(0, StreamKind::ordered_with_default);
    copy_to_host(elements.data(), view.address, elements.size() * sizeof(float), stream);
    stream.wait();
    return elements;
}

} // namespace gf::test
