// The cache of compiled kernels: in memory for this process, on disk for later ones.
//
// On disk an entry is one file, named by the SHA-256 of the compiler's whole input (kernel text, device, options) and
// the version of this format. It holds that key, the compiler's identity (nvrtc::Identity), the image, and a checksum.
// The compiler's version is inside, not in the name, so that a warm cache need not load a compiler (5 ms). An entry is
// valid if its compiler is unchanged, if another of the same version has replaced it, or if no compiler exists;
// otherwise the kernel is compiled again and the entry replaced. Files are written under temporary names and renamed.
//
// The folder is $GRIDFOLD_CACHE_DIR, $XDG_CACHE_HOME/gridfold or ~/.cache/gridfold, created with mode 0700. A folder
// that other users may write to is not used, because an entry is code. A damaged entry or unusable folder is a miss,
// never an error.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gridfold/core/nvrtc.hpp>

namespace gf {

/// The key of an image in both caches.
struct KernelKey {
    std::string text;         ///< the whole kernel text
    int capability_major = 0; ///< of the device
    int capability_minor = 0;
    std::vector<std::string> options; ///< of the compiler
};

/// The folder of cache files. All calls are thread-safe, and safe beside other processes.
class DiskCache {
public:
    /// "" as folder: nothing is stored or found.
    explicit DiskCache(std::string folder) : folder_(std::move(folder)) {}
    /// The folder by the rule above; "" if none of the three variables is set.
    static std::string default_folder();

    struct Entry {
        nvrtc::Identity compiler;
        std::string image;
    };
    std::optional<Entry> find(const KernelKey& key) const;
    void store(const KernelKey& key, const Entry& entry) const noexcept;
    /// The path of the key's entry, whether it exists or not.
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
/// are compiled in parallel. Throws CompileError; DeviceError if a compiler is needed and none can be loaded.
Image image_for(const KernelKey& key);

} // namespace gf
