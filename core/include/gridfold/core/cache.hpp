// Compiled kernels, kept: in memory for the process, and on disk for the next one.
//
// On disk an entry is one file, named by the SHA-256 of everything that the compiler is given: kernel text, device,
// options, and the version of this format. It holds that key, who compiled it (nvrtc::Identity), the image, and a
// checksum. The compiler's version is inside, not in the name, so that a warm cache need not load a compiler (5 ms): an
// entry is good if its compiler is still there, unchanged, or was replaced by one of the same version, or if there is
// no compiler at all; else it is compiled again and replaced. Files are written beside their place and renamed.
//
// The folder is $GRIDFOLD_CACHE_DIR, $XDG_CACHE_HOME/gridfold or ~/.cache/gridfold, made with mode 0700. A folder that
// others may write to is not used: an entry is code. Whatever is wrong with an entry or the folder is a miss, never an
// error.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gridfold/core/nvrtc.hpp>

namespace gf {

/// What a cache finds an image by.
struct KernelKey {
    std::string text;         ///< the whole kernel text
    int capability_major = 0; ///< of the device
    int capability_minor = 0;
    std::vector<std::string> options; ///< the compiler's
};

/// The folder of cache files. All calls are thread-safe, and safe beside other processes.
class DiskCache {
public:
    /// An empty folder: nothing is stored or found.
    explicit DiskCache(std::string folder) : folder_(std::move(folder)) {}
    /// The folder by the rule above; "" where there is no home either.
    static std::string default_folder();

    struct Entry {
        nvrtc::Identity compiler;
        std::string image;
    };
    std::optional<Entry> find(const KernelKey& key) const;
    void store(const KernelKey& key, const Entry& entry) const noexcept;
    /// Where the key's entry is or would be.
    std::string path_of(const KernelKey& key) const;

private:
    std::string folder_;
};

/// An image ready to be loaded.
struct Image {
    std::shared_ptr<const std::string> bytes;
    bool was_cached = false;
};

/// The image for a key: from this process's memory, from the disk cache, or compiled now. Thread-safe; different keys
/// are compiled in parallel. Throws CompileError; DeviceError where it must be compiled and there is no compiler.
Image image_for(const KernelKey& key);

} // namespace gf
