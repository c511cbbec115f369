// Results by name.
#include "front/results.hpp"

#include <fmt/format.h>

#include <gridfold/core/device.hpp>
#include <gridfold/core/stream.hpp>
#include <gridfold/ops/nearest.hpp>

namespace gf {
namespace {

const Results::Entry& find_entry(std::span<const Results::Entry> entries, std::string_view name) {
    for (const Results::Entry& entry : entries)
        if (entry.name == name) return entry;
    if (entries.empty())
        throw InvalidResult(fmt::format("\"{}\" was asked for, but these Results are of no run", name),
                            "a default-constructed Results holds none", "assign what run() returns");
    std::vector<std::string_view> names;
    for (const Results::Entry& entry : entries) names.push_back(entry.name);
    const std::string_view near = detail::nearest(name, names);
    throw InvalidResult(
        fmt::format("\"{}\" is not a result", name),
        fmt::format("results are the graph's outputs, {}", fmt::join(names, ", ")),
        fmt::format("{}", near.empty() ? "ask for one of them" : fmt::format("did you mean \"{}\"?", near)));
}

void check_type(const Results::Entry& entry, DType type, const char* getter) {
    if (entry.type != type)
        throw InvalidResult(
            fmt::format("result \"{}\" is {}, but was asked for as {}", entry.name, to_text(entry.type), to_text(type)),
            fmt::format("{} never converts", getter),
            fmt::format("use {} with the C++ type of {}{}", getter, to_text(entry.type),
                        entry.is_array ? "" : ", or get_as"));
}

} // namespace

const Results::Entry& Results::scalar_entry(std::string_view name) const {
    const Entry& entry = find_entry(entries(), name);
    if (entry.is_array)
        throw InvalidResult(fmt::format("result \"{}\" is an array", name), "get reads scalars",
                            fmt::format("use array(\"{}\") or span(\"{}\")", name, name));
    return entry;
}

const Results::Entry& Results::scalar_entry(std::string_view name, DType type) const {
    const Entry& entry = scalar_entry(name);
    check_type(entry, type, "get");
    return entry;
}

void Results::throw_not_held(const Entry& entry, DType type) {
    throw InvalidResult(fmt::format("result \"{}\" is {}, and {} does not hold its value", entry.name,
                                    to_text(entry.type), to_text(type)),
                        "an integer or bool holds a value exactly or not at all",
                        "use get_as<double>, or cast in the graph");
}

void Results::throw_empty(const Entry& entry) {
    throw EmptyReduction(
        fmt::format("result \"{}\" is empty: no element contributed to it, and {} has no NaN to say so; "
                    "use get_optional(\"{}\")",
                    entry.name, to_text(entry.type), entry.name));
}

View Results::array(std::string_view name) const {
    const Entry& entry = find_entry(entries(), name);
    if (!entry.is_array)
        throw InvalidResult(fmt::format("result \"{}\" is a scalar", name), "array reads arrays",
                            fmt::format("use get(\"{}\")", name));
    return entry.array;
}

View Results::host_array(std::string_view name, DType type) const {
    const View view = array(name);
    check_type(find_entry(entries(), name), type, "span");
    if (view.memory != Memory::host)
        throw InvalidResult(fmt::format("result \"{}\" is in device memory", name), "span reads host memory",
                            fmt::format("use to_vector(\"{}\") or copy_to, or bind a host array as output", name));
    return view;
}

void Results::copy_array(std::string_view name, DType type, void* to, std::size_t count) const {
    const View view = array(name);
    check_type(find_entry(entries(), name), type, "copy_to");
    const std::size_t elements = element_count(view.extents);
    if (count != elements)
        throw InvalidResult(
            fmt::format("result \"{}\" has {} elements, and is to be copied to {}", name, elements, count),
            "a copy has all elements and nothing else", "size it by array(name).extents, or use to_vector");
    const std::size_t bytes = elements * size_of(type);
    if (bytes == 0) return;
    if (view.memory != Memory::device) {
        std::memcpy(to, view.address, bytes);
        return;
    }
    const int device = pointer_info(view.address).device;
    const CurrentDevice current(device);
    const Stream stream(device, StreamKind::ordered_with_default);
    copy_to_host(to, view.address, bytes, stream);
    stream.wait();
}

std::span<const Results::Entry> Results::entries() const {
    if (!state_) return {};
    return state_->entries;
}

namespace detail {

ResultMemory::ResultMemory(Memory memory, int ordinal, std::size_t bytes, const MemoryResources& resources)
    : memory_(memory), ordinal_(ordinal), bytes_(bytes), resources_(resources) {
    if (bytes == 0) return;
    if (memory == Memory::device && resources.device != nullptr) {
        const CurrentDevice current(ordinal);
        address_ = resources.device->allocate(bytes, StreamView(nullptr));
    } else if (memory == Memory::device) {
        device_ = DeviceBuffer(ordinal, bytes);
        address_ = device_.address();
    } else if (resources.host != nullptr) {
        address_ = resources.host->allocate(bytes, HostBuffer::alignment);
    } else {
        host_ = HostBuffer(bytes);
        address_ = host_.address();
    }
}

ResultMemory::~ResultMemory() {
    if (address_ == nullptr) return;
    try {
        if (memory_ != Memory::device) {
            if (resources_.host != nullptr) resources_.host->deallocate(address_, bytes_, HostBuffer::alignment);
        } else if (resources_.device != nullptr) {
            const CurrentDevice current(ordinal_);
            resources_.device->deallocate(address_, bytes_, StreamView(nullptr));
        }
    } catch (...) { // a device that cannot be made current is lost, and its memory with it
    }
}

std::shared_ptr<Results::State> make_state(const Plan& plan) {
    auto state = std::make_shared<Results::State>();
    for (const plan::Output& output : plan.outputs) {
        const bool is_array = output.array >= 0;
        const DType type = is_array ? plan.arrays[static_cast<std::size_t>(output.array)].type
                                    : plan.scalars[static_cast<std::size_t>(output.scalar)].type;
        state->entries.push_back(
            {.name = output.name, .type = type, .is_array = is_array, .empty = false, .bits = 0, .array = {}});
    }
    state->memory.resize(plan.outputs.size());
    return state;
}

} // namespace detail
} // namespace gf
