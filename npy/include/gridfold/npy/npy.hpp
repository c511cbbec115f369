// Arrays in files: NumPy's .npy, and raw elements. Reading maps a file; writing replaces it in one step.
//
//     const gf::npy::Array x = gf::npy::open("x.npy");
//     const gf::Results r = exe.run({{"x", x.view()}});
//     gf::npy::write("y.npy", r.array("y"));
//
// The .npy format is that of numpy.lib.format, versions 1.0 to 3.0, for little-endian numbers and bool. An array in
// Fortran order is a view with strides. Errors are IoError, with the file, the rule and the fix.
#pragma once

#include <span>
#include <string>

#include <gridfold/core/buffer.hpp>
#include <gridfold/core/view.hpp>
#include <gridfold/npy/file_bytes.hpp>

namespace gf::npy {

struct Header;

/// An array in a file. The view is valid as long as the Array lives, also after moves.
class Array {
public:
    const View& view() const noexcept { return view_; }

private:
    friend class Opener;
    Array(FileBytes file, const Header& header);
    FileBytes file_;
    HostBuffer copy_; ///< a copy of the elements if the file has them unaligned
    View view_;
};

/// Opens a .npy file. Throws if the file cannot be read, its header does not follow the format exactly, its size
/// differs from its header's, or gridfold has no such element type.
Array open(const std::string& path);
Array open(FileBytes file);

/// Opens a file that holds only elements. Without extents: one dim with all elements.
Array open_raw(const std::string& path, DType type);
Array open_raw(const std::string& path, DType type, const Extents& extents);
Array open_raw(FileBytes file, DType type);
Array open_raw(FileBytes file, DType type, const Extents& extents);

/// Writes a host array as a .npy file in C order, in one step. Throws if that fails, and for bf16, which NumPy does not
/// have.
void write(const std::string& path, const View& array);

/// Writes a .npy file to an open descriptor, such as 1 for stdout. The array's elements are those of `parts` in order.
/// `name` is for messages. If it throws, a part of the file may have been written.
void write(int descriptor, const std::string& name, DType type, const Extents& extents, std::span<const View> parts);

/// The file that writing to `path` replaces, with links and `..` resolved.
std::string written_path(const std::string& path);

/// Checks that .npy files can have this type. `name` is the file's, for messages.
void check_type(const std::string& name, DType type);

/// Checks that PendingFile can write arrays of this type to `path`.
void check_writable(const std::string& path, DType type);

/// A .npy file in a temporary file of the same folder. commit() renames it to written_path(), with the permissions of
/// the file that it replaces. Without commit() the destructor removes it.
class PendingFile {
public:
    /// Writes a host array. Throws like write().
    PendingFile(const std::string& path, const View& array)
        : PendingFile(path, array.type, array.extents, {&array, 1}) {}
    /// Writes an array whose elements are those of `parts` in order.
    PendingFile(const std::string& path, DType type, const Extents& extents, std::span<const View> parts);
    PendingFile(PendingFile&& other) noexcept;
    PendingFile& operator=(PendingFile&&) = delete;
    ~PendingFile();
    void commit();

private:
    std::string path_, temporary_; ///< temporary_: "" after commit()
};

} // namespace gf::npy
