// The thread of a run and its queue. RuleRunner::run() puts lines into the queue and waits while it
// is full; next() takes them, and looks for signals every 50 ms. After close() lines are dropped,
// so that the thread of the run never waits for a caller that is gone. The mutex is never held
// together with the GIL.

#include "rule_stream.h"

#include <nanobind/stl/string.h>
#include <unistd.h>

#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/rules/load_rules.h"
#include "cupel/rules/rule_catalog.h"
#include "cupel/scripting/lua_rules.h"
#include "rule_files.h"

namespace nb = nanobind;

namespace cupel::python {
namespace {

constexpr std::size_t kMostLines = 256;
constexpr std::chrono::milliseconds kBetweenSignals(50);
constexpr std::chrono::seconds kPatienceOfStop(2);
constexpr std::chrono::seconds kPatienceOfClose(5);

}  // namespace

RuleStream::Shared::Shared(const TrialObject& over, RunnerOptions options)
    : trial(over), runner(over.trial(), [&] {
        options.on_status = [this](RunStatus status) {
          put({.text = std::string(to_string(status)), .is_status = true});
        };
        return std::move(options);
      }()) {}

void RuleStream::Shared::put(Item item) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return dropping || lines.size() < kMostLines; });
  if (dropping) return;
  lines.push_back(std::move(item));
  changed.notify_all();
}

void RuleStream::Shared::run() {
  std::optional<RunSummary> made;
  std::exception_ptr thrown;
  try {
    made = runner.run([this](const VerdictLine& line) { put({.text = to_json(line)}); });
  } catch (...) {
    thrown = std::current_exception();
  }
  const std::lock_guard lock(mutex);
  summary = std::move(made);
  error = std::move(thrown);
  ended = true;
  changed.notify_all();
}

RuleStream::RuleStream(const TrialObject& trial, RunnerOptions options) {
  const nb::gil_scoped_release without_gil;
  shared_ = std::make_shared<Shared>(trial, std::move(options));
}

RuleStream::~RuleStream() {
  close();
  const nb::gil_scoped_release without_gil;
  shared_.reset();
}

void RuleStream::require_not_begun() const {
  if (has_begun_) throw UsageError("rules are added before run()");
}

bool RuleStream::is_copy() {
  if (!has_begun_ || process_ == ::getpid()) return false;
  if (thread_.joinable()) {
    thread_.detach();
    new std::shared_ptr<Shared>(shared_);  // never freed: its mutexes may be held for ever
  }
  return true;
}

void RuleStream::add(const RuleSpec& asked) {
  require_not_begun();
  const nb::gil_scoped_release without_gil;
  const RuleFileReaders readers = {lua_rule_reader(), python_rule_reader(shared_->turn)};
  RuleSpec spec = parse_rule_spec(asked.rule, readers);
  for (const auto& [name, value] : asked.parameters)
    if (!spec.parameters.emplace(name, value).second)
      throw UsageError("the parameter " + name + " of " + asked.rule + " is given twice");
  const LoadedRules loaded = load_rule(spec, builtin_rules(), readers);
  for (const RuleProblem& warning : loaded.warnings) log(LogLevel::Warning, to_text(warning));
  std::string errors;
  for (const RuleProblem& error : loaded.errors)
    errors += (errors.empty() ? "" : "\n") + to_text(error);
  if (!errors.empty()) throw UsageError(errors);
  for (const RuleConfiguration& rule : loaded.rules) shared_->runner.add(rule);
}

void RuleStream::add(const nb::object& rule, RuleConfiguration configuration) {
  require_not_begun();
  std::unique_ptr<Rule> held = held_rule(rule, shared_->turn);
  const nb::gil_scoped_release without_gil;
  shared_->runner.add(std::move(held), std::move(configuration));
}

void RuleStream::start() {
  if (std::exchange(has_begun_, true)) throw UsageError("a runner runs once");
  process_ = ::getpid();
  thread_ = std::thread([shared = shared_] { shared->run(); });
}

// Returns whether there is a line; false also where the time is over or the run has ended.
bool RuleStream::wait_for_line(Item& line) {
  const nb::gil_scoped_release without_gil;
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait_for(lock, kBetweenSignals,
                            [this] { return !shared_->lines.empty() || shared_->ended; });
  if (shared_->lines.empty()) return false;
  line = std::move(shared_->lines.front());
  shared_->lines.pop_front();
  shared_->changed.notify_all();
  return true;
}

// Returns whether the run has ended within the time.
bool RuleStream::wait_for_end() {
  const nb::gil_scoped_release without_gil;
  std::unique_lock lock(shared_->mutex);
  return shared_->changed.wait_for(lock, kBetweenSignals, [this] { return shared_->ended; });
}

// Another thread of Python that comes here meanwhile finds no thread to join.
void RuleStream::join() {
  std::thread ended = std::move(thread_);
  const nb::gil_scoped_release without_gil;
  ended.join();
}

nb::object RuleStream::next() {
  if (is_copy()) return nb::none();
  Item item;
  while (thread_.joinable()) {
    if (wait_for_line(item)) {
      const nb::object text = nb::cast(item.text);
      return item.is_status ? nb::make_tuple(text) : text;
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (stopped_ && Clock::now() - *stopped_ > kPatienceOfStop) shared_->turn->interrupt();
    bool is_over = false;
    {
      const nb::gil_scoped_release without_gil;
      const std::lock_guard lock(shared_->mutex);
      is_over = shared_->ended && shared_->lines.empty();
    }
    if (!is_over) continue;
    join();
    summary_ = shared_->summary;
    if (shared_->error) std::rethrow_exception(std::exchange(shared_->error, nullptr));
  }
  return nb::none();
}

void RuleStream::stop() {
  if (is_copy()) return;
  if (!stopped_) stopped_ = Clock::now();
  const nb::gil_scoped_release without_gil;
  shared_->runner.stop();
}

void RuleStream::close() {
  if (is_copy() || !thread_.joinable()) return;
  stop();
  {
    const nb::gil_scoped_release without_gil;
    const std::lock_guard lock(shared_->mutex);
    shared_->dropping = true;
    shared_->lines.clear();
    shared_->changed.notify_all();
  }
  const Clock::time_point begin = Clock::now();
  while (!wait_for_end()) {
    if (!thread_.joinable()) return;
    if (!shared_->turn->is_taken()) continue;
    shared_->turn->interrupt();
    if (Clock::now() - begin < kPatienceOfClose) continue;
    log(LogLevel::Warning, "a rule in Python does not return; its thread is left behind");
    thread_.detach();
    return;
  }
  if (!thread_.joinable()) return;
  join();
  summary_ = shared_->summary;
}

RunnerProgress RuleStream::progress() {
  if (is_copy()) return {};
  const nb::gil_scoped_release without_gil;
  return shared_->runner.progress();
}

}  // namespace cupel::python
