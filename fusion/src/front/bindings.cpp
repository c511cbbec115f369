// The checks of bindings.
#include "front/bindings.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include <gridfold/ops/type_rule.hpp>

#include "front/number.hpp"

namespace gf::detail {
namespace {

bool is_array(const Slot& slot) { return slot.kind == SlotKind::input || slot.kind == SlotKind::output; }

std::optional<std::int64_t> byte_count(std::optional<std::int64_t> elements, DType type) {
    std::int64_t bytes = 0;
    if (!elements || __builtin_mul_overflow(*elements, static_cast<std::int64_t>(size_of(type)), &bytes)) return {};
    return bytes;
}

/// Refuses strides where none can be, and too few or too many.
void check_strides(const Signature& signature, const Slot& slot, const View& view) {
    if (view.strides.rank() == 0) return;
    if (view.strides.rank() != view.extents.rank())
        throw InvalidBinding(fmt::format("{} is bound with {} strides, {}, but {} extents, {}",
                                         describe(signature, slot), view.strides.rank(), to_text(view.strides),
                                         view.extents.rank(), to_text(view.extents)),
                             "a strided array has one stride for each extent",
                             "bind it with that many, or without strides if it is contiguous");
    if (slot.kind == SlotKind::output && !view.is_contiguous())
        throw InvalidBinding(fmt::format("{} is bound with the strides {} of extents {}", describe(signature, slot),
                                         to_text(view.strides), to_text(view.extents)),
                             "outputs are contiguous and row-major; only inputs may have strides",
                             "bind a contiguous array, and copy it from there");
}

void check_shape(const Signature& signature, const Slot& slot, const View& view) {
    if (view.type != slot.type)
        throw InvalidBinding(
            fmt::format("{} is bound to elements of {}", describe(signature, slot), to_text(view.type)),
            "bindings are never converted",
            fmt::format("bind elements of {}, or declare it as {} and cast in the graph", to_text(slot.type),
                        to_text(view.type)));
    if (view.extents.rank() != static_cast<int>(slot.dims.size()))
        throw InvalidBinding(
            fmt::format("{} has {} dim{}, but is bound to an array with extents {}", describe(signature, slot),
                        slot.dims.size(), slot.dims.size() == 1 ? "" : "s", to_text(view.extents)),
            "a binding has one extent for each dim",
            fmt::format("bind a view with {} extent{}, as in gf::view(pointer, {{{}}})", slot.dims.size(),
                        slot.dims.size() == 1 ? "" : "s", dim_names(signature, slot)));
    for (const std::int64_t extent : view.extents)
        if (extent < 0)
            throw InvalidBinding(
                fmt::format("{} is bound with a negative extent, {}", describe(signature, slot), to_text(view.extents)),
                "extents count elements", "bind extents of 0 or more");
    check_strides(signature, slot, view);
}

/// The memory of a non-empty view's bytes. Throws if the view claims another, or if the target cannot access it.
Memory locate(const Signature& signature, const Slot& slot, const View& view, const Reach& reach) {
    const Target target = reach.target;
    const PointerInfo info = reach.pointer_info(view.address);
    const bool device_only = info.memory == Memory::device && !info.managed;
    if (target.is_cpu() && (device_only || view.memory == Memory::device))
        throw InvalidBinding(
            fmt::format("{} is bound to {}, which {} device memory, but this executable runs on the cpu",
                        describe(signature, slot), view.address, device_only ? "is" : "is said to be"),
            "the cpu reads host memory only", "bind a host array, or compile with Options{.device = \"cuda\"}");
    if (view.memory == Memory::device && info.memory == Memory::host)
        throw InvalidBinding(fmt::format("{} is bound to {} as device memory, but the pointer is host memory",
                                         describe(signature, slot), view.address),
                             "a view says where its bytes are",
                             "bind it with host_view or view, or bind the device copy");
    if (view.memory == Memory::host && device_only)
        throw InvalidBinding(fmt::format("{} is bound to {} as host memory, but the pointer is device memory",
                                         describe(signature, slot), view.address),
                             "a view says where its bytes are",
                             "bind it with device_view or view, or bind the host copy");
    if (device_only && info.device != target.ordinal)
        throw InvalidBinding(
            fmt::format("{} is bound to memory of cuda:{}, but this executable runs on cuda:{}",
                        describe(signature, slot), info.device, target.ordinal),
            "a device reads its own memory only",
            fmt::format("bind a copy on that device, or compile with Options{{.device = \"cuda:{}\"}}", info.device));
    return target.is_cpu() ? Memory::host : info.memory;
}

/// The source of the first extent that resolve() found for dim `dim`, for messages.
std::string first_source(const Signature& signature, const GivenSlots& given, DimId dim) {
    if (signature.plan->dims[dim].extent) return "its declaration";
    for (std::size_t i = 0; i < given.size(); ++i)
        if (given[i].bound && signature.slots[i].dim == dim) return "the extent bound by name";
    for (std::size_t i = 0; i < given.size(); ++i) {
        const Slot& slot = signature.slots[i];
        if (given[i].bound && std::find(slot.dims.begin(), slot.dims.end(), dim) != slot.dims.end())
            return describe(signature, slot);
    }
    return "nothing";
}

/// How to bind arrays of dim `dim` that agree. One rebind() changes an extent only if it binds everything that has it;
/// none changes a declared extent.
std::string to_agree(const Signature& signature, const GivenSlots& given, DimId dim, bool rebinding) {
    std::string fix = "bind arrays whose extents agree";
    if (!rebinding || signature.plan->dims[dim].extent) return fix;
    std::string together;
    for (std::size_t i = 0; i < given.size(); ++i) {
        const Slot& slot = signature.slots[i];
        const bool is_extent = slot.dim == dim;
        if (given[i].bound && (is_extent || std::ranges::find(slot.dims, dim) != slot.dims.end()))
            together += fmt::format("{}{{\"{}\", {}}}", together.empty() ? "" : ", ", slot.name,
                                    is_extent ? "extent" : "array");
    }
    return fix + fmt::format(", in one rebind of {{{}}}", together);
}

void agree(const Signature& signature, const GivenSlots& given, std::size_t slot, DimId dim, std::int64_t extent,
           std::int64_t& known, bool rebinding) {
    if (known < 0) known = extent;
    if (known == extent) return;
    const Slot& here = signature.slots[slot];
    throw InvalidBinding(
        fmt::format("dim \"{}\" is {} by {}, but {} by {}", signature.plan->dims[dim].name, known,
                    first_source(signature, given, dim), extent,
                    here.kind == SlotKind::dim ? "the extent bound by name" : describe(signature, here)),
        "a dim has one extent", to_agree(signature, given, dim, rebinding));
}

void find_extents(const Signature& signature, const GivenSlots& given, std::span<std::int64_t> extents,
                  bool rebinding) {
    const Plan& plan = *signature.plan;
    for (std::size_t i = 0; i < plan.dims.size(); ++i) extents[i] = plan.dims[i].extent.value_or(-1);
    const auto agree_on = [&](std::size_t slot, DimId dim, std::int64_t extent) {
        agree(signature, given, slot, dim, extent, extents[dim.index()], rebinding);
    };
    for (std::size_t i = 0; i < given.size(); ++i)
        if (given[i].bound && signature.slots[i].dim.valid()) agree_on(i, signature.slots[i].dim, given[i].extent);
    for (std::size_t i = 0; i < given.size(); ++i) {
        if (!given[i].bound || !is_array(signature.slots[i])) continue;
        for (std::size_t axis = 0; axis < signature.slots[i].dims.size(); ++axis)
            agree_on(i, signature.slots[i].dims[axis], given[i].array.extents[static_cast<int>(axis)]);
    }
    for (std::size_t i = 0; i < plan.dims.size(); ++i) {
        if (extents[i] < 0 && signature.dim_is_used[i])
            throw InvalidBinding(fmt::format("dim \"{}\" has no extent", plan.dims[i].name),
                                 "no array that is bound has this dim",
                                 fmt::format("bind its extent by name, as in {{\"{}\", 1000}}", plan.dims[i].name));
        extents[i] = std::max<std::int64_t>(extents[i], 0);
    }
    for (std::size_t i = 0; i < plan.dims.size(); ++i) {
        if (extents[i] > 0) continue;
        for (const NeedsElements& need : plan.dims[i].needs_elements) {
            const bool has_results =
                std::ranges::all_of(need.kept, [&](DimId kept) { return extents[kept.index()] > 0; });
            if (has_results)
                throw InvalidBinding(fmt::format("dim \"{}\" has extent 0 by {}", plan.dims[i].name,
                                                 first_source(signature, given, DimId(i))),
                                     fmt::format("{} has no value without elements", need.reduction),
                                     "bind at least one element");
        }
    }
}

/// Refuses arrays and domains that are too large.
void check_sizes(const Signature& signature, std::span<const std::int64_t> extents) {
    for (const Slot& slot : signature.slots)
        if (is_array(slot) && !byte_count(element_count(slot.dims, extents), slot.type))
            throw InvalidBinding(fmt::format("{} would have more than 2^63 - 1 bytes", describe(signature, slot)),
                                 "sizes are 64-bit", "bind smaller extents");
    for (const Sweep& sweep : signature.plan->sweeps) {
        if (element_count(sweep.dims, extents).value_or(max_domain_elements + 1) <= max_domain_elements) continue;
        std::string dims;
        for (const DimId dim : sweep.dims)
            dims += fmt::format("{}{} = {}", dims.empty() ? "" : ", ", signature.plan->dims[dim].name,
                                extents[dim.index()]);
        throw InvalidBinding(fmt::format("the domain {} has more than 2^48 elements", dims),
                             "one sweep visits at most 2^48", "bind smaller extents");
    }
    for (const Array& array : signature.plan->arrays)
        if (array.role == ArrayRole::temporary && !byte_count(element_count(array.dims, extents), array.type))
            throw InvalidBinding("an array between two sweeps would have more than 2^63 - 1 bytes", "sizes are 64-bit",
                                 "bind smaller extents");
}

/// The addresses from an array's first to its last byte, in the order of memory.
struct Addresses {
    std::uintptr_t begin, end;
    friend bool operator==(const Addresses&, const Addresses&) = default;
};
/// `bytes`: of an array that fits the address space.
Addresses addresses_of(const void* address, const ByteRange& bytes) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return {at + static_cast<std::uintptr_t>(bytes.begin), at + static_cast<std::uintptr_t>(bytes.end)};
}
/// The sizes have been checked.
Addresses addresses_of(const Given& given) {
    return addresses_of(given.array.address, *byte_range(given.array.extents, given.array.strides, given.array.type));
}

bool overlap(const Addresses& a, const Addresses& b) {
    return a.begin < b.end && b.begin < a.end && a.begin != a.end && b.begin != b.end; // defect: overlap
}

/// True if an input and an output are the same memory, element by element, and the plan allows that
/// (Signature::in_place).
bool is_in_place(const Signature& signature, const GivenSlots& given, std::size_t in, std::size_t out) {
    return given[in].array.strides.rank() == 0 && // defect: strided in place
           addresses_of(given[in]) == addresses_of(given[out]) &&
           std::ranges::find(signature.in_place, std::pair(signature.slots[in].array, signature.slots[out].array)) !=
               signature.in_place.end();
}

void check_overlap(const Signature& signature, const GivenSlots& given) {
    for (std::size_t out = 0; out < given.size(); ++out) {
        if (!given[out].bound || signature.slots[out].kind != SlotKind::output) continue;
        for (std::size_t other = 0; other < out; ++other) {
            if (!given[other].bound || !is_array(signature.slots[other]) ||
                !overlap(addresses_of(given[out]), addresses_of(given[other])) ||
                is_in_place(signature, given, other, out))
                continue;
            throw InvalidBinding(
                fmt::format("{} is bound to memory that overlaps {}", describe(signature, signature.slots[out]),
                            describe(signature, signature.slots[other])),
                "an output is an input's memory only as a whole and without strides, and only where one sweep reads "
                "and writes element by element, folds nothing, and nothing reads the input afterwards",
                "bind an array of its own");
        }
    }
}

/// The bytes of the value as one of the scalar's type. InvalidBinding if the type does not hold it.
std::uint64_t bits_of(const Signature& signature, const Slot& slot, Literal value) {
    try {
        return scalar_bits(value, slot.type);
    } catch (const InvalidGraph&) { // GCOVR_EXCL_BR_LINE: gcovr counts other exceptions as a branch
        throw InvalidBinding(fmt::format("{} is bound to {}, which {} does not hold", describe(signature, slot),
                                         to_text(value), to_text(slot.type)),
                             "a run-time scalar keeps its value",
                             fmt::format("bind one that fits, or declare \"{}\" with a wider type", slot.name));
    }
}

} // namespace

void give(const Signature& signature, std::size_t slot, const View& array, const Reach& reach, GivenSlots& given) {
    const Slot& to = signature.slots[slot];
    if (to.kind == SlotKind::scalar)
        throw InvalidBinding(fmt::format("{} is bound to an array", describe(signature, to)),
                             "a run-time scalar is bound by value",
                             fmt::format("bind a number, as in {{\"{}\", 2}}", to.name));
    if (to.kind == SlotKind::dim)
        throw InvalidBinding(fmt::format("{} is bound to an array", describe(signature, to)),
                             "the extent of a dim is bound as an integer",
                             fmt::format("bind one, as in {{\"{}\", 1000}}", to.name));
    check_shape(signature, to, array);
    const auto bytes = byte_count(gf::element_count(std::span(array.extents.begin(), array.extents.end())), array.type);
    if (!bytes)
        throw InvalidBinding(fmt::format("{} is bound with extents {}, more than 2^63 - 1 bytes",
                                         describe(signature, to), to_text(array.extents)),
                             "sizes are 64-bit", "bind the array's true extents");
    if (to.kind == SlotKind::output && !array.writable)
        throw InvalidBinding(fmt::format("{} is bound to read-only memory", describe(signature, to)),
                             "outputs are written", "bind a view of non-const elements");
    const bool strided = !array.is_contiguous();
    const auto range = byte_range(array.extents, strided ? array.strides : Strides(), array.type);
    if (!range)
        throw InvalidBinding(fmt::format("{} is bound with extents {} and strides {}, which lead over more than "
                                         "2^62 - 1 bytes",
                                         describe(signature, to), to_text(array.extents), to_text(array.strides)),
                             "a view covers memory that exists",
                             "bind the array's true extents and strides, in elements");
    Memory memory = array.memory;
    if (*bytes > 0) {
        const auto address = reinterpret_cast<std::uintptr_t>(array.address);
        if (address == 0)
            throw InvalidBinding(fmt::format("{} is bound to a null pointer with extents {}", describe(signature, to),
                                             to_text(array.extents)),
                                 "only arrays without elements may be null", "bind the array's address");
        if (address % size_of(array.type) != 0)
            throw InvalidBinding(fmt::format("{} is bound to address {}, which is not a multiple of {} bytes",
                                             describe(signature, to), array.address, size_of(array.type)),
                                 "elements must be aligned to their own size", "bind an aligned copy");
        if (address > std::numeric_limits<std::uintptr_t>::max() - static_cast<std::uintptr_t>(range->end) ||
            address < static_cast<std::uintptr_t>(-range->begin))
            throw InvalidBinding(
                fmt::format("{} is bound with extents {}{} at address {}, beyond the {} of the address space",
                            describe(signature, to), to_text(array.extents),
                            strided ? fmt::format(" and strides {}", to_text(array.strides)) : "", array.address,
                            address < static_cast<std::uintptr_t>(-range->begin) ? "beginning" : "end"),
                "a view covers memory that exists",
                fmt::format("bind the array's true extents{}", strided ? " and strides" : ""));
        memory = locate(signature, to, array, reach);
    } else if (array.memory == Memory::unknown || reach.target.is_cpu()) {
        memory = Memory::host;
    }
    given[slot].bound = true;
    given[slot].array = array;
    given[slot].array.memory = memory;
    if (!strided) given[slot].array.strides = {}; // read in order, whatever its strides say
}

void give(const Signature& signature, std::size_t slot, Literal value, GivenSlots& given) {
    const Slot& to = signature.slots[slot];
    if (is_array(to))
        throw InvalidBinding(fmt::format("{} is bound to the number {}", describe(signature, to), to_text(value)),
                             "an array is bound to a view of its elements",
                             fmt::format("bind an array, or declare \"{}\" as a run-time scalar", to.name));
    if (to.kind == SlotKind::scalar) {
        given[slot] = {.bound = true, .bits = bits_of(signature, to, value)};
        return;
    }
    const bool fits = value.kind == Literal::Kind::integer
                          ? value.integer >= 0
                          : value.kind == Literal::Kind::unsigned_integer && value.unsigned_integer <= INT64_MAX;
    if (!fits)
        throw InvalidBinding(fmt::format("{} is bound to {}", describe(signature, to), to_text(value)),
                             "an extent is an integer from 0 to 2^63 - 1", "bind such an integer");
    given[slot] = {.bound = true,
                   .extent = value.kind == Literal::Kind::integer ? value.integer
                                                                  : static_cast<std::int64_t>(value.unsigned_integer)};
}

void give(const Signature& signature, std::span<const Binding> bindings, Side side, const Reach& reach,
          GivenSlots& given) {
    for (std::size_t i = 0; i < bindings.size(); ++i) {
        const Binding& binding = bindings[i];
        const std::size_t slot = find_slot(signature, binding.name, side);
        for (std::size_t earlier = 0; earlier < i; ++earlier)
            if (bindings[earlier].name == binding.name)
                throw InvalidBinding(fmt::format("{} is bound twice", describe(signature, signature.slots[slot])), "",
                                     "leave one of the two out");
        if (binding.scalar)
            give(signature, slot, *binding.scalar, given);
        else
            give(signature, slot, binding.array, reach, given);
    }
}

Extents extents_of(const std::vector<DimId>& dims, std::span<const std::int64_t> extents) {
    std::array<std::int64_t, max_rank> own{};
    for (std::size_t i = 0; i < dims.size(); ++i) own[i] = extents[dims[i].index()];
    return Extents(std::span(own).first(dims.size()));
}

bool has_strides(const GivenSlots& given) {
    return std::ranges::any_of(given, [](const Given& g) { return g.bound && g.array.strides.rank() > 0; });
}

void resolve(const Signature& signature, const GivenSlots& given, std::span<const std::int64_t> checked,
             const OpenProblem& problem, bool rebinding) {
    const Plan& plan = *signature.plan;
    for (std::size_t i = 0; i < given.size(); ++i) {
        const Slot& slot = signature.slots[i];
        if (given[i].bound || slot.kind == SlotKind::output || slot.kind == SlotKind::dim) continue;
        throw InvalidBinding(fmt::format("{} is not bound", describe(signature, slot)), "a run needs every input",
                             fmt::format("add {}", slot.kind == SlotKind::input
                                                       ? fmt::format("{{\"{}\", array}}", slot.name)
                                                       : fmt::format("{{\"{}\", 2}}", slot.name)));
    }
    find_extents(signature, given, problem.extents, rebinding);
    if (checked.empty() || !same_extents(checked, problem.extents)) check_sizes(signature, problem.extents);
    check_overlap(signature, given);
    std::ranges::fill(problem.arrays, BoundArray{});
    std::ranges::fill(problem.parameters, 0);
    for (const ParameterId p : plan.parameters.ids())
        if (const DimId dim = plan.parameters[p].dim; dim.valid())
            problem.parameters[p.index()] = static_cast<std::uint64_t>(problem.extents[dim.index()]);
    for (std::size_t i = 0; i < given.size(); ++i) {
        const Slot& slot = signature.slots[i];
        if (!given[i].bound) continue;
        if (slot.parameter.valid()) {
            problem.parameters[slot.parameter.index()] = given[i].bits;
        } else if (slot.array.valid()) {
            problem.arrays[slot.array.index()] = {given[i].array.address, given[i].array.memory};
            if (!problem.strides.empty()) problem.strides[slot.array.index()] = given[i].array.strides;
        }
    }
}

void refuse_shared_outputs(const Plan& plan, const Bound& problems) {
    struct Range {
        Addresses at;
        std::size_t problem, array;
    };
    const auto is_output_array = [](const Array& array) { return array.role == ArrayRole::output; };
    if (problems.count < 2 || std::ranges::none_of(plan.arrays, is_output_array)) return;
    std::vector<Range> ranges;
    for (std::size_t p = 0; p < problems.count; ++p) {
        const BoundProblem problem = problem_of(plan, problems, p);
        for (std::size_t a = 0; a < plan.arrays.size(); ++a) {
            const void* const address = problem.arrays[a].address;
            const Array& array = plan.arrays[a];
            const std::int64_t elements = *element_count(array.dims, problem.extents);
            if (address == nullptr || elements == 0) continue;
            ByteRange bytes{0, elements * static_cast<std::int64_t>(size_of(array.type))};
            if (!problem.strides.empty()) // defect: shared strides
                bytes = *byte_range(extents_of(array.dims, problem.extents), problem.strides[a], array.type);
            ranges.push_back({addresses_of(address, bytes), p, a});
        }
    }
    std::ranges::sort(ranges, {}, [](const Range& range) { return range.at.begin; });
    const auto is_output = [&](const Range& range) { return is_output_array(plan.arrays[range.array]); };
    // Among the ranges that begin before the current one: the output, and the range of any kind, with the greatest end.
    const Range *output = nullptr, *any = nullptr;
    for (const Range& range : ranges) {
        const Range* const meets = is_output(range) ? any : output;
        if (meets != nullptr && meets->at.end > range.at.begin && meets->problem != range.problem)
            throw InvalidBinding(fmt::format("{} of problem {} is bound to memory that overlaps {} of problem {}",
                                             plan.arrays[range.array].name, range.problem,
                                             plan.arrays[meets->array].name, meets->problem),
                                 "problems of one call run at the same time", "bind an array of its own");
        if (any == nullptr || range.at.end > any->at.end) any = &range;
        if (is_output(range) && (output == nullptr || range.at.end > output->at.end)) output = &range;
    }
}

Memory input_memory(const Signature& signature, const GivenSlots& given) {
    for (std::size_t i = 0; i < given.size(); ++i)
        if (given[i].bound && signature.slots[i].kind == SlotKind::input && given[i].array.memory == Memory::device)
            return Memory::device;
    return Memory::host;
}

} // namespace gf::detail
