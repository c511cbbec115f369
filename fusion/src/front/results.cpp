// Results by name.
#include "front/results.hpp"

#include <fmt/format.h>

#include <gridfold/core/device.hpp>
#include <gridfold/core/stream.hpp>
#include <gridfold/ops/nearest.hpp>

namespace gf {
namespace {

DType type_of(const Plan& plan, const plan::Output& output) {
    return output.array.valid() ? plan.arrays[output.array].type : plan.scalars[output.scalar].type;
}

/// Copies an array from host or device memory to the host.
void copy_elements(const View& from, void* to) {
    const std::size_t bytes = element_count(from.extents) * size_of(from.type);
    if (bytes == 0) return;
    if (from.memory != Memory::device) {
        std::memcpy(to, from.address, bytes);
        return;
    }
    const int device = pointer_info(from.address).device;
    const CurrentDevice current(device);
    const Stream stream(device, StreamKind::ordered_with_default);
    copy_to_host(to, from.address, bytes, stream);
    stream.wait();
}

/// Throws InvalidResult for a scalar, which `reads` does not read and `instead` does.
void check_is_array(const plan::Output& output, std::string_view reads, std::string_view instead) {
    if (!output.array.valid())
        throw InvalidResult(fmt::format("result \"{}\" is a scalar", output.name),
                            fmt::format("{} reads arrays", reads), fmt::format("use {}(\"{}\")", instead, output.name));
}

/// The scalar result of one problem. A floating-point result is never empty: it is NaN instead.
ScalarResult scalar_of(const Results::Run& run, std::size_t problem, const plan::Output& output) {
    const std::size_t each = run.plan->scalars.size();
    ScalarResult scalar = run.scalars[problem * each + output.scalar.index()];
    scalar.empty = scalar.empty && !is_floating(type_of(*run.plan, output));
    return scalar;
}

void check_type(std::string_view name, bool is_array, DType type, DType asked, const char* getter) {
    if (type != asked)
        throw InvalidResult(
            fmt::format("result \"{}\" is {}, but was asked for as {}", name, to_text(type), to_text(asked)),
            fmt::format("{} never converts", getter),
            fmt::format("use {} with the C++ type of {}{}", getter, to_text(type), is_array ? "" : ", or get_as"));
}

} // namespace

std::size_t Results::find_output(std::string_view name) const {
    if (!run_)
        throw InvalidResult(fmt::format("\"{}\" was asked for, but these Results are of no run", name),
                            "a default-constructed Results holds none", "assign what run() returns");
    const std::vector<plan::Output>& outputs = run_->plan->outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i)
        if (outputs[i].name == name) return i;
    std::vector<std::string_view> names;
    names.reserve(outputs.size());
    for (const plan::Output& output : outputs) names.push_back(output.name);
    const std::string_view near = detail::nearest(name, names);
    throw InvalidResult(
        fmt::format("\"{}\" is not a result", name),
        fmt::format("results are the graph's outputs, {}", fmt::join(names, ", ")),
        fmt::format("{}", near.empty() ? "ask for one of them" : fmt::format("did you mean \"{}\"?", near)));
}

Results::Scalar Results::scalar(std::string_view name) const {
    const std::size_t number = find_output(name); // refuses Results of no run
    const plan::Output& output = run_->plan->outputs[number];
    if (output.array.valid())
        throw InvalidResult(fmt::format("result \"{}\" is an array", name), "get reads scalars",
                            fmt::format("use array(\"{}\") or span(\"{}\")", name, name));
    const ScalarResult scalar = scalar_of(*run_, problem_, output);
    return {output.name, type_of(*run_->plan, output), scalar.empty, scalar.bits};
}

Results::Scalar Results::scalar(std::string_view name, DType type) const {
    const Scalar found = scalar(name);
    check_type(found.name, false, found.type, type, "get");
    return found;
}

void Results::throw_not_held(const Scalar& scalar, DType type) {
    throw InvalidResult(fmt::format("result \"{}\" is {}, and {} does not hold its value", scalar.name,
                                    to_text(scalar.type), to_text(type)),
                        "an integer or bool holds a value exactly or not at all",
                        "use get_as<double>, or cast in the graph");
}

void Results::throw_empty(const Scalar& scalar) {
    throw EmptyReduction(
        fmt::format("result \"{}\" is empty: no element contributed to it, and {} has no NaN to say so; "
                    "use get_optional(\"{}\")",
                    scalar.name, to_text(scalar.type), scalar.name));
}

View Results::array(std::string_view name) const {
    const std::size_t number = find_output(name);
    check_is_array(run_->plan->outputs[number], "array", "get");
    return arrays_->values[number].view;
}

View Results::validity(std::string_view name) const {
    const std::size_t number = find_output(name);
    check_is_array(run_->plan->outputs[number], "valid", "get_optional");
    return arrays_->validity[number].view;
}

View Results::valid_array(std::string_view name) const {
    const View valid = validity(name);
    if (valid.extents.rank() == 0)
        throw InvalidResult(
            fmt::format("result \"{}\" ({}) has no array of which elements are there", name, to_text(array(name).type)),
            "none of its elements is ever empty", fmt::format("use valid(\"{}\")", name));
    return valid;
}

std::vector<bool> Results::valid(std::string_view name) const {
    const View valid = validity(name);
    const std::size_t count = element_count(array(name).extents);
    if (valid.extents.rank() == 0) return std::vector<bool>(count, true);
    const auto bytes = std::make_unique<bool[]>(count);
    copy_elements(valid, bytes.get());
    return std::vector<bool>(bytes.get(), bytes.get() + count);
}

View Results::host_array(std::string_view name, DType type) const {
    const View view = array(name);
    check_type(name, true, view.type, type, "span");
    if (view.memory != Memory::host)
        throw InvalidResult(fmt::format("result \"{}\" is in device memory", name), "span reads host memory",
                            fmt::format("use to_vector(\"{}\") or copy_to, or bind a host array as output", name));
    return view;
}

void Results::copy_array(std::string_view name, DType type, void* to, std::size_t count) const {
    const View view = array(name);
    check_type(name, true, view.type, type, "copy_to");
    const std::size_t elements = element_count(view.extents);
    if (count != elements)
        throw InvalidResult(
            fmt::format("result \"{}\" has {} elements, and is to be copied to {}", name, elements, count),
            "a copy has all elements and nothing else", "size it by array(name).extents, or use to_vector");
    copy_elements(view, to);
}

std::span<const Results::Entry> Results::entries() const {
    if (!run_) return {};
    const Plan& plan = *run_->plan;
    const std::lock_guard lock(run_->mutex);
    if (run_->listed.size() <= problem_) run_->listed.resize(problem_ + 1);
    Run::Listed& listed = run_->listed[problem_];
    if (listed.entries.empty()) {
        std::vector<Entry> entries;
        entries.reserve(plan.outputs.size());
        for (const plan::Output& output : plan.outputs)
            entries.push_back({.name = output.name,
                               .type = type_of(plan, output),
                               .is_array = output.array.valid(),
                               .empty = false,
                               .bits = 0,
                               .array = {},
                               .valid = {}});
        listed.entries = std::move(entries);
    }
    if (listed.number == run_->number) return listed.entries;
    for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
        Entry& entry = listed.entries[i];
        if (entry.is_array) {
            entry.array = arrays_->values[i].view;
            entry.valid = arrays_->validity[i].view;
        } else {
            const ScalarResult scalar = scalar_of(*run_, problem_, plan.outputs[i]);
            entry.empty = scalar.empty;
            entry.bits = scalar.bits;
        }
    }
    listed.number = run_->number;
    return listed.entries;
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
    } catch (...) { // a device that cannot be made current is lost, including its memory
    }
}

} // namespace detail
} // namespace gf
