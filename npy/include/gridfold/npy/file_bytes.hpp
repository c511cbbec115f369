// The bytes of a file or a pipe, in memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace gf::npy {

/// All bytes of a file. A regular file is mapped read-only: its pages are read when they are used. A pipe or a socket
/// is read to its end. Move-only. Without bytes, the address is null.
class FileBytes {
public:
    /// Opens a regular file or a named pipe, whose writer it waits for. Throws IoError if the file does not exist or
    /// cannot be read.
    explicit FileBytes(const std::string& path);
    /// Reads the rest of an open descriptor, such as 0 for stdin. The caller keeps the descriptor, which stays open.
    /// `name` is for messages. Throws IoError if it cannot be read.
    FileBytes(int descriptor, std::string name);
    FileBytes(FileBytes&& other) noexcept { swap(other); }
    FileBytes& operator=(FileBytes&& other) noexcept {
        swap(other);
        return *this;
    }
    ~FileBytes();

    /// The path, or the name of the descriptor.
    const std::string& name() const noexcept { return name_; }
    std::string_view bytes() const noexcept { return {static_cast<const char*>(address_), count_}; }

private:
    FileBytes() = default;
    void take(int descriptor);
    void map(int descriptor, std::size_t count);
    void read_to_end(int descriptor);
    void resize(std::size_t bytes);
    void swap(FileBytes& other) noexcept {
        name_.swap(other.name_);
        std::swap(address_, other.address_);
        std::swap(count_, other.count_);
        std::swap(mapped_, other.mapped_);
    }

    std::string name_;
    void* address_ = nullptr;
    std::size_t count_ = 0;
    std::size_t mapped_ = 0; ///< bytes of address space: at least count_
};

} // namespace gf::npy
