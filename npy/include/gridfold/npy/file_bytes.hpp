// A file's bytes in memory, without reading it first.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace gf {

/// A regular file mapped read-only. Move-only. An empty file is a null address.
class FileBytes {
public:
    /// Throws InvalidGraph where there is no such file, or it can't be read or mapped.
    explicit FileBytes(const std::string& path);
    FileBytes(FileBytes&& other) noexcept
        : address_(std::exchange(other.address_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    FileBytes& operator=(FileBytes&& other) noexcept {
        std::swap(address_, other.address_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~FileBytes();

    const char* address() const noexcept { return static_cast<const char*>(address_); }
    std::size_t bytes() const noexcept { return bytes_; }

private:
    void* address_ = nullptr;
    std::size_t bytes_ = 0;
};

} // namespace gf
