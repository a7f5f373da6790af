#include "interruptible.h"

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace nb = nanobind;

namespace cupel::python {
namespace {

constexpr std::chrono::milliseconds kBetweenSignals(20);

bool on_main_thread() {
  const nb::module_ threading = nb::module_::import_("threading");
  return threading.attr("get_ident")().equal(threading.attr("main_thread")().attr("ident"));
}

// Work on a thread of its own. The destructor waits for it.
class Task {
 public:
  explicit Task(const std::function<void(std::stop_token)>& work)
      : thread_([this, &work](const std::stop_token& stop) {
          try {
            work(stop);
          } catch (...) {
            error_ = std::current_exception();
          }
          const std::lock_guard lock(mutex_);
          done_ = true;
          changed_.notify_all();
        }) {}

  // Whether the work was done within the time.
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kBetweenSignals, [&] { return done_; });
  }
  void stop() {
    thread_.request_stop();
    thread_.join();
  }
  void throw_error() {
    thread_.join();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::exception_ptr error_;
  std::jthread thread_;  // the last member: it uses the others
};

}  // namespace

void run_interruptibly(const std::function<void(std::stop_token)>& work) {
  const bool signals_come_here = on_main_thread();
  const nb::gil_scoped_release without_gil;
  if (!signals_come_here) {
    work({});
    return;
  }
  Task task(work);
  while (!task.wait()) {
    const nb::gil_scoped_acquire with_gil;
    if (PyErr_CheckSignals() == 0 && Py_MakePendingCalls() == 0) continue;
    const nb::python_error interrupt;
    const nb::gil_scoped_release until_stopped;
    task.stop();
    throw interrupt;
  }
  task.throw_error();
}

}  // namespace cupel::python
