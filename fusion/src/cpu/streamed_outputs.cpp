#include "cpu/streamed_outputs.hpp"

#include <algorithm>

#include "cpu/index.hpp"

namespace gf::cpu {

namespace {

bool is_read(const Plan& plan, ArrayId array) {
    return std::ranges::any_of(plan.sweeps, [array](const Sweep& sweep) {
        return std::ranges::any_of(sweep.code, [array](const Instruction& instruction) {
            return instruction.opcode == Opcode::load && instruction.array == array;
        });
    });
}

std::size_t bytes_of_element(const SweepProgram& program) {
    std::size_t bytes = 0;
    for (const WrittenOutput& output : program.outputs) bytes += output.element_bytes;
    return bytes;
}

} // namespace

std::vector<WrittenOutput> written_outputs(const Plan& plan, const Sweep& sweep, const SweepProgram& program) {
    std::vector<WrittenOutput> outputs;
    for (const Store& store : sweep.stores) {
        const Array& array = plan.arrays[store.array];
        if (array.role != ArrayRole::output || is_per_result(sweep, sweep.code[store.value]) ||
            !is_flat(store, plan, sweep) || is_read(plan, store.array))
            continue;
        WrittenOutput& output = outputs.emplace_back(WrittenOutput{store.array, size_of(array.type), {}});
        for (std::size_t p = 0; p < program.places.size(); ++p) {
            const Place& place = program.places[p];
            if (place.kind == Place::Kind::array && place.array == store.array)
                output.places.push_back(static_cast<int>(p)); // defect: places of an output
        }
    }
    return outputs;
}

bool has_far_outputs(const SweepProgram& program, std::int64_t elements) {
    return !program.outputs.empty() && program.far.holds(bytes_of_element(program) * unsigned_of(elements));
}

bool has_output_in_place(const SweepProgram& program, std::span<char* const> arrays) {
    return std::ranges::any_of(program.outputs, [&](const WrittenOutput& output) {
        return std::ranges::any_of(program.streams, [&](int stream) {
            return arrays[program.places[at(stream)].array.index()] == arrays[output.array.index()];
        });
    });
}

void StreamedOutputs::reserve(const SweepProgram& program, std::size_t elements) {
    bytes_.reserve(bytes_of_element(program) * elements);
    elements_ = elements;
}

void StreamedOutputs::redirect(const SweepProgram& program, std::size_t n, std::vector<Where>& where) const {
    char* own = bytes_.get();
    for (const WrittenOutput& output : program.outputs) {
        for (const int p : output.places) where[at(p)] = {own, n * output.element_bytes};
        own += elements_ * output.element_bytes; // defect: streamed outputs
    }
}

void StreamedOutputs::store(const SweepProgram& program, const Tile& tile, const std::vector<Where>& where,
                            std::span<char* const> arrays) const {
    for (const WrittenOutput& output : program.outputs) {
        const Where& from = where[at(output.places.front())];
        char* const to = arrays[output.array.index()] + unsigned_of(tile.element) * output.element_bytes;
        const std::size_t row_bytes = unsigned_of(tile.row_elements) * output.element_bytes; // defect: streamed rows
        for (std::size_t row = 0; row < tile.rows; ++row)
            program.far.store(to + row * row_bytes, from.at + row * from.row_bytes, tile.n * output.element_bytes);
    }
}

} // namespace gf::cpu
