// Arrays in files: NumPy's .npy, and raw elements. Reading maps the file; writing replaces it in one step.
//
// The .npy format is that of numpy.lib.format, versions 1.0 to 3.0, for C order, little-endian numbers and bool.
#pragma once

#include <span>
#include <string>

#include <gridfold/core/buffer.hpp>
#include <gridfold/core/view.hpp>

#include <gridfold/npy/file_bytes.hpp>

namespace gf::npy {

/// An array in a file. The view lives as long as this.
class Array {
public:
    Array(FileBytes file, std::size_t offset, DType type, const Extents& extents);
    const View& view() const noexcept { return view_; }

private:
    FileBytes file_;
    HostBuffer aligned_; ///< the elements again, where their place in the file is no multiple of their size
    View view_;
};

/// Opens a .npy file. Throws InvalidGraph, with the file, the rule and the fix, for one that can't be read, whose
/// header is not exactly what the format says, whose size is not what its header says, or whose elements gridfold does
/// not take.
Array open(const std::string& path);

/// Opens a file of elements and nothing else. Without extents: one dim, as long as the file.
Array open_raw(const std::string& path, DType type);
Array open_raw(const std::string& path, DType type, const Extents& extents);

/// The file that writing to `path` replaces: links are followed, `..` and the like resolved.
std::string written_path(const std::string& path);

/// A .npy file on its way: written beside its place (written_path()), which it takes at commit(), with the permissions
/// of what is there. Until then the place is untouched; without commit() nothing is left.
class PendingFile {
public:
    /// Writes a host array. Throws InvalidGraph where that fails, and for bf16, which NumPy does not have.
    PendingFile(const std::string& path, const View& array)
        : PendingFile(path, array.type, array.extents, {&array, 1}) {}
    /// The same, of an array whose elements are those of `parts`, one part after the other.
    PendingFile(const std::string& path, DType type, const Extents& extents, std::span<const View> parts);
    PendingFile(PendingFile&& other) noexcept;
    PendingFile& operator=(PendingFile&&) = delete;
    ~PendingFile();
    void commit();

private:
    std::string path_, temporary_; ///< temporary_: "" once it has been moved
};

/// Checks that PendingFile will take arrays of this type, and the path be a place for a file.
void check_writable(const std::string& path, DType type);

/// Writes a host array as a .npy file, in one step.
void write(const std::string& path, const View& array);

} // namespace gf::npy
