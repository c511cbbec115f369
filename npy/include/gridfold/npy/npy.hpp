// Arrays in files: NumPy's .npy, and raw elements. Reading maps a file; writing replaces it in one step.
//
//     const gf::npy::Array x = gf::npy::open("x.npy");
//     const gf::Results r = exe.run({{"x", x.view()}});
//     gf::npy::write("y.npy", r.array("y"));
//
// The .npy format is that of numpy.lib.format, versions 1.0 to 3.0, for little-endian numbers and bool. An array in
// Fortran order is copied to C order. Errors are IoError, with the file, the rule and the fix.
#pragma once

#include <span>
#include <string>

#include <gridfold/core/buffer.hpp>
#include <gridfold/core/view.hpp>
#include <gridfold/npy/file_bytes.hpp>

namespace gf::npy {

struct Header;

/// An array in a file. The view lives as long as this, and through moves of it.
class Array {
public:
    const View& view() const noexcept { return view_; }

private:
    friend class Opener;
    Array(FileBytes file, const Header& header);
    FileBytes file_;
    HostBuffer copy_; ///< the elements again, where their place in the file or their order is not what a view has
    View view_;
};

/// Opens a .npy file. Throws for one that can't be read, whose header is not exactly what the format says, whose size
/// is not what its header says, or whose elements gridfold does not take.
Array open(const std::string& path);
Array open(FileBytes file);

/// Opens a file of elements and nothing else. Without extents: one dim, as long as the file.
Array open_raw(const std::string& path, DType type);
Array open_raw(const std::string& path, DType type, const Extents& extents);
Array open_raw(FileBytes file, DType type);
Array open_raw(FileBytes file, DType type, const Extents& extents);

/// Writes a host array as a .npy file, in one step. Throws where that fails, and for bf16, which NumPy does not have.
void write(const std::string& path, const View& array);

/// Writes a .npy file to an open descriptor, such as 1 for stdout: the array whose elements are those of `parts`, one
/// part after the other. `name` is for messages. Where it throws, part of the file may have been written.
void write(int descriptor, const std::string& name, DType type, const Extents& extents, std::span<const View> parts);

/// The file that writing to `path` replaces: links are followed, `..` and the like resolved.
std::string written_path(const std::string& path);

/// Checks that .npy files have this type. `name` is the file's, for messages.
void check_type(const std::string& name, DType type);

/// Checks that PendingFile will take arrays of this type, and the path be a place for a file.
void check_writable(const std::string& path, DType type);

/// A .npy file on its way: written beside its place (written_path()), which it takes at commit(), with the permissions
/// of what is there. Until then the place is untouched; without commit() nothing is left.
class PendingFile {
public:
    /// Writes a host array. Throws as write() does.
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

} // namespace gf::npy
