// Injected failures of system calls: a binary that links system_calls.cpp has its own read, write, rename and fstat.
#pragma once

#include <cstddef>
#include <initializer_list>

namespace gf::fault {

enum class Call { read, write, rename, fstat };

/// The injected behaviour of one call: it fails with this errno, or transfers at most this many bytes.
struct Answer {
    int error = 0;
    std::size_t at_most = 0;
};

/// The next calls of this kind get these answers in turn; later calls work normally. {} removes all answers.
void answer(Call call, std::initializer_list<Answer> answers);
/// The number of unused answers.
std::size_t answers_left(Call call);

} // namespace gf::fault
