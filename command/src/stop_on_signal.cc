#include "stop_on_signal.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "cupel/core/error.h"
#include "exit_codes.h"

namespace cupel::command_detail {
namespace {

// A signal handler may do little but write: the thread that reads the pipe requests the stop.
volatile std::sig_atomic_t signal_pipe = -1;  // -1: no object listens
volatile std::sig_atomic_t was_signalled = 0;
constexpr char kSignalled = 's';
constexpr char kNoMore = 'n';

void send(int pipe_end, char what) {
  while (write(pipe_end, &what, 1) < 0 && errno == EINTR) {
  }
}

extern "C" void on_signal(int /*signal*/) {
  if (signal_pipe < 0 || was_signalled != 0) _exit(kExitInterrupted);
  was_signalled = 1;
  const int before = errno;
  send(signal_pipe, kSignalled);
  errno = before;
}

struct sigaction handler_action() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  return action;
}

// A signal that was ignored, as in a background job of a shell, stays ignored.
void install(int signal, const struct sigaction& action, struct sigaction& before) {
  sigaction(signal, &action, &before);
  if (before.sa_handler == SIG_IGN) sigaction(signal, &before, nullptr);
}

}  // namespace

void exit_on_signal() {
  const struct sigaction action = handler_action();
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before {};
    install(signal, action, before);
  }
}

StopOnSignal::StopOnSignal() {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw Error(std::string("cannot make a pipe: ") + strerror(errno));
  for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
  was_signalled = 0;
  signal_pipe = ends[1];
  listener_ = std::jthread([this, from = ends[0]] {
    char what = kNoMore;
    do {
      if (read(from, &what, 1) < 0 && errno != EINTR) break;
      if (what == kSignalled) source_.request_stop();
    } while (what != kNoMore);
    close(from);
  });
  const struct sigaction action = handler_action();
  install(SIGINT, action, old_interrupt_);
  install(SIGTERM, action, old_terminate_);
}

StopOnSignal::~StopOnSignal() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
  const int pipe_end = signal_pipe;
  signal_pipe = -1;
  send(pipe_end, kNoMore);
  listener_.join();
  close(pipe_end);
}

}  // namespace cupel::command_detail
