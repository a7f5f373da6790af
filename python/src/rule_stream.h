#pragma once

#include <nanobind/nanobind.h>
#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cupel/rules/rule_runner.h"
#include "cupel/rules/rule_spec.h"
#include "python_rule.h"
#include "trial_object.h"

namespace cupel::python {

/// A RuleRunner whose lines are taken one by one: the class `_native.RuleRunner`, a part of
/// `cupel.rules.RuleRunner`. The runner works in a thread of its own; a bounded queue of lines is
/// between that thread and the caller. Callers of the public functions hold the GIL. In the child
/// of a fork, where that thread does not exist, a stream does nothing and has no lines.
class RuleStream {
 public:
  RuleStream(const TrialObject& trial, RunnerOptions options);
  ~RuleStream();
  RuleStream(const RuleStream&) = delete;
  RuleStream& operator=(const RuleStream&) = delete;

  /// Adds a rule by its name or file; throws UsageError with every mistake.
  void add(const RuleSpec& spec);
  /// Adds a `cupel.rules.Rule`.
  void add(const nanobind::object& rule, RuleConfiguration configuration);

  /// Begins the run. Throws UsageError for a second call.
  void start();
  /// Waits for the next line, and returns its JSON; None where there is none any more. Between
  /// lines it returns a tuple of one text: the new status of the run. Throws what RuleRunner::run()
  /// threw behind the last line, and exceptions of handlers of signals.
  nanobind::object next();
  /// Stops the run and waits until its thread has ended. Lines that nobody took are dropped. A rule
  /// in Python that is judging is interrupted; where it does not end within five seconds, the
  /// thread is left behind with it.
  void close();
  /// Ends the run soon: its last lines follow. A rule in Python that is still judging two seconds
  /// later is interrupted.
  void stop();

  RunnerProgress progress();
  /// The results, once the last line was taken.
  const std::optional<RunSummary>& summary() const noexcept { return summary_; }

 private:
  using Clock = std::chrono::steady_clock;

  // What the caller takes: the JSON of a line, or a status of the run.
  struct Item {
    std::string text;
    bool is_status = false;
  };

  // What the thread of the run and the caller share. The thread keeps it alive.
  struct Shared {
    Shared(const TrialObject& over, RunnerOptions options);
    void run();
    void put(Item item);

    const TrialObject trial;
    RuleRunner runner;
    const std::shared_ptr<PythonTurn> turn = std::make_shared<PythonTurn>();
    std::mutex mutex;
    std::condition_variable changed;
    // Under the mutex:
    std::deque<Item> lines;
    bool dropping = false;
    bool ended = false;
    std::optional<RunSummary> summary;
    std::exception_ptr error;
  };

  void require_not_begun() const;
  // Whether this is the child of a fork; then the thread is forgotten, and what it shares is kept.
  bool is_copy();
  bool wait_for_line(Item& line);
  bool wait_for_end();
  void join();

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
  bool has_begun_ = false;
  pid_t process_ = 0;                         // that began the run
  std::optional<Clock::time_point> stopped_;  // when stop() was called
  std::optional<RunSummary> summary_;
};

}  // namespace cupel::python
