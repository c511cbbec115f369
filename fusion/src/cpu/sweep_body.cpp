#include "cpu/sweep_body.hpp"

#include <algorithm>
#include <cstring>

#include <unistd.h>

#include "cpu/index.hpp"
#include "cpu/threads.hpp"

namespace gf::cpu {

namespace {

/// The values of shorter rows are copied for each of their elements, which takes less time.
constexpr std::int64_t shortest_row_alone = 32;

/// The process that loaded the library.
const pid_t loading_process = getpid();

} // namespace

bool may_start_threads() { return getpid() == loading_process; }

SweepBody::SweepBody(const Plan& plan, const Sweep& sweep, const SweepProgram& program)
    : plan_(plan), sweep_(sweep), program_(program), row_length_(plan.arrays.size()), strides_(plan.arrays.size()),
      walks_(plan.arrays.size()), dim_extent_(plan.dims.size()), dim_inner_(plan.dims.size()),
      splats_(allocate(program.splat_bytes * program.room())), filled_(program.splats.size()),
      values_(sweep.code.size()) {
    shifted_.resize(at(program.shifted_gathers));
    for (const BodyStep& step : program.body)
        for (const Step& shift : step.shifts) {
            const auto position = std::ranges::find(sweep.dims, shift.dim) - sweep.dims.begin();
            shifted_[at(step.shifted)].steps[at(static_cast<int>(position))].push_back(shift);
        }
    std::vector<bool> used(program.places.size(), false);
    const auto use = [&](int place) { used[at(place)] = true; };
    for (const BodyStep& step : program.body) {
        use(step.out);
        std::ranges::for_each(step.operands, use);
    }
    std::ranges::for_each(program.streams, use);
    std::ranges::for_each(program.arrays_of_code, use);
    for (const FoldStep& fold : program.folds) {
        use(fold.value), use(fold.mask);
        std::ranges::for_each(fold.others, use);
    }
    for (const JointStep& joint : program.joints) use(joint.value), use(joint.scalar);
    for (std::size_t p = 0; p < used.size(); ++p) {
        if (!used[p]) continue;
        if (program.places[p].kind == Place::Kind::array) array_places_.push_back(static_cast<int>(p));
        if (program.places[p].kind == Place::Kind::temporary) temporary_places_.push_back(static_cast<int>(p));
    }
}

void SweepBody::fit(std::span<const std::int64_t> extents, std::int64_t elements) {
    has_elements_ = elements > 0;
    if (!has_elements_) return; // nothing reads the rest, and a product of some extents may overflow
    std::int64_t inner = 1;
    for (auto dim = sweep_.dims.rbegin(); dim != sweep_.dims.rend(); ++dim) {
        dim_extent_[*dim] = extents[dim->index()];
        dim_inner_[*dim] = inner;
        inner *= extents[dim->index()];
    }
    for (const BodyStep& step : program_.body)
        if (step.map_of_rows != nullptr)
            row_length_[step.array] = dim_inner_[plan_.arrays[step.array].dims.back()]; // defect: row length
    walk_arrays(extents, {});
}

void SweepBody::take_strides(std::span<const std::int64_t> extents, std::span<const Strides> bound) {
    if (has_elements_) walk_arrays(extents, bound);
}

/// `bound`: by array; those after the last are contiguous.
void SweepBody::walk_arrays(std::span<const std::int64_t> extents, std::span<const Strides> bound) {
    for (const BodyStep& step : program_.body) {
        if (!step.array.valid()) continue;
        const std::span<const DimId> dims = plan_.arrays[step.array].dims;
        const bool is_passed = step.array.index() >= bound.size(); // defect: passed
        const Strides strides = is_passed ? Strides() : bound[step.array.index()];
        strides_[step.array] = strides_along(sweep_.dims, dims, extents, strides);
        walks_[step.array] = walk(sweep_.dims, dims, extents, strides);
        if (step.shifted < 0) continue;
        ShiftedWalk& shifted = shifted_[at(step.shifted)];
        shifted.rank = static_cast<int>(sweep_.dims.size());
        shifted.stride = strides_[step.array];
        for (std::size_t d = 0; d < sweep_.dims.size(); ++d) shifted.extent[d] = extents[sweep_.dims[d].index()];
    }
}

void SweepBody::begin(std::span<const std::uint64_t> parameters, std::span<ScalarResult> scalars) {
    evaluate(program_.prologue, sweep_, parameters, scalars, {}, values_);
    for (std::size_t s = 0; s < program_.splats.size(); ++s) {
        const Splat& splat = program_.splats[s];
        const std::uint64_t bits = values_[splat.value.index()];
        if (filled_[s] == bits) continue; // as in the last run
        const Place& place = program_.places[at(splat.place)];
        char* const out = scalar_at(place);
        for (std::size_t i = 0; i < program_.room(); ++i)
            std::memcpy(out + i * place.element_bytes, &bits, place.element_bytes);
        filled_[s] = bits;
    }
}

void SweepBody::run(const BodyStep& step, char* out, char* const (&in)[max_arity], std::int64_t element, std::size_t n,
                    std::span<char* const> arrays) const {
    switch (step.kind) {
    case BodyStep::Kind::map:
        if (step.map_of_rows != nullptr) return run_of_rows(step, out, in[0], element, n, arrays);
        return step.map(out, in[0], in[1], in[2], n);
    case BodyStep::Kind::convert: return step.convert(out, in[0], n);
    case BodyStep::Kind::gather:
        if (step.shifted >= 0)
            return gather(out, arrays[step.array.index()], program_.places[at(step.out)].element_bytes,
                          shifted_[at(step.shifted)], element, n);
        return gather(out, arrays[step.array.index()], program_.places[at(step.out)].element_bytes, walks_[step.array],
                      element, n);
    case BodyStep::Kind::scatter:
        return scatter(arrays[step.array.index()], in[0], program_.places[at(step.operands[0])].element_bytes,
                       walks_[step.array], element, n);
    case BodyStep::Kind::index:
        return coordinates(reinterpret_cast<std::int64_t*>(out), dim_extent_[step.dim], dim_inner_[step.dim], element,
                           n);
    }
}

/// A map of elements and of the values of their rows.
void SweepBody::run_of_rows(const BodyStep& step, char* out, const char* in, std::int64_t element, std::size_t n,
                            std::span<char* const> arrays) const {
    const std::int64_t length = row_length_[step.array];
    const std::size_t bytes = program_.places[at(step.out)].element_bytes;
    const char* const values = arrays[step.array.index()];
    if (length >= shortest_row_alone)
        return step.map_of_rows(out, in, values + unsigned_of(element / length) * bytes,
                                unsigned_of(element % length), // defect: end of a row
                                unsigned_of(length), n);
    alignas(line_bytes) std::array<char, 256 * sizeof(std::uint64_t)> copied;
    const std::size_t most = copied.size() / bytes;
    for (std::size_t i = 0; i < n; i += most) {
        const std::size_t some = std::min(n - i, most);
        gather(copied.data(), values, bytes, walks_[step.array], element + static_cast<std::int64_t>(i), some);
        step.map(out + i * bytes, in + i * bytes, copied.data(), nullptr, some);
    }
}

void SweepBody::end(std::span<const std::uint64_t> parameters, std::span<ScalarResult> scalars,
                    std::span<void* const> states) {
    evaluate(program_.epilogue, sweep_, parameters, scalars, states, values_);
    for (std::size_t y = 0; y < sweep_.yields.size(); ++y) {
        const Yield& yield = sweep_.yields[y];
        ScalarResult& scalar = scalars[yield.scalar.index()];
        scalar = {0, yield.empty.valid() && values_[yield.empty.index()] != 0};
        program_.yields[y](&scalar.bits, &values_[yield.value.index()], 1);
    }
}

} // namespace gf::cpu
