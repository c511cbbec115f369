#include "read_bandwidth.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <gridfold/core/device.hpp>
#include <gridfold/core/module.hpp>
#include <gridfold/core/nvrtc.hpp>
#include <gridfold/core/stream.hpp>

namespace {

// The compiler keeps the loads because of a store that never happens: if the XOR of all words were one given number.
constexpr const char* kernel_text = R"(
extern "C" __global__ void read_all(const uint4* words, long long count, unsigned* never) {
    const long long step = (long long)gridDim.x * blockDim.x;
    unsigned mixed = 0;
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 3 * step < count; i += 4 * step) {
        const uint4 a = words[i], b = words[i + step], c = words[i + 2 * step], d = words[i + 3 * step];
        mixed ^= a.x ^ a.y ^ a.z ^ a.w ^ b.x ^ b.y ^ b.z ^ b.w ^ c.x ^ c.y ^ c.z ^ c.w ^ d.x ^ d.y ^ d.z ^ d.w;
    }
    for (; i < count; i += step) mixed ^= words[i].x ^ words[i].y ^ words[i].z ^ words[i].w;
    if (mixed == 0x12345678u && never) *never = mixed;
}
)";

/// The kernel, loaded on one device.
struct DeviceLoop {
    explicit DeviceLoop(int device)
        : ordinal(device), stream(device, gf::StreamKind::ordered_with_default), module(load(device)) {}

    static gf::Module load(int device) {
        const gf::Device facts = gf::devices().at(static_cast<std::size_t>(device));
        const std::string target = gf::nvrtc::target_for(facts.capability_major, facts.capability_minor);
        return {device, gf::nvrtc::compile(kernel_text, target, {}).image};
    }
    void read(const void* words, std::int64_t count) {
        const gf::CurrentDevice current(ordinal);
        void* never = nullptr;
        void* parameters[] = {&words, &count, &never};
        gf::launch({.kernel = module.kernel("read_all"), .blocks = 1056, .threads = 512, .parameters = parameters},
                   stream);
        stream.wait();
    }

    int ordinal;
    gf::Stream stream;
    gf::Module module;
};

} // namespace

struct Reader::Impl {
    const void* address;
    std::int64_t words; ///< of 16 bytes
    std::optional<DeviceLoop> device;
    volatile std::uint64_t kept = 0;
};

Reader::Reader(const gf::View& array) : impl_(new Impl{.address = array.address, .words = 0, .device = {}}) {
    impl_->words = static_cast<std::int64_t>(gf::element_count(array.extents) * gf::size_of(array.type) / 16);
    const gf::PointerInfo info = gf::pointer_info(array.address);
    if (info.memory == gf::Memory::device) impl_->device.emplace(info.device);
}

Reader::~Reader() = default;

void Reader::read() {
    if (impl_->device) return impl_->device->read(impl_->address, impl_->words);
    const auto* const words = static_cast<const std::uint64_t*>(impl_->address);
    const std::int64_t count = 2 * impl_->words;
    std::uint64_t mixed = 0;
    constexpr std::int64_t chunk = 1 << 12, worth_a_team = 1 << 15;
#pragma omp parallel for reduction(^ : mixed) schedule(static) if (count >= worth_a_team)
    for (std::int64_t first = 0; first < count; first += chunk) {
        std::uint64_t chunk_mixed = 0; // a local: some compilers keep `mixed` in memory, and then use no vectors
        const std::int64_t end = std::min(first + chunk, count);
        for (std::int64_t i = first; i < end; ++i) chunk_mixed ^= words[i];
        mixed ^= chunk_mixed;
    }
    impl_->kept = mixed;
}

double Reader::bytes() const { return 16.0 * static_cast<double>(impl_->words); }
