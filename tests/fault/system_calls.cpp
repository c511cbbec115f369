#include "fault/system_calls.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gf::fault {
namespace {

std::array<std::deque<Answer>, 4> planned;

std::deque<Answer>& planned_for(Call call) { return planned[static_cast<std::size_t>(call)]; }

std::optional<Answer> next(Call call) {
    std::deque<Answer>& answers = planned_for(call);
    if (answers.empty()) return {};
    const Answer answer = answers.front();
    answers.pop_front();
    return answer;
}

template <class Buffer> ssize_t transfer(Call call, long number, int file, Buffer buffer, std::size_t bytes) {
    if (const auto planned_answer = next(call)) {
        if (planned_answer->error != 0) return errno = planned_answer->error, -1;
        if (planned_answer->at_most == 0) return 0;
        bytes = std::min(bytes, planned_answer->at_most);
    }
    return syscall(number, file, buffer, bytes);
}

} // namespace

void answer(Call call, std::initializer_list<Answer> answers) { planned_for(call) = answers; }
std::size_t answers_left(Call call) { return planned_for(call).size(); }

} // namespace gf::fault

using gf::fault::Call;

extern "C" {

ssize_t read(int file, void* buffer, std::size_t bytes) {
    return gf::fault::transfer(Call::read, SYS_read, file, buffer, bytes);
}
// The name of read() if the compiler checks the buffer's size (_FORTIFY_SOURCE).
ssize_t __read_chk(int file, void* buffer, std::size_t bytes, std::size_t) { return read(file, buffer, bytes); }

ssize_t write(int file, const void* buffer, std::size_t bytes) {
    return gf::fault::transfer(Call::write, SYS_write, file, buffer, bytes);
}

int rename(const char* from, const char* to) noexcept {
    if (const auto planned_answer = gf::fault::next(Call::rename)) return errno = planned_answer->error, -1;
    return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int fstat(int file, struct stat* status) noexcept {
    if (const auto planned_answer = gf::fault::next(Call::fstat)) return errno = planned_answer->error, -1;
    return static_cast<int>(syscall(SYS_newfstatat, file, "", status, AT_EMPTY_PATH));
}
}
