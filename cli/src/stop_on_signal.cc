#include "stop_on_signal.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "cupel/core/error.h"

namespace cupel {
namespace {

// A handler may do little but write: the thread at the other end of the pipe does the rest.
volatile std::sig_atomic_t signal_pipe = -1;
constexpr char kSignalled = 's';
constexpr char kNoMore = 'n';

void tell(char what) {
  while (write(signal_pipe, &what, 1) < 0 && errno == EINTR) {
  }
}

extern "C" void on_signal(int /*signal*/) {
  const int before = errno;
  tell(kSignalled);
  errno = before;
}

}  // namespace

StopOnSignal::StopOnSignal() {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw Error(std::string("cannot make a pipe: ") + strerror(errno));
  for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
  signal_pipe = ends[1];
  listener_ = std::jthread([this, from = ends[0]] {
    char what = kNoMore;
    do {
      if (read(from, &what, 1) < 0 && errno != EINTR) break;
      if (what == kSignalled) source_.request_stop();
    } while (what != kNoMore);
    close(from);
  });
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &old_interrupt_);
  sigaction(SIGTERM, &action, &old_terminate_);
}

StopOnSignal::~StopOnSignal() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
  tell(kNoMore);
  listener_.join();
  close(signal_pipe);
  signal_pipe = -1;
}

}  // namespace cupel
