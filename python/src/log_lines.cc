// cupel's log lines on their way to Python's logging.
//
// A line may come from any thread, which may hold locks of ours, and may hold the GIL or not. So
// the sink takes neither: it puts the line into a queue, and asks the interpreter to call pass_on()
// on its main thread between two instructions (a pending call). A queue that is full counts the
// lines that it drops. At exit the queue is passed on for the last time, and later lines go to
// standard error. A forked child begins with a new queue: the parent has the lines, and a thread
// that the child does not have may have held the lock.

#include "log_lines.h"

#include <nanobind/stl/string.h>
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/log.h"

namespace nb = nanobind;

namespace cupel::python {
namespace {

constexpr std::size_t kMostLines = 4096;

struct Line {
  LogLevel level;
  std::string message;
};

struct Queue {
  std::mutex mutex;
  std::deque<Line> lines;
  std::size_t dropped = 0;
  bool is_requested = false;  // A pending call is on its way.
};

// Never destroyed: threads may log while the process ends.
std::atomic<Queue*> newest_queue = new Queue;

Queue& queue() noexcept { return *newest_queue.load(); }

// The next line; false if there is none.
bool take(Line& line) {
  Queue& all = queue();
  const std::lock_guard lock(all.mutex);
  if (!all.lines.empty()) {
    line = std::move(all.lines.front());
    all.lines.pop_front();
    return true;
  }
  if (all.dropped == 0) return false;
  line = {LogLevel::Warning, std::to_string(std::exchange(all.dropped, 0)) +
                                 " log lines were dropped: too many came at once"};
  return true;
}

// The function of Python that takes lines; nothing while its module is being imported, which asks
// for the lines at its end.
nb::object emitter() {
  return nb::getattr(nb::module_::import_("cupel.core.logger"), "_emit", nb::none());
}

bool has_lines() {
  Queue& all = queue();
  const std::lock_guard lock(all.mutex);
  return !all.lines.empty();
}

// Passes all lines on. Throws what a handler of logging throws, such as KeyboardInterrupt.
void pass_on_all() {
  if (!has_lines()) return;
  const nb::object emit = emitter();
  if (emit.is_none()) return;
  for (Line line; take(line);)
    emit(static_cast<int>(line.level),
         nb::steal(PyUnicode_DecodeUTF8(line.message.data(),
                                        static_cast<Py_ssize_t>(line.message.size()), "replace")));
}

int pass_on(void*) {
  {
    Queue& all = queue();
    const std::lock_guard lock(all.mutex);
    all.is_requested = false;
  }
  try {
    pass_on_all();
  } catch (nb::python_error& error) {
    if (error.matches(PyExc_KeyboardInterrupt)) {
      error.restore();
      return -1;
    }
    error.discard_as_unraisable("cupel's log lines");
  }
  return 0;
}

void keep(LogLevel level, std::string_view message) {
  Queue& all = queue();
  const std::lock_guard lock(all.mutex);
  if (all.lines.size() < kMostLines)
    all.lines.push_back({level, std::string(message)});
  else
    ++all.dropped;
  // Where the interpreter has no room for the call, the next line asks again.
  if (!all.is_requested) all.is_requested = Py_AddPendingCall(pass_on, nullptr) == 0;
}

void after_fork_in_child() { newest_queue = new Queue; }

}  // namespace

void add_log_lines(nb::module_& module) {
  module.def("pass_on_log_lines", [] { pass_on_all(); });
  module.def("stop_log_lines", [] {
    {
      const nb::gil_scoped_release without_gil;  // The log's lock may be held by a thread.
      set_log_sink({});
    }
    pass_on_all();
  });
  module.def(
      "log",
      [](int level, const std::string& message) {
        if (level < 0 || level > static_cast<int>(LogLevel::Error))
          throw UsageError("there is no log level " + std::to_string(level));
        log(static_cast<LogLevel>(level), message);
      },
      nb::call_guard<nb::gil_scoped_release>());
  module.def("log_level", [] {
    const auto level = log_level();
    return level ? static_cast<int>(*level) : -1;
  });
  static_cast<void>(pthread_atfork(nullptr, nullptr, after_fork_in_child));
  set_log_sink(keep);
  nb::module_::import_("logging");  // so that its handlers are closed behind the last line
  nb::module_::import_("atexit").attr("register")(module.attr("stop_log_lines"));
}

}  // namespace cupel::python
