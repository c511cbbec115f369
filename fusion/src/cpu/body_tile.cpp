#include "cpu/body_tile.hpp"

namespace gf::cpu {

BodyTile::BodyTile(const SweepBody& body) : body_(body) {
    const SweepProgram& program = body.program();
    scratch_ = allocate(program.temporary_bytes * program.room());
    for (std::vector<char*>& where : where_) {
        where.resize(program.places.size());
        for (std::size_t i = 0; i < program.places.size(); ++i)
            if (program.places[i].kind == Place::Kind::scalar) where[i] = body.scalar_at(program.places[i]);
    }
}

void BodyTile::run(std::size_t row, std::int64_t element, std::size_t n, std::span<char* const> arrays,
                   NextRows* next) {
    const SweepProgram& program = body_.program();
    std::vector<char*>& where = where_[row];
    for (const int p : body_.array_places()) {
        const Place& place = program.places[at(p)];
        where[at(p)] = arrays[place.array.index()] + unsigned_of(element) * place.element_bytes;
    }
    for (const int p : body_.temporary_places()) {
        const Place& place = program.places[at(p)];
        where[at(p)] = scratch_.get() + place.offset * program.room() + row * n * place.element_bytes;
    }
    for (const BodyStep& step : program.body) {
        if (next != nullptr) next->step(n);
        const auto in = [&](std::size_t i) { return where[at(step.operands[i])]; };
        body_.run(step, where[at(step.out)], {in(0), in(1), in(2)}, element, n, arrays);
    }
}

void BodyTile::prefetch(std::size_t rows, std::size_t n, std::size_t share, std::size_t shares,
                        std::size_t from) const {
    const SweepProgram& program = body_.program();
    for (std::size_t s = from; s < program.streams.size(); ++s) {
        const int p = program.streams[s];
        const std::size_t bytes = n * program.places[at(p)].element_bytes;
        const Lines lines = lines_of_share(bytes, share, shares);
        for (std::size_t row = 0; row < rows; ++row) {
            const auto next = reinterpret_cast<std::uintptr_t>(elements(row, p)) + bytes;
            for (std::size_t line = lines.begin; line < lines.end; ++line)
                __builtin_prefetch(reinterpret_cast<const void*>(next + line * line_bytes));
        }
    }
}

} // namespace gf::cpu
