// Comparing a run with the unfused graph on the CPU.
#include "front/reference.hpp"

#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include <gridfold/core/buffer.hpp>
#include <gridfold/core/device.hpp>
#include <gridfold/core/stream.hpp>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/text.hpp>

#include "front/number.hpp"

namespace gf::detail {
namespace {

/// Owns host copies of device arrays.
class HostCopies {
public:
    explicit HostCopies(Target target) : target_(target) {}
    /// The view itself, or a copy of it in host memory.
    View of(const View& view) {
        const ByteRange range = byte_range(view.extents, view.strides, view.type).value_or(ByteRange());
        const auto bytes = static_cast<std::size_t>(range.end - range.begin);
        if (view.memory != Memory::device || bytes == 0) return view;
        copies_.emplace_back(bytes);
        const CurrentDevice current(target_.ordinal);
        const Stream stream(target_.ordinal, StreamKind::independent);
        copy_to_host(copies_.back().address(), static_cast<const char*>(view.address) + range.begin, bytes, stream);
        stream.wait();
        View copy = view;
        copy.address = static_cast<char*>(copies_.back().address()) - range.begin;
        copy.memory = Memory::host;
        return copy;
    }

private:
    Target target_;
    std::vector<HostBuffer> copies_;
};

std::uint64_t element(const View& view, std::size_t index) {
    const std::size_t bytes = size_of(view.type);
    std::uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const char*>(view.address) + index * bytes, bytes);
    return bits;
}

/// 1 unless an element is empty, by Results::Entry::valid: passes may remove what could be empty.
std::uint64_t validity(const View& valid, std::size_t index) {
    return valid.extents.rank() == 0 ? 1 : element(valid, index);
}

/// The number of the first element that differs; empty if none does.
std::optional<std::size_t> first_difference(const View& a, const View& b) {
    const std::size_t count = element_count(a.extents);
    if (count == 0 || std::memcmp(a.address, b.address, count * size_of(a.type)) == 0) return {};
    for (std::size_t i = 0; i < count; ++i)
        if (!is_same(a.type, element(a, i), element(b, i))) return i;
    return {};
}

[[noreturn]] void throw_difference(const Plan& plan, const std::string& where, DType type, std::uint64_t got,
                                   std::uint64_t expected) {
    throw InternalError(
        fmt::format("verify: {} is {}, but the unfused graph gives {} on the cpu; please report this, with "
                    "the graph:\n{}",
                    where, constant_text(type, got), constant_text(type, expected), plan.graph_text));
}

} // namespace

bool is_same(DType type, std::uint64_t a, std::uint64_t b) {
    if (a == b) return true;
    return is_floating(type) && std::isnan(to_double(type, a)) && std::isnan(to_double(type, b));
}

Reference::Reference(const Graph& graph, Target target) : target_(target) {
    FuseOptions options;
    options.fuse = false;
    auto plan = std::make_shared<const Plan>(fuse(graph, options));
    build_ = build_cpu(plan, {});
    signature_ = make_signature(graph, std::move(plan));
}

void Reference::check(const GivenSlots& given, std::span<const Results::Entry> entries) const {
    const Plan& plan = *signature_.plan;
    HostCopies copies(target_);
    GivenSlots inputs = given;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (signature_.slots[i].kind == SlotKind::output)
            inputs[i] = {};
        else if (signature_.slots[i].kind == SlotKind::input)
            inputs[i].array = copies.of(inputs[i].array);
    }
    for (std::size_t i = 0; i < entries.size(); ++i) // binds dims that only outputs have
        if (entries[i].is_array) {
            const Slot& slot = signature_.slots[find_slot(signature_, entries[i].name, Side::outputs)];
            for (std::size_t axis = 0; axis < slot.dims.size(); ++axis)
                for (std::size_t d = 0; d < inputs.size(); ++d)
                    if (signature_.slots[d].kind == SlotKind::dim && signature_.slots[d].dim == slot.dims[axis])
                        inputs[d] = {.bound = true, .extent = entries[i].array.extents[static_cast<int>(axis)]};
        }
    Bound bound{.extents = std::vector<std::int64_t>(plan.dims.size()),
                .arrays = std::vector<BoundArray>(plan.arrays.size()),
                .parameters = std::vector<std::uint64_t>(plan.parameters.size()),
                .owners = {}};
    if (has_strides(inputs)) bound.strides.resize(plan.arrays.size());
    resolve(signature_, inputs, {}, open_problem(plan, bound, 0));
    Table<ArrayId, HostBuffer> memory(plan.arrays.size());
    const auto place = [&](ArrayId array, const View& like) {
        memory[array] = HostBuffer(element_count(like.extents) * size_of(like.type));
        bound.arrays[array.index()] = {memory[array].address(), Memory::host};
    };
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (entries[i].is_array) place(plan.outputs[i].array, entries[i].array);
        if (plan.outputs[i].validity.valid()) {
            View like = entries[i].array;
            like.type = DType::boolean;
            place(plan.outputs[i].validity, like);
        }
    }
    const auto runner = build_->runner();
    std::vector<ScalarResult> scalars(plan.scalars.size());
    runner->bind(bound);
    runner->run(scalars, {});
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const Results::Entry& entry = entries[i];
        if (entry.is_array) {
            const Output& output = plan.outputs[i];
            const View got = copies.of(entry.array), expected = memory[output.array].view(entry.type, got.extents);
            if (const auto at = first_difference(got, expected))
                throw_difference(plan, fmt::format("element {} of output \"{}\"", *at, entry.name), entry.type,
                                 element(got, *at), element(expected, *at));
            const View valid = copies.of(entry.valid);
            const View expected_valid =
                output.validity.valid() ? memory[output.validity].view(DType::boolean, got.extents) : View();
            for (std::size_t k = 0; k < element_count(got.extents); ++k)
                if (validity(valid, k) != validity(expected_valid, k))
                    throw_difference(plan, fmt::format("whether element {} of output \"{}\" is there", k, entry.name),
                                     DType::boolean, validity(valid, k), validity(expected_valid, k));
            continue;
        }
        const ScalarResult& expected = scalars[plan.outputs[i].scalar.index()];
        const bool expected_empty = expected.empty && !is_floating(entry.type);
        if (entry.empty != expected_empty)
            throw InternalError(
                fmt::format("verify: output \"{}\" is {}empty, but the unfused graph's is {}empty on the cpu; "
                            "please report this, with the graph:\n{}",
                            entry.name, entry.empty ? "" : "not ", expected_empty ? "" : "not ", plan.graph_text));
        if (!entry.empty && !is_same(entry.type, entry.bits, expected.bits))
            throw_difference(plan, fmt::format("output \"{}\"", entry.name), entry.type, entry.bits, expected.bits);
    }
}

} // namespace gf::detail
