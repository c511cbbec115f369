// System calls that fail when a test says so: a binary that links system_calls.cpp has its own read, write, rename and
// fstat.
#pragma once

#include <cstddef>
#include <initializer_list>

namespace gf::fault {

enum class Call { read, write, rename, fstat };

/// What one call does instead: it fails with this errno, or transfers at most this many bytes.
struct Answer {
    int error = 0;
    std::size_t at_most = 0;
};

/// The next calls of this kind get these answers, in turn; those after them work as ever. {} ends it.
void answer(Call call, std::initializer_list<Answer> answers);
/// Answers that no call has had yet.
std::size_t answers_left(Call call);

} // namespace gf::fault
